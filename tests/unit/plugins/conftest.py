# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running the real ansible-playbook as a user does. Nothing is shared between runs, so they may run side by side."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
# The one beside the Python that runs the tests: another virtual environment tests another ansible-core.
ANSIBLE_PLAYBOOK = Path(sys.executable).parent / "ansible-playbook"


@dataclass(frozen=True)
class Run:
    """What a run of ansible-playbook left behind."""

    rc: int
    output: str
    directory: Path

    @property
    def plan(self) -> dict[str, Any]:
        return json.loads((self.directory / "plan.json").read_text(encoding="utf-8"))

    @property
    def wrote(self) -> bool:
        return self.directory.exists()

    @property
    def failure(self) -> list[str]:
        """The failing task's message, line by line."""
        (found,) = re.finditer(r"^fatal: \[.*?\]: FAILED! => (?=\{)", self.output, re.MULTILINE)
        answer, _end = json.JSONDecoder().raw_decode(self.output, found.end())
        return answer["msg"].splitlines()

    @property
    def warnings(self) -> str:
        return " ".join(
            re.findall(r"\[WARNING\]:(.*?)(?=\n\[|\nTASK|\nPLAY|\nok:|\nfatal|\n\n|\n*\Z)", self.output, re.DOTALL)
        )


def host(number: int, **variables: Any) -> dict[str, Any]:
    return {"sglang_data_address": f"192.0.2.{number}", **variables}


def r1(**variables: Any) -> dict[str, Any]:
    """An inventory for DeepSeek-R1 2P1D: p1, p2, d1, d2, r1."""
    common = {"sglang_profile": "deepseek-r1-w8a8-2p1d", "sglang_model_path": "/models/r1", **variables}
    children = {
        "prefill": {"hosts": {"p1": host(11), "p2": host(12)}},
        "decode": {"hosts": {"d1": host(21), "d2": host(22)}},
        "router": {"hosts": {"r1": host(91)}},
    }
    return {"all": {"vars": {name: value for name, value in common.items() if value is not None}, "children": children}}


@pytest.fixture
def playbook(tmp_path: Path) -> Callable[..., Run]:
    """Run a playbook; inventory: a mapping to write as YAML, or a file."""

    def run(
        inventory: Mapping[str, Any] | Path | str,
        *arguments: str,
        name: str | Path = ROOT / "playbooks" / "plan.yml",
        directory: Path | None = None,
        **environment: str,
    ) -> Run:
        if not isinstance(inventory, Path):
            text = inventory if isinstance(inventory, str) else yaml.safe_dump(inventory, sort_keys=False)
            inventory = tmp_path / "inventory.yml"
            inventory.write_text(text, encoding="utf-8")
        directory = directory or tmp_path / "plan"
        settings = {
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(tmp_path / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "10000",
        }
        done = subprocess.run(
            [ANSIBLE_PLAYBOOK, name, "-i", inventory, "-e", f"sglang_plan_dir={directory}", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **settings, **environment},
            cwd=tmp_path,
            timeout=120,
        )
        output = done.stdout + done.stderr
        assert "Traceback" not in output, output
        assert "DEPRECATION" not in output, output
        return Run(done.returncode, output, directory)

    return run


@pytest.fixture
def refused(playbook: Callable[..., Run]) -> Callable[..., list[str]]:
    """The errors of a run that must fail before a plan is there."""

    def run(*arguments: Any, **more: Any) -> list[str]:
        done = playbook(*arguments, **more)
        assert done.rc != 0, done.output
        assert not done.wrote
        return done.failure

    return run
