# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""launch.sh, run: what bash hands to python is what the plan says."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import launch_script
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import PlanServiceError, parse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RECORDER = """
import json, os, sys
json.dump({"argv": sys.argv[1:], "env": dict(os.environ)}, sys.stdout)
"""

# What shells and python put into an empty environment by themselves.
SHELLS_OWN = {"PWD", "SHLVL", "_", "OLDPWD", "PATH", "LC_CTYPE"}


@pytest.fixture(scope="module")
def recorder(tmp_path_factory) -> str:
    directory = tmp_path_factory.mktemp("a python")
    (directory / "recorder.py").write_text(RECORDER)
    path = directory / "python3"
    path.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -SE '{directory}/recorder.py' \"$@\"\n")
    path.chmod(0o755)
    return str(path)


def run(text: str, directory: Path, *args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    script = directory / "launch.sh"
    script.write_text(text, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"]} if env is None else env
    return subprocess.run(
        ["bash", str(script), *args], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def recorded(service: dict, directory: Path) -> dict:
    done = run(launch_script.render(parse(service), "/nowhere"), directory)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    found["env"] = {name: value for name, value in found["env"].items() if name not in SHELLS_OWN}
    return found


def test_it_looks_like_the_page(decode):
    text = launch_script.render(parse(decode), "/etc/ascend-sglang/sglang-decode")
    assert text.startswith("#!/bin/bash\n")
    assert "# sglang-decode on d2: decode instance 0, node rank 1 of 2\n" in text
    assert text.endswith(
        "\nunset http_proxy https_proxy\n"
        "\n"
        "export GLOO_SOCKET_IFNAME=eth1\n"
        "export HCCL_BUFFSIZE=650\n"
        "\n"
        "exec python3 -m sglang.launch_server \\\n"
        "  --model-path /models/r1 \\\n"
        "  --host 192.0.2.22 \\\n"
        "  --port 8001 \\\n"
        "  --cuda-graph-bs 2 4 6 \\\n"
        "  --trust-remote-code\n"
    )


def test_equal_services_give_equal_texts(decode):
    turned = dict(reversed([*decode.items()]))
    turned["env"] = dict(reversed([*decode["env"].items()]))
    assert launch_script.render(parse(turned), "/x") == launch_script.render(parse(decode), "/x")


def test_python_gets_exactly_argv_and_environment(decode, recorder, tmp_path):
    decode["argv"][0] = recorder
    decode["argv"] += ["--json", '{"a": "b c", "d": "$X", "e": "100%"}', "--empty", "", "--star", "*", "--tick", "`id`"]
    decode["env"]["QUOTES"] = 'it\'s "so"\n\\ $HOME'
    found = recorded(decode, tmp_path)
    assert found["argv"] == decode["argv"][1:]
    assert found["env"] == decode["env"]


def test_a_variable_may_build_on_the_hosts_own(decode, recorder, tmp_path):
    decode["argv"][0] = recorder
    # Exported in the order of their names, so that A is there when B builds on it.
    decode["env"] = {"A": "my $tools/bin", "B": "/x y:<env:A>:<env:NOT_SET_ANYWHERE>", "PLAIN": "<env:", "NONE": ""}
    found = recorded(decode, tmp_path)["env"]
    assert found == {"A": "my $tools/bin", "B": "/x y:my $tools/bin:", "PLAIN": "<env:", "NONE": ""}


words = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.lists(words, max_size=8), values=st.lists(words, max_size=4))
def test_whatever_the_words_are(decode, recorder, tmp_path, arguments, values):
    service = {**decode, "argv": [recorder, "-m", "module", *arguments]}
    service["env"] = {f"V{number}": value for number, value in enumerate(values)}
    found = recorded(service, tmp_path)
    assert found["argv"] == ["-m", "module", *arguments]
    assert found["env"] == service["env"]


@pytest.mark.parametrize("prefix", ["Ascend", "my ascend", "it's (new)"])
def test_vendor_scripts_cannot_break_it(decode, recorder, vendor, tmp_path, prefix):
    toolkit, atb = vendor(prefix)
    decode.update(source=[toolkit, atb], env={"HCCL_BUFFSIZE": "650"})
    decode["argv"][0] = recorder
    done = run(launch_script.render(parse(decode), "/nowhere", cxx_abi="0"), tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["env"]["ASCEND_HOME_PATH"] == os.path.dirname(toolkit)
    assert found["env"]["ATB_HOME_PATH"] == os.path.dirname(atb) + "/cxx_abi_0"
    # Set by a vendor script, unset by the plan: sourcing comes first.
    assert "http_proxy" not in found["env"]
    assert found["argv"] == decode["argv"][1:]


def test_dry_run_in_an_empty_environment_prints_the_command_only(decode, vendor, tmp_path):
    decode["source"] = vendor("my ascend")
    done = run(launch_script.render(parse(decode), "/nowhere", cxx_abi="1"), tmp_path, "--dry-run", env={})
    assert (done.returncode, done.stderr) == (0, "sourcing the toolkit\n")
    assert done.stdout.split() == decode["argv"]


def test_a_vendor_script_that_is_missing_is_named(decode, tmp_path):
    decode["source"] = ["/usr/local/Nothing/cann/set_env.sh"]
    done = run(launch_script.render(parse(decode), "/nowhere"), tmp_path, "--dry-run")
    assert done.returncode == 78
    assert done.stdout == ""
    assert "launch.sh: /usr/local/Nothing/cann/set_env.sh is not a file" in done.stderr


def test_a_vendor_script_that_set_nothing_is_named(decode, vendor, tmp_path):
    toolkit, _atb = vendor("Ascend")
    Path(toolkit).write_text("echo There is no 'set_env.sh' to import; return 0\n")
    decode["source"] = [toolkit]
    # One that is inherited proves nothing.
    environment = {"PATH": os.environ["PATH"], "ASCEND_HOME_PATH": str(tmp_path)}
    done = run(launch_script.render(parse(decode), "/nowhere"), tmp_path, env=environment)
    assert done.returncode == 78
    assert f"{toolkit} left ASCEND_HOME_PATH=''" in done.stderr


def test_another_word_than_dry_run_is_refused(decode, tmp_path):
    done = run(launch_script.render(parse(decode), "/nowhere"), tmp_path, "--dryrun")
    assert done.returncode == 64
    assert "usage:" in done.stderr


def test_secrets_are_named_and_started_through_the_launcher(decode):
    decode["argv"] += ["--api-key", {"secret": "api_key"}]
    text = launch_script.render(parse(decode), "/etc/ascend-sglang/sglang-decode")
    assert "exec python3 /etc/ascend-sglang/sglang-decode/launcher.py sglang.launch_server \\\n" in text
    assert text.endswith("  --api-key @secret:api_key\n")


def test_an_argument_that_looks_like_a_secret_is_refused(decode):
    decode["argv"] += ["--api-key", {"secret": "api_key"}, "--name", "@secret:x"]
    with pytest.raises(PlanServiceError, match="'@secret:x' begins with '@secret:'"):
        launch_script.render(parse(decode), "/x")


def test_changes_are_named_by_flag_and_variable(decode):
    old = launch_script.render(parse(decode), "/x")
    decode["argv"][decode["argv"].index("8001")] = "8002"
    decode["argv"].remove("--trust-remote-code")
    decode["env"]["HCCL_BUFFSIZE"] = "800"
    decode["env"]["NEW"] = "1"
    new = launch_script.render(parse(decode), "/x")
    assert launch_script.changes(old, new) == "HCCL_BUFFSIZE, --port, --trust-remote-code, NEW"
    assert launch_script.changes(new, new) == ""
