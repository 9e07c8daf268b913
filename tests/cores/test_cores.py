# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The oldest and the newest ansible-core plan every profile, and plan the same. `make cores` installs both."""

from __future__ import annotations

import pathlib

PROJECT = pathlib.Path(__file__).resolve().parents[2]
CORES = [PROJECT / ".cache" / f"core-{age}" / "bin" / "ansible-playbook" for age in ("oldest", "newest")]


def test_every_core_plans_the_same(plan, profile, tmp_path):
    seen = []
    for core in CORES:
        folder = plan(core, PROJECT / "playbooks" / "plan.yml", profile, ANSIBLE_CONFIG=str(PROJECT / "ansible.cfg"))
        seen.append({path.name: path.read_text() for path in folder.iterdir()})
        for path in folder.iterdir():
            path.unlink()
    assert set(seen[0]) == {"plan.json", "plan.md", "plan.html"}
    assert seen[0] == seen[1]
