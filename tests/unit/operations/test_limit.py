# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What --limit leaves out: nobody outside of it is restarted, and nobody is waited for who needs what was not asked."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.limit import (
    beyond_limit,
    left_out,
    unasked,
    whole,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.restarts import restarts
from unit.operations.test_restarts import TWO, services, states


def ready(own: list[dict[str, Any]], **actions: str) -> dict[str, list[str]]:
    return {host: [one["unit"] for one in ours] for host, ours in whole(own, states(own, **actions)).items()}


def test_what_must_restart_with_a_host_outside_is_refused():
    own = services()
    units = states(own, d1="restart", d2="absent")
    (finding,) = beyond_limit(own, units, restarts(own, units))
    assert str(finding) == (
        "sglang-decode on d1: it must restart, and d2 with it, which --limit leaves out. "
        "Add those hosts to --limit, or leave it out."
    )
    units = states(own, p2="restart", d2="absent")
    assert beyond_limit(own, units, restarts(own, units)) == []


def test_only_whole_instances_can_become_ready():
    told = {"p1": ["sglang-prefill"], "p2": ["sglang-prefill"], "d1": [], "r1": ["sglang-router"]}
    assert ready(services(), d2="absent") == told


def test_without_a_limit_nothing_is_left_out():
    own = services()
    everything = {one["host"]: "start" for one in own}
    assert ready(own, **everything) == ready(own)
    assert left_out(own, states(own, **everything)) == []
    assert unasked(own, states(own, **everything)) == {}


def test_an_instance_that_starts_without_its_other_nodes_gives_no_answer():
    """Nor does the router before it, which has no decode; the prefills are waited for."""
    own = services()
    actions = {**{one["host"]: "start" for one in own}, "d2": "absent"}
    assert ready(own, **actions) == {"p1": ["sglang-prefill"], "p2": ["sglang-prefill"], "d1": [], "r1": []}
    assert unasked(own, states(own, **actions)) == {"r1": ["sglang-router"]}
    assert left_out(own, states(own, **actions)) == [
        "--limit leaves out d2 of decode-0: it starts on the others and is not waited for",
        "sglang-router on r1 cannot answer before those hosts run their part: it is not asked",
    ]


def test_a_router_is_asked_where_another_instance_of_the_role_may_answer():
    own = services()
    # The other prefill is outside, and may well serve.
    actions = {"p1": "start", "p2": "absent", "d1": "start", "d2": "start", "r1": "start"}
    assert unasked(own, states(own, **actions)) == {}
    assert ready(own, **actions)["r1"] == ["sglang-router"]
    assert left_out(own, states(own, **actions)) == []


@pytest.mark.parametrize(("action", "silent"), [("start", {"m1": ["sglang-mixed"]}), ("none", {})])
def test_an_instance_that_is_its_own_entrance(action, silent):
    """One that runs is asked: whoever was left out may serve."""
    own = services(TWO)
    units = states(own, m1=action, m2="absent")
    assert unasked(own, units) == silent
    (first, *others) = left_out(own, units)
    then = "it starts on the others and is not waited for" if silent else "it is not waited for"
    assert first == f"--limit leaves out m2 of mixed-0: {then}"
    assert len(others) == len(silent)


def test_a_host_without_the_entrance_has_none_to_ask():
    own = services(TWO)
    units = states(own, m1="absent", m2="start")
    assert unasked(own, units) == {}
    assert left_out(own, units) == ["--limit leaves out m1 of mixed-0: it starts on the others and is not waited for"]
