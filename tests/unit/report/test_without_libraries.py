# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan does not need the libraries that draw its page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_plan_is_written_without_its_page(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    for module in ("svg", "pygal"):
        (hidden / f"{module}.py").write_text("raise ImportError('hidden by a test')\n")
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("ansible-playbook"), "playbooks/plan.yml"),
            *("-i", "inventories/2p1d.yml", "-e", f"sglang_plan_dir={tmp_path}/plan"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(hidden), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (tmp_path / "plan").iterdir()) == ["plan.json", "plan.md"]
    assert "plan.html is not written" in done.stdout + done.stderr
    assert "pip install svg.py pygal" in " ".join((done.stdout + done.stderr).split())
