# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make demo ENGINE=real`, up to an answer and a second deployment."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from on_hosts import hosts, playbooks
from on_hosts.hosts import LABHOSTS, PROJECT

NAMES = ("real-demo-p1", "real-demo-d1")


@pytest.fixture(scope="module")
def demo():
    """How it ended, and what it printed. Its hosts go, and what all hosts share stays."""
    with hosts.alone("real-demo"):
        there = subprocess.run([LABHOSTS, "list"], capture_output=True, text=True, check=True, timeout=60).stdout
        assert not set(there.split()) & set(NAMES), "a demo is up, and has these addresses: make demo-down"
        running = subprocess.Popen(
            [PROJECT / "tools" / "demo", "up"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=os.environ | {"ENGINE": "real", "ANSIBLE_NOCOLOR": "1"}, start_new_session=True,
        )  # fmt: skip
        try:
            said, _nothing = running.communicate(timeout=900)
            yield running.returncode, said
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
            subprocess.run([LABHOSTS, "down", *NAMES], check=True, timeout=300)


def test_it_comes_to_an_answer(demo):
    status, said = demo
    assert status == 0, said
    answer, _end = json.JSONDecoder().raw_decode(said[said.index("\n{") + 1 :])
    assert answer["choices"][0]["message"]["content"]
    assert answer["usage"]["completion_tokens"] == 16


def test_a_second_deployment_changes_nothing(demo):
    run = playbooks.run("deploy", PROJECT / "tests" / "real" / "demo.yml", "-e", "profile=tiny-1p1d").passed()
    assert run.count("changed") == 0
