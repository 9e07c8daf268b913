# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role by itself, as a user calls it, on this machine: it changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PLAY = [{"hosts": "all", "connection": "local", "gather_facts": False, "roles": ["ascend.sglang.cann"]}]


def run(directory: Path, **variables: Any) -> tuple[int, str]:
    play = directory / "play.json"
    play.write_text(json.dumps(PLAY), encoding="utf-8")
    variables["ansible_python_interpreter"] = sys.executable
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-v", "-i", "here,", "-e", json.dumps(variables), play],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("given", "abi"), [(0, "0"), ("0", "0"), (1, "1"), ("", "1"), (None, "1")])
def test_a_pin_may_be_a_number_and_0_is_one(vendor, given, abi):
    python = vendor.python("echo 1")
    status, text = run(vendor.root, cann_toolkit=str(vendor.toolkit.parent), cann_cxx_abi=given, cann_python=python)
    assert status == 0, text
    assert f"nnal/atb/cxx_abi_{abi}" in text


def test_a_pin_that_launch_sh_does_not_have_proves_nothing(vendor):
    service = {"host": "here", "unit": "sglang-mixed", "role": "mixed", "instance": 0, "rank": 0}
    service |= {"argv": ["python3", "-m", "x"], "source": vendor.sources}
    status, text = run(vendor.root, cann_services=[service], cann_cxx_abi="0")
    assert status != 0
    assert "cann_cxx_abi is 0, and the plan has no pin for sglang-mixed: leave it out, and set sglang_cxx_abi" in text
    status, text = run(vendor.root, cann_services=[{**service, "cxx_abi": "0"}], cann_cxx_abi="0")
    assert status == 0, text
    assert "nnal/atb/cxx_abi_0" in text


@pytest.mark.parametrize("seconds", [0, -5])
def test_a_time_limit_is_a_time(tmp_path, seconds):
    status, text = run(tmp_path, cann_timeout=seconds)
    assert status != 0
    assert f"cann: timeout is {seconds}; it must be at least 1 second" in text
