# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What --limit leaves out: nobody outside of it is restarted, and nobody is waited for who needs what was not asked."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.limit import Limit, beyond_limit
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.restarts import restarts
from unit.operations.test_restarts import R1, TWO, services, states


def limited(own: list[dict[str, Any]], ready: dict[str, bool] | None = None, **actions: str) -> Limit:
    """What a host is to do, or `absent` where it was not asked; and whether all that it runs is ready."""
    units = states(own, **actions)
    known = {host: dict.fromkeys(units.get(host, {}), there) for host, there in (ready or {}).items()}
    return Limit(own, units, known)


def ready(limit: Limit) -> dict[str, list[str]]:
    return {host: [one["unit"] for one in ours] for host, ours in limit.whole.items()}


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


def test_services_that_were_read_from_hosts_do_not_hide_the_ranks_that_were_not_asked():
    """As in a rollback, which knows no plan."""
    own = [one for one in services() if one["host"] != "d2"]
    units = states(own, d1="restart")
    (finding,) = beyond_limit(own, units, restarts(own, units))
    assert str(finding).startswith("decode-0: rank 1 of 2 is on none of the hosts that were asked")
    units = states(own, p2="restart")
    assert beyond_limit(own, units, restarts(own, units)) == []


def test_only_whole_instances_can_become_ready():
    told = {"p1": ["sglang-prefill"], "p2": ["sglang-prefill"], "d1": [], "r1": ["sglang-router"]}
    assert ready(limited(services(), d2="absent")) == told


def test_without_a_limit_nothing_is_left_out():
    own = services()
    limit = limited(own, ready=dict.fromkeys(["d1", "d2"], False), **{one["host"]: "start" for one in own})
    assert ready(limit) == ready(limited(own))
    assert (limit.lines(), limit.unasked, limit.advice()) == ([], {}, "")


@pytest.mark.parametrize("again", [False, True])
def test_an_instance_that_starts_without_its_other_nodes_gives_no_answer(again):
    """Nor does the router before it, which has no decode; the prefills are waited for. The second run says it again."""
    own = services()
    if again:
        limit = limited(own, ready={"p1": True, "p2": True, "d1": False, "r1": False}, d2="absent")
    else:
        limit = limited(own, **{**{one["host"]: "start" for one in own}, "d2": "absent"})
    assert ready(limit) == {"p1": ["sglang-prefill"], "p2": ["sglang-prefill"], "d1": [], "r1": []}
    assert limit.unasked == {"r1": ["sglang-router"]}
    then = "is not waited for" if again else "starts on the others and is not waited for"
    assert limit.lines() == [
        f"--limit leaves out d2 of decode-0: it {then}",
        "sglang-router on r1 is not asked: it cannot answer without d2",
    ]


def test_a_router_is_asked_where_another_instance_of_the_role_may_answer():
    own = services()
    # The other prefill is outside, and may well serve.
    limit = limited(own, p1="start", p2="absent", d1="start", d2="start", r1="start")
    assert limit.unasked == {}
    assert ready(limit)["r1"] == ["sglang-router"]
    assert limit.lines() == []
    assert limit.advice() == "--limit leaves out prefill-1 on p2: nobody has looked there"


@pytest.mark.parametrize(
    ("action", "there", "silent"),
    [("start", None, True), ("none", False, True), ("none", True, False), ("none", None, False)],
)
def test_an_instance_that_is_its_own_entrance(action, there, silent):
    """One that is ready is asked: whoever was left out serves."""
    known = {} if there is None else {"m1": there}
    limit = limited(services(TWO), ready=known, m1=action, m2="absent")
    assert limit.unasked == ({"m1": ["sglang-mixed"]} if silent else {})
    (first, *others) = limit.lines()
    then = "starts on the others and is not waited for" if action == "start" else "is not waited for"
    assert first == f"--limit leaves out m2 of mixed-0: it {then}"
    assert len(others) == silent


def test_a_host_without_the_entrance_has_none_to_ask():
    limit = limited(services(TWO), m1="absent", m2="start")
    assert limit.unasked == {}
    assert limit.lines() == ["--limit leaves out m1 of mixed-0: it starts on the others and is not waited for"]


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_router_that_is_not_told_is_named(action):
    own = services(R1)
    outside = dict.fromkeys(["p1", "d1", "d2", "r1"], "absent")
    told = "--limit leaves out the router on r1: it is neither told of what starts and restarts nor asked afterwards"
    assert limited(own, **outside, p2=action).lines() == [told]
    assert limited(own, **outside).lines() == []
