# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What sourcing in an empty environment proves, and how it is told."""

from __future__ import annotations

import os
import time

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import cann_proof, kept_out, unit_file

ONE = "/a/cann/set_env.sh"


def prove(vendor, python="/usr/bin/python3", cxx_abi="1", seconds=20):
    case = cann_proof.Case(tuple(vendor.sources), python, ("sglang-decode",))
    return cann_proof.judge(case, cann_proof.prove(cann_proof.script(case, cxx_abi), python, None, seconds))


def test_a_whole_installation(vendor):
    assert prove(vendor) == cann_proof.Verdict(
        [],
        [],
        [],
        {
            "ASCEND_HOME_PATH": str(vendor.toolkit.parent),
            "ATB_HOME_PATH": str(vendor.atb.parent / "cxx_abi_1"),
        },
    )


def test_nothing_of_the_modules_own_environment_gets_in(vendor, monkeypatch):
    for name in ("ASCEND_HOME_PATH", "http_proxy", "LD_LIBRARY_PATH"):
        monkeypatch.setenv(name, "/tmp")
    case = cann_proof.Case(tuple(vendor.sources), "/usr/bin/python3", ())
    environment = cann_proof.prove(cann_proof.script(case, "1"), case.python, None, 20).environment
    assert "http_proxy" not in environment
    assert "/tmp" not in environment["LD_LIBRARY_PATH"].split(":")
    assert environment["PATH"] == f"/usr/bin:{unit_file.SEARCH_PATH}"


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("true", "sglang-decode: {path} left ASCEND_HOME_PATH='', which is not an existing directory."),
        ("exit 1", "sglang-decode: {path} ended the shell instead of returning."),
        ("ASCEND_HOME_PATH=/tmp", "sglang-decode: {path} sets ASCEND_HOME_PATH without exporting it"),
        ("set -u; : $nobody", "sglang-decode: {path} ended the shell instead of returning."),
        ("sleep 60", "sglang-decode: no end after 0.5 s: a script waits for something"),
        ("kill -9 $$", "sglang-decode: bash ended with status -9"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(vendor, script, error):
    vendor.toolkit.write_text(script + "\n")
    begin = time.monotonic()
    (sentence,) = prove(vendor, seconds=0.5 if "sleep" in script else 20).errors
    assert sentence.startswith(error.format(path=vendor.toolkit))
    assert time.monotonic() - begin < 10


def test_a_script_that_waits_leaves_nothing_behind(vendor, tmp_path):
    vendor.toolkit.write_text(f"sleep 60 & echo $! > {tmp_path}/pid; wait\n")
    prove(vendor, seconds=0.5)
    pid = int((tmp_path / "pid").read_text())
    for _unused in range(50):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
                if stream.read().split()[2] == "Z":
                    return
        except OSError:
            return
        time.sleep(0.05)
    os.kill(pid, 9)
    pytest.fail("the script's own child still runs")


def test_missing_libraries_are_a_warning(vendor):
    (vendor.toolkit.parent / "lib64/libhccl.so").unlink()
    (vendor.atb.parent / "cxx_abi_1/lib/libatb.so").unlink()
    verdict = prove(vendor)
    assert verdict.errors == []
    assert "which has no lib64/libhccl.so: is that installation whole?" in verdict.warnings[0]
    assert "lib/libatb.so" in verdict.warnings[1]


def test_a_missing_driver_is_a_warning(vendor):
    vendor.toolkit.write_text(vendor.toolkit.read_text() + 'export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$home/devlib"\n')
    (warning,) = prove(vendor).warnings
    assert "no NPU driver" in warning


def test_what_launch_sh_will_say_is_a_note(vendor):
    assert prove(vendor, cxx_abi=None, python=vendor.python("exit 1")).notes == [
        f"{vendor.root}/the engine's/python has no torch to ask for its C++ ABI; ATB is told 1"
    ]


def test_as_another_account(vendor, monkeypatch):
    calls = []
    monkeypatch.setattr(cann_proof.subprocess, "Popen", lambda *_a, **options: calls.append(options) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cann_proof.prove("", "python3", "nobody", 1)
    assert calls[0]["user"] == cann_proof.pwd.getpwnam("nobody").pw_uid
    assert calls[0]["env"]["HOME"] == cann_proof.pwd.getpwnam("nobody").pw_dir


def test_services_that_source_alike_are_proven_once():
    services = [
        ("sglang-prefill", (ONE,), "python3", None),
        ("sglang-decode", (ONE,), "python3", None),
        ("sglang-decode-1", (ONE,), "python3", "0"),
        ("sglang-mixed", (ONE,), "/opt/python", None),
        ("sglang-router", (), "python3", None),
    ]
    assert cann_proof.cases(services) == [
        ((ONE,), "python3", ("sglang-prefill", "sglang-decode"), None),
        ((ONE,), "python3", ("sglang-decode-1",), "0"),
        ((ONE,), "/opt/python", ("sglang-mixed",), None),
    ]


@pytest.mark.parametrize(("planned", "given", "abi"), [("0", None, "0"), ("0", "0", "0"), (None, None, "1")])
def test_the_plans_pin_is_what_is_proven(vendor, planned, given, abi):
    case = cann_proof.Case(tuple(vendor.sources), vendor.python("echo 1"), (), planned)
    proof = cann_proof.prove(cann_proof.script(case, given), "/usr/bin/python3", None, 20)
    assert proof.environment["ATB_HOME_PATH"].endswith(f"cxx_abi_{abi}")


def test_defaults_that_would_reach_a_service_if_they_could():
    files = [
        ("/etc/environment", 'http_proxy=http://127.0.0.1:9\n"HTTPS_PROXY=x"\nno_proxy=a\n# HOST_IP=1\nMY_HOST_IP=2\n'),
        ("/etc/profile.d/p.sh", "export A=1 RANK_TABLE_FILE=/x\nexport RANK_TABLE_FILE=/y\necho HOST_IP\n"),
        ("/etc/systemd/system.conf", 'DefaultEnvironment=HOST_IP=192.0.2.1 "ASCEND_LAUNCH_BLOCKING=1"\n;HTTP_PROXY=\n'),
    ]
    assert cann_proof.defaults_that_are_kept_out(files) == [
        "http_proxy (/etc/environment)",
        "HTTPS_PROXY (/etc/environment)",
        "RANK_TABLE_FILE (/etc/profile.d/p.sh)",
        "HOST_IP (/etc/systemd/system.conf)",
        "ASCEND_LAUNCH_BLOCKING (/etc/systemd/system.conf)",
    ]


@pytest.mark.parametrize("name", kept_out.OF_HOSTS)
def test_each_that_is_kept_out_is_looked_for(name):
    found = cann_proof.defaults_that_are_kept_out([("/etc/environment", f"{name}=x\n")])
    assert found == [f"{name} (/etc/environment)"]
