# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines that source the vendor's scripts, run by bash, for callers and scripts of all manners."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import source_guard

SHOW = 'printf "%s|" "$#" "$*" "$ASCEND_HOME_PATH" "$ATB_HOME_PATH" "$SHELLOPTS"'


def bash(text, *arguments, environment=None):
    """As `env -i bash script arguments`."""
    return subprocess.run(
        ["/bin/bash", "-c", text, "launch.sh", *arguments],
        env=environment or {},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def shown(done):
    return done.stdout.rpartition("\n")[2].split("|")


@pytest.mark.parametrize("options", ["", "set -e", "set -u", "set -o pipefail", "set -euo pipefail"])
@pytest.mark.parametrize("arguments", [(), ("--dry-run",), ("--cxx_abi=0", "a b")])
def test_any_caller(vendor, options, arguments):
    guard = source_guard.render(vendor.sources, cxx_abi="1")
    done = bash(f"{options}\n{guard}\n{SHOW}", *arguments)
    assert done.returncode == 0, done.stderr
    number, words, toolkit, atb, after, _unused = shown(done)
    assert (number, words) == (str(len(arguments)), " ".join(arguments))
    assert toolkit == str(vendor.toolkit.parent)
    assert atb == str(vendor.atb.parent / "cxx_abi_1")
    before = bash(f"{options}\nprintf %s $SHELLOPTS").stdout
    assert after == before
    assert "given: 1 --cxx_abi=1" in done.stdout


def test_the_guard_is_needed(vendor):
    """These scripts end a strict caller that sources them as the pages do."""
    for file in vendor.sources:
        assert bash(f'set -euo pipefail\nsource "{file}"\necho survived').stdout.endswith("survived\n") is False


@pytest.mark.parametrize(
    "manner",
    [
        "return 3",
        "set -e; false",
        "set -u; echo $nobody_set_this || true",
        "set -o pipefail; false | true",
        "set -- x y z; shift 2",
        "trap 'echo mine' EXIT",
        "false; return 1",
    ],
)
def test_a_script_of_any_manners(vendor, manner):
    vendor.toolkit.write_text(f'export ASCEND_HOME_PATH="{vendor.toolkit.parent}"\n{manner}\n')
    done = bash(f"set -euo pipefail\n{source_guard.render(vendor.sources, cxx_abi='1')}\n{SHOW}", "--dry-run")
    if "nobody" in manner:
        # It ended the shell by its own strictness: then at least it is said.
        assert done.returncode == source_guard.EXIT_STATUS
        assert "ended the shell instead of returning" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert shown(done)[1] == "--dry-run"


def test_a_script_that_exits_is_named(vendor):
    vendor.atb.write_text("exit 0\n")
    done = bash(f"{source_guard.render(vendor.sources, cxx_abi='1')}\necho started")
    assert done.returncode == source_guard.EXIT_STATUS
    assert done.stderr == f"launch.sh: {vendor.atb} ended the shell instead of returning.\n"
    assert "started" not in done.stdout


def test_the_callers_own_trap_is_back(vendor):
    done = bash(f"trap 'echo bye' EXIT\n{source_guard.render(vendor.sources, cxx_abi='1')}\necho end")
    assert done.stdout.endswith("end\nbye\n")


def test_a_script_that_is_not_there(vendor):
    vendor.toolkit.unlink()
    done = bash(source_guard.render(vendor.sources, cxx_abi="1"))
    assert done.returncode == source_guard.EXIT_STATUS
    assert done.stderr.startswith(f"launch.sh: {vendor.toolkit} is not a file that this user can read.")


def test_a_directory_is_no_script(vendor):
    done = bash(source_guard.render([str(vendor.toolkit.parent)]))
    assert "is not a file that this user can read" in done.stderr


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ("", ""),
        ("export ASCEND_HOME_PATH=/nowhere/cann", "/nowhere/cann"),
        ("export ASCEND_HOME_PATH=/bin/sh", "/bin/sh"),
    ],
)
def test_a_return_of_zero_proves_nothing(vendor, script, value):
    vendor.toolkit.write_text(script + "\n")
    done = bash(source_guard.render(vendor.sources, cxx_abi="1"), environment={"ASCEND_HOME_PATH": "/tmp"})
    assert done.returncode == source_guard.EXIT_STATUS
    assert done.stderr.startswith(
        f"launch.sh: {vendor.toolkit} left ASCEND_HOME_PATH='{value}', which is not an existing directory."
    )


def test_an_abi_that_is_not_installed(vendor):
    shutil.rmtree(vendor.atb.parent / "cxx_abi_0")
    done = bash(source_guard.render(vendor.sources, cxx_abi="0"))
    assert "left ATB_HOME_PATH=" in done.stderr
    assert "cxx_abi_0" in done.stderr


@pytest.mark.parametrize(("answer", "abi"), [("echo 0", "0"), ("echo 1", "1"), ("echo warning; echo 0", "0")])
def test_the_engines_python_decides_the_abi(vendor, answer, abi):
    done = bash(f"set -euo pipefail\n{source_guard.render(vendor.sources, vendor.python(answer))}\n{SHOW}")
    assert shown(done)[3].endswith(f"cxx_abi_{abi}")
    assert done.stderr == ""


@pytest.mark.parametrize(("answer", "status"), [("echo 'No module named torch' >&2", 1), ("echo 2", 0), ("", 0)])
def test_without_a_torch_to_ask_it_is_said(vendor, answer, status):
    python = vendor.python(answer, status)
    done = bash(f"set -euo pipefail\n{source_guard.render(vendor.sources, python)}\n{SHOW}")
    assert shown(done)[3].endswith("cxx_abi_1")
    assert done.stderr == f"launch.sh: {python} has no torch to ask for its C++ ABI; ATB is told 1\n"


def test_a_python_that_does_not_exist(vendor):
    done = bash(f"set -euo pipefail\n{source_guard.render(vendor.sources, '/nowhere/python')}\n{SHOW}")
    assert done.returncode == 0
    assert "/nowhere/python has no torch" in done.stderr


def test_words_of_ones_own_for_a_script(vendor):
    sources = [str(vendor.toolkit), {"path": str(vendor.atb), "args": ["--cxx_abi=0", "a b"]}]
    done = bash(f"{source_guard.render(sources, cxx_abi='1')}\n{SHOW}")
    assert "given: 2 --cxx_abi=0 a b" in done.stdout


def test_nothing_to_source_is_no_text():
    assert source_guard.render([]) == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sources": ["set_env.sh"]}, "'set_env.sh'; it must be an absolute path"),
        ({"sources": ["/a\nreboot"]}, "must be an absolute path"),
        ({"sources": [{"path": "/a", "args": "--x"}]}, "the arguments of /a are '--x'; they must be a list of words"),
        ({"sources": ["/a"], "cxx_abi": "2"}, "cxx_abi is '2'; it must be '0' or '1'"),
    ],
)
def test_what_cannot_be_meant(arguments, message):
    with pytest.raises(ValueError, match=message):
        source_guard.render(**arguments)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (
            ["/usr/local/Ascend/ascend-toolkit/set_env.sh", "/usr/local/Ascend/nnal/atb/set_env.sh"],
            {"ASCEND_HOME_PATH": 0, "ATB_HOME_PATH": 1},
        ),
        (["/usr/local/memfabric_hybrid/set_env.sh", "/opt/cann-9.0.0/set_env.sh"], {"ASCEND_HOME_PATH": 1}),
        (["/data/toolkit/set_env.sh", "/usr/local/Ascend/nnal/asdsip/set_env.sh"], {"ASCEND_HOME_PATH": 0}),
        (["/root/.my_settings"], {}),
        (["/a/nnal/atb/set_env.sh"], {"ATB_HOME_PATH": 0}),
        ([], {}),
    ],
)
def test_which_script_has_to_set_what(paths, expected):
    assert source_guard.checks(paths) == {name: paths[index] for name, index in expected.items()}
