# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a cluster beside its plan: what is ready, what differs, and what nobody could tell."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.status import Report, Told, page, report, when
from unit.compiler.cluster import planned

FOUR = "deepseek-r1-w4a8-1p1d-16p-in3k5-out1k5-41ms"
TWO = {"sglang_instances": {"prefill": 2, "decode": 2}, "sglang_router_args": {"mini-lb": False}}


@pytest.fixture
def plan() -> dict[str, Any]:
    return planned(FOUR, sglang_store="dedicated", **TWO).as_dict()


def status(one: dict[str, Any], plan: dict[str, Any], **values: Any) -> dict[str, Any]:
    server = one["role"] not in ("router", "store")
    return {
        "unit": one["unit"], "phase": "ready", "since": "Mon 2026-11-30 10:57:02 UTC", "restarts": 0, "ready": True,
        "dead": False, "ending": "", "cause": "", "health": "200", "invocation": "a", "guard": None,
        "version": plan["engine"] if server else "", "mode": one["role"] if server else "", **values,
    }  # fmt: skip


def all_well(plan: dict[str, Any]) -> dict[str, Told]:
    told = {}
    for host in dict.fromkeys(one["host"] for one in plan["services"]):
        own = [one for one in plan["services"] if one["host"] == host]
        units = {one["unit"]: {"action": "none", "changed": False, "reason": ""} for one in own}
        facts = {one["unit"]: {"role": one["role"]} for one in own}
        told[host] = Told([status(one, plan) for one in own], facts, {"units": units, "actions": []})
    return told


def listing(plan: dict[str, Any], **healthy: bool) -> dict[str, Any]:
    heads = [one for one in plan["services"] if one["role"] in ("prefill", "decode")]
    workers = [
        {"url": one["url"], "kind": one["role"], "healthy": healthy.get(one["host"], True), "load": 0} for one in heads
    ]
    return {"supported": True, "readiness": "ready", "workers": workers, "error": ""}


def told_of(state: Report, plan: dict[str, Any]) -> str:
    return "\n".join(page(state, plan))


def test_all_well(plan):
    state = report(plan, all_well(plan), listing(plan))
    assert (state.ready, state.differs) == (True, False)
    text = told_of(state, plan)
    assert "everything is ready, as planned" in text
    assert "router: has prefill-0, prefill-1, decode-0, decode-1; it says ready" in text
    assert "2026-11-30 10:57:02 UTC" in text


@pytest.mark.parametrize(("version", "same"), [("+npu", True), ("+gabc.d2026", True), (".dev1", False), ("x", False)])
def test_a_build_label_is_no_other_version(plan, version: str, same: bool):
    told = all_well(plan)
    told["d1"].statuses[0].update(version=plan["engine"] + version)
    state = report(plan, told, listing(plan))
    assert state.differs is not same
    assert ("(planned " in told_of(state, plan)) is not same


def test_what_was_not_compared_is_not_said_to_be_as_planned(plan):
    told = all_well(plan)
    told["d1"] = Told(told["d1"].statuses, told["d1"].units, None, "its service cannot be compared")
    state = report(plan, told, listing(plan))
    assert {one["host"]: one["compared"] for one in state.services}["d1"] is False
    (line,) = [one for one in page(state, plan) if one.startswith("d1 ")]
    assert "as planned" not in line


def test_a_stopped_service_is_not_said_to_have_died(plan):
    told = all_well(plan)
    told["d1"].statuses[0].update(ready=False, phase="stopped", dead=True, ending="exit status 0", version="", mode="")
    state = report(plan, told, listing(plan, d1=False))
    assert not state.ready
    assert "sglang-decode on d1: stopped; a deployment would start it" in told_of(state, plan)


def test_a_dead_service_is_told_with_its_cause(plan):
    told = all_well(plan)
    told["d1"].statuses[0].update(
        ready=False,
        phase="dead",
        dead=True,
        ending="exit status 1",
        cause="Shared memory too small.",
        version="",
        mode="",
    )
    state = report(plan, told, listing(plan, d1=False))
    assert not state.ready
    assert "sglang-decode on d1: died (exit status 1). Shared memory too small." in told_of(state, plan)
    assert state.router["missing"] == ["decode-0"]


def test_another_version_or_mode_than_planned_differs(plan):
    told = all_well(plan)
    told["d1"].statuses[0].update(version="0.5.23", mode="mixed")
    state = report(plan, told, listing(plan))
    assert (state.ready, state.differs) == (True, True)
    text = told_of(state, plan)
    assert f"0.5.23 (planned {plan['engine']})" in text
    (row,) = [one for one in state.services if one["host"] == "d1"]
    assert row["differs"] == [
        f"the server says that it is version 0.5.23, the plan is for {plan['engine']}",
        "the server says that it runs as mixed",
    ]


def test_what_is_on_disk_and_not_as_planned_differs(plan):
    told = all_well(plan)
    told["d1"].check["units"]["sglang-decode"] = {"action": "restart", "changed": True, "reason": "it changes"}
    told["d1"].check["actions"].extend(
        ["change /etc/ascend-sglang/sglang-decode/launch.sh", "restart sglang-decode because it changes"]
    )
    state = report(plan, told, listing(plan))
    assert state.differs
    (row,) = [one for one in state.services if one["host"] == "d1"]
    assert row["differs"] == [
        "change /etc/ascend-sglang/sglang-decode/launch.sh",
        "a deployment would restart it because it changes",
    ]


def test_a_unit_and_a_worker_that_the_plan_does_not_have(plan):
    told = all_well(plan)
    told["d2"].units["sglang-mixed"] = {
        "role": "mixed", "instance": 0, "rank": 0, "active": "active", "sub": "running", "restarts": 2,
        "invocation": "x",
    }  # fmt: skip
    seen = listing(plan)
    seen["workers"].append({"url": "http://192.0.2.99:8001", "kind": "decode", "healthy": True, "load": 0})
    state = report(plan, told, seen)
    assert (state.ready, state.differs) == (True, True)
    text = told_of(state, plan)
    assert "not in the plan" in text
    assert "router: has a worker that the plan does not have, http://192.0.2.99:8001" in text


def test_a_host_that_cannot_be_asked_is_a_line_and_not_the_end(plan):
    told = all_well(plan)
    told["d1"] = Told(problem="Failed to connect to the host via ssh")
    state = report(plan, told, listing(plan))
    assert (state.ready, state.differs) == (False, True)
    assert "sglang-decode on d1: Failed to connect" in told_of(state, plan)


def test_a_host_outside_of_the_limit_was_not_asked(plan):
    told = all_well(plan)
    del told["d1"]
    assert "sglang-decode on d1: was not asked" in told_of(report(plan, told, listing(plan)), plan)


def test_mini_lb_says_nothing_of_its_workers(plan):
    seen = {"supported": False, "readiness": "", "workers": [], "error": ""}
    state = report(plan, all_well(plan), seen)
    assert state.ready
    assert "router: mini-lb does not tell its workers" in told_of(state, plan)


def test_what_guards_say(plan):
    told = all_well(plan)
    told["d1"].statuses[0]["guard"] = {"phase": "running", "last": "restart sglang-decode because its head is another"}
    text = told_of(report(plan, told, listing(plan)), plan)
    assert "its guard says: restart sglang-decode because its head is another" in text


@pytest.mark.parametrize(
    ("text", "shown"), [("Mon 2026-11-30 10:57:02 UTC", "2026-11-30 10:57:02 UTC"), ("", ""), ("n/a", "n/a")]
)
def test_times(text, shown):
    assert when(text) == shown
