# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make demo ENGINE=real`, up to an answer and a second deployment. First of all: later ones need the processors."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from on_hosts import playbooks
from on_hosts.hosts import LABHOSTS, PROJECT

NAMES = ("real-demo-p1", "real-demo-d1")


@pytest.fixture(scope="module")
def demo():
    """What it printed. Its hosts go, and what all hosts share stays."""
    environment = os.environ | {"ENGINE": "real", "ANSIBLE_NOCOLOR": "1"}
    try:
        yield subprocess.run(
            [PROJECT / "tools" / "demo", "up"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment, timeout=900,
        )  # fmt: skip
    finally:
        subprocess.run([LABHOSTS, "down", *NAMES], check=True, timeout=300)


def test_it_comes_to_an_answer(demo):
    assert demo.returncode == 0, demo.stdout + demo.stderr
    answer, _end = json.JSONDecoder().raw_decode(demo.stdout[demo.stdout.index("\n{") + 1 :])
    assert answer["choices"][0]["message"]["content"]
    assert answer["usage"]["completion_tokens"] == 16


def test_a_second_deployment_changes_nothing(demo):
    run = playbooks.run("deploy", PROJECT / "tests" / "real" / "demo.yml", "-e", "profile=tiny-1p1d").passed()
    assert run.count("changed") == 0
