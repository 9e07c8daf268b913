# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One real server on two hosts, half of each layer on each: one dies with the other, and both come back."""

from __future__ import annotations

import pytest
from real.cluster import MIXED_2, within

UNIT = "sglang-mixed"


@pytest.fixture(scope="module", autouse=True)
def deployed(cluster, expected):
    cluster.deploy(MIXED_2)


def serving(cluster, expected):
    """What there is to complain of, for `within`."""

    def look():
        told = cluster.ask(limit=20, prompts=list(expected)[:1])
        if "failure" in told:
            return told["failure"]
        return [] if all(cluster.runs().values()) else cluster.runs()

    return look


def test_they_answer_as_one(cluster, expected):
    assert cluster.answers() == expected


def test_a_second_deployment_changes_nothing(cluster):
    before = cluster.runs()
    assert cluster.deploy().count("changed") == 0
    assert cluster.runs() == before


@pytest.mark.parametrize(("host", "what"), [("h2", "rank 1"), ("h1", "rank 0")])
def test_a_rank_that_is_killed(cluster, expected, measured, host, what):
    before = cluster.runs()
    cluster.kill(host, UNIT)
    seconds = within(180, lambda: cluster.runs().items() & before.items() or serving(cluster, expected)())
    measured(f"{what} of two killed: serving again after {seconds} s")
    assert cluster.answers() == expected


def test_a_rank_that_is_missing(cluster, expected, measured):
    """Stopped by order on one host: the other one is gone with it, waits, and says for whom."""
    cluster["h2"].run(f"systemctl stop {UNIT}")
    before = cluster.runs()
    assert before[f"h2 {UNIT}"] == ""

    def waits():
        told = cluster.status()
        states = [cluster.state(told, "h1", "mixed"), *told["problems"]]
        return [] if "waiting for its other ranks" in states[0] else states

    within(120, waits)
    told = cluster.status()
    assert not told["ready"]
    said = cluster.wait_ready("h1", 5)
    assert "sglang-mixed on h1 is not ready after 5 s: waiting for its other ranks" in said
    cluster["h2"].run(f"systemctl start {UNIT}")
    seconds = within(180, serving(cluster, expected))
    measured(f"rank 1 of two started again: serving after {seconds} s")
    assert cluster.answers() == expected


def test_a_power_cut_of_both(cluster, expected, measured):
    cluster.power("kill", "h1", "h2")
    cluster.power("boot", "h1", "h2")
    within(60, lambda: [] if cluster.booted("h1", "h2") else "no ssh")
    seconds = within(240, serving(cluster, expected), pause=2)
    measured(f"both hosts booted: serving {seconds} s after ssh")
    assert cluster.answers() == expected
    assert cluster.deploy().count("changed") == 0
