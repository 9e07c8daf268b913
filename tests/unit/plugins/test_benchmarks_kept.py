# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmarks that were kept, judged and compared as a user does it: with the real ansible-playbook, without a host."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from unit.benchmarking.kept import NOW, keep, recorded

from .conftest import ANSIBLE_PLAYBOOK, ROOT


def ansible(directory: Path, playbook: str, **variables: object) -> tuple[int, str]:
    """Run a playbook without inventory; its status, and what it said."""
    told = {
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_HOME": str(directory / "home"),
    }
    command = [ANSIBLE_PLAYBOOK, playbook, "-e", json.dumps(variables)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory, env=os.environ | told)
    return done.returncode, (done.stdout + done.stderr).replace('\\"', '"')


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    before = keep(tmp_path / "kept")
    settings = {"sglang_decode_args": {"max-running-requests": 512}}
    return before, keep(tmp_path / "kept", recorded(mean_tpot_ms=99.0), now=NOW + timedelta(hours=1), **settings)


def test_two_runs_are_compared_from_where_the_user_stands(tmp_path, pair):
    before, after = (str(path.relative_to(tmp_path)) for path in pair)
    status, output = ansible(tmp_path, "ascend.sglang.compare", before=before, after=after, dest="told")
    assert status == 0, output
    assert "mean TPOT: 6.01 -> 99.00 ms (16.46)" in output
    assert "decode --max-running-requests: 1024 -> 512 (on d1, d2)" in output
    assert sorted(path.name for path in (tmp_path / "told").iterdir()) == [
        "comparison.html",
        "comparison.json",
        "comparison.md",
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"after": None}, "Name the directories of two runs"),
        (
            {"after": "nowhere"},
            "nowhere holds no run: plan.json cannot be read (No such file or directory). A run is a",
        ),
        ({"dest": "/proc/nowhere"}, "/proc/nowhere: the pages cannot be written there"),
        ({"half": True}, "its last line is no JSON"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path, pair, changes, words):
    before, after = pair
    given = {"before": str(before), "after": str(after), **changes}
    if given.pop("half", False):
        (after / "result.jsonl").write_text(recorded()[:100])
    given = {name: value for name, value in given.items() if value is not None}
    status, output = ansible(tmp_path, "ascend.sglang.compare", **given)
    assert status != 0
    assert words in output
    assert "Traceback" not in output


JUDGE = [
    {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [
            {
                "name": "Judge",
                "ascend.sglang.benchmark_report": {"directory": "{{ run }}", "tolerance": "{{ tolerance }}"},
                "register": "judged",
            },
            {"name": "Show", "ansible.builtin.debug": {"msg": "{{ judged.summary }}"}},
        ],
    }
]


def test_a_kept_run_is_judged_again_with_another_tolerance(tmp_path, pair):
    (tmp_path / "judge.yml").write_text(yaml.safe_dump(JUDGE))
    _before, after = pair
    # The recording has eight short answers, the profile asks for long ones.
    for tolerance, words in ((10, "more than 10 % more than the published 50 ms"), (0, "more than 0 % more than the")):
        status, output = ansible(tmp_path, "judge.yml", run=str(after), tolerance=tolerance)
        assert status == 0, output
        assert "FAILED: mean TPOT 99.00 ms, published 50 ms, ratio 1.98" in output
        assert words in output
        assert "beside the run before:" in output
        assert json.loads((after / "verdict.json").read_text())["tolerance_percent"] == tolerance
    status, output = ansible(tmp_path, "judge.yml", run=str(after), tolerance="much")
    assert status != 0
    assert "much" in output
    assert "Traceback" not in output
