# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of whole runs of Ansible share."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Callable

import pytest
import yaml

PROJECT = pathlib.Path(__file__).resolve().parents[1]
PROFILES = {path.stem: path for path in sorted((PROJECT / "profiles").glob("*.yml")) if path.stem != "aliases"}


def fitting_inventory(profile: str) -> dict:
    """Hosts just enough for a profile's instances, none of which exists."""
    recipe = yaml.safe_load(PROFILES[profile].read_text())
    number = iter(range(11, 250))
    children = {}
    for role, wanted in recipe["roles"].items():
        hosts = 1 if role == "router" else wanted["instances"] * wanted["nodes"]
        names = {f"{role[0]}{index + 1}": {"sglang_data_address": f"192.0.2.{next(number)}"} for index in range(hosts)}
        children[role] = {"hosts": names}
    variables = {"sglang_model_path": "/models/model", "sglang_interface": "eth1"}
    if "speculative-draft-model-path" in PROFILES[profile].read_text():
        variables["sglang_draft_model_path"] = "/models/draft"
    return {"all": {"vars": variables, "children": children}}


@pytest.fixture
def plan(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Plan a profile with one ansible-playbook; returns the folder that holds the plan."""

    def run(
        ansible_playbook: str | pathlib.Path, playbook: str | pathlib.Path, profile: str, **environment: str
    ) -> pathlib.Path:
        inventory, folder = tmp_path / "inventory.yml", tmp_path / "plan"
        inventory.write_text(yaml.safe_dump(fitting_inventory(profile), sort_keys=False))
        command = [
            ansible_playbook,
            playbook,
            "-i",
            inventory,
            "-e",
            f"profile={profile}",
            "-e",
            f"sglang_plan_dir={folder}",
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ | environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "[DEPRECATION" not in done.stderr, done.stderr
        return folder

    return run


@pytest.fixture(params=list(PROFILES))
def profile(request: pytest.FixtureRequest) -> str:
    """Each profile in turn."""
    return request.param
