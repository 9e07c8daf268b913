# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services restart because another one does: ranks as one, the PD group with its store, the router never."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.restarts import (
    halts,
    lines,
    restarts,
)
from unit.compiler.cluster import planned

R1 = "deepseek-r1-w8a8-2p1d"
TWO = "kimi-k2-6-w4a8-16p"


def services(name: str = R1, **changes: Any) -> list[dict[str, Any]]:
    return planned(name, **changes).as_dict()["services"]


def states(own: list[dict[str, Any]], **actions: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Every unit with nothing to do but those of the named hosts; a host given as `absent` was not asked."""
    units: dict[str, dict[str, dict[str, Any]]] = {}
    for one in own:
        action = actions.get(one["host"], "none")
        if action != "absent":
            reason = "HCCL_BUFFSIZE" if action != "none" else None
            units.setdefault(one["host"], {})[one["unit"]] = {"action": action, "reason": reason}
    return units


def together(own: list[dict[str, Any]], **actions: str) -> dict[str, list[str]]:
    return {host: sorted(units) for host, units in restarts(own, states(own, **actions)).items()}


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_rank_takes_the_other_ranks_of_its_instance_along(action):
    assert together(services(), d2=action) == {"d1": ["sglang-decode"]}
    assert together(services(TWO), m1=action) == {"m2": ["sglang-mixed"]}
    (why,) = restarts(services(), states(services(), d2=action))["d1"].values()
    assert why == "rank 1 of decode-0 on d2 starts anew"


@pytest.mark.parametrize("action", ["start", "restart"])
def test_the_holder_of_the_store_takes_the_pd_group_along_and_not_the_router(action):
    assert together(services(), p1=action) == {
        "p2": ["sglang-prefill"],
        "d1": ["sglang-decode"],
        "d2": ["sglang-decode"],
    }


def test_another_prefill_restarts_alone():
    assert together(services(), p2="restart") == {}


def test_a_dedicated_store_takes_the_group_along_and_a_prefill_does_not():
    own = services(sglang_store="dedicated")
    units = states(own)
    units["r1"]["sglang-store"]["action"] = "restart"
    assert sorted(restarts(own, units)) == ["d1", "d2", "p1", "p2"]
    assert together(own, p1="restart") == {}


def test_the_router_takes_nobody_along():
    assert together(services(), r1="restart") == {}


@pytest.mark.parametrize("action", ["none", "stop"])
def test_what_is_left_or_stopped_takes_nobody_along(action):
    assert together(services(), p1=action, d1=action) == {}


def test_what_starts_anew_itself_is_not_named_again():
    assert together(services(), p1="restart", d1="restart") == {"p2": ["sglang-prefill"], "d2": ["sglang-decode"]}


def test_a_rank_of_the_holders_instance_restarts_the_holder_and_the_group():
    own = [
        {"host": host, "unit": "u", "role": role, "instance": 0, "rank": rank, "nnodes": 2, "ports": ports}
        for host, role, rank, ports in (
            ("p1", "prefill", 0, {"store": 1}),
            ("p2", "prefill", 1, {}),
            ("d1", "decode", 0, {}),
            ("d2", "decode", 1, {}),
        )
    ]
    assert sorted(restarts(own, states(own, p2="restart"))) == ["d1", "d2", "p1"]


def test_a_host_outside_the_limit_is_neither_restarted_nor_asked():
    assert together(services(), p1="restart", d2="absent") == {"p2": ["sglang-prefill"], "d1": ["sglang-decode"]}


def test_what_meets_goes_down_everywhere_before_it_starts_again():
    own = services()
    units = states(own, d2="restart")
    assert {host: [one["unit"] for one in down] for host, down in halts(own, units, restarts(own, units)).items()} == {
        "d1": ["sglang-decode"],
        "d2": ["sglang-decode"],
    }
    units = states(own, p1="restart")
    assert sorted(halts(own, units, restarts(own, units))) == ["d1", "d2", "p1", "p2"]
    units = states(own, p2="restart", r1="restart")
    assert halts(own, units, restarts(own, units)) == {}


def test_what_happens_is_told_service_by_service_and_with_what_goes():
    own = services()
    units = states(own, d2="restart")
    units["d1"]["sglang-old"] = {"action": "stop", "reason": "the plan has it no longer"}
    assert lines(own, units, restarts(own, units)) == [
        "d1: restart sglang-decode because rank 1 of decode-0 on d2 starts anew",
        "d2: restart sglang-decode because HCCL_BUFFSIZE",
        "d1: stop sglang-old because the plan has it no longer",
    ]
    assert lines(own, states(own), {}) == []
