# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which services become new: who stands in for whom, what clients lose, and what goes together."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations import on_disk
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.limit import Limit
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.restarts import restarts
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.rollout import (
    SECRETS_CHANGE,
    Running,
    Wave,
    announce,
    as_dicts,
    strangers,
    waves,
    workers,
)
from unit.compiler.cluster import planned

R1 = "deepseek-r1-w8a8-2p1d"
FOUR = "deepseek-r1-w4a8-1p1d-16p-in3k5-out1k5-41ms"
MIXED = "deepseek-r1-w4a8-8p-in3k5-out1k5-50-36ms"
TWO = {"sglang_instances": {"prefill": 2, "decode": 2}, "sglang_router_args": {"mini-lb": False}}


def cluster(name: str = FOUR, **changes: Any) -> list[dict[str, Any]]:
    settings = {**(TWO if name == FOUR else {}), **changes}
    return planned(name, **settings).as_dict()["services"]


def units_of(own: list[dict[str, Any]], state: str = "active (running)", **actions: str) -> dict[str, Any]:
    """Every unit as it is: nothing to do, but on the named hosts."""
    units: dict[str, Any] = {}
    for one in own:
        action = actions.get(one["host"], "none")
        reason = "its launch.sh changes" if action == "restart" else ""
        serving = "inactive (dead)" if action == "start" else state
        units.setdefault(one["host"], {})[one["unit"]] = {
            "action": action, "reason": reason, "changed": action != "none", "state": serving,
        }  # fmt: skip
    return units


def roll(own: list[dict[str, Any]], units: dict[str, Any], workers: bool = True, urls: Any = None) -> list[Wave]:
    return waves(own, units, restarts(own, units), Running(urls or {}, workers))


def titles(found: list[Wave]) -> list[str]:
    return [one.title for one in found]


def test_a_first_deployment_is_two_waves_and_interrupts_nobody():
    own = cluster()
    units = units_of(own, **{one["host"]: "start" for one in own})
    found = roll(own, units, workers=False)
    assert titles(found) == ["prefill-0, prefill-1, decode-0 and decode-1", "the router"]
    assert not any(one.interrupts or one.leave or one.join for one in found)


def test_nothing_to_do_is_no_wave():
    own = cluster()
    assert roll(own, units_of(own)) == []


def test_instances_of_a_role_restart_one_after_the_other_out_of_the_router():
    own = cluster(sglang_store="dedicated")
    found = roll(own, units_of(own, d1="restart", d2="restart"))
    assert titles(found) == ["decode-0", "decode-1"]
    urls = [one["url"] for one in own if one["role"] == "decode"]
    assert [one.leave for one in found] == [(urls[0],), (urls[1],)]
    assert [dict(one.join[0]) for one in found] == [{"url": url, "kind": "decode", "bootstrap": None} for url in urls]
    assert all(one.spare and not one.interrupts and "are left" not in one.advice for one in found)
    assert "prefill-0, prefill-1 and decode-1 were left to serve" in found[0].advice


def test_a_prefill_comes_back_with_its_bootstrap_port():
    own = cluster()
    (wave,) = roll(own, units_of(own, p2="restart"))
    assert wave.join[0]["bootstrap"] == next(one for one in own if one["host"] == "p2")["ports"]["bootstrap"]


def test_the_stores_holder_takes_its_group_along_in_one_announced_wave():
    own = cluster()
    found = roll(own, units_of(own, p1="restart"))
    assert titles(found) == ["prefill-0, prefill-1, decode-0 and decode-1"]
    assert found[0].interrupts.startswith("prefill-0 holds the store, so that its whole PD group restarts")
    assert len(found[0].halt) == 4
    assert len(found[0].leave) == len(found[0].join) == 4
    # With a store of its own that exception is gone.
    own = cluster(sglang_store="dedicated")
    assert titles(roll(own, units_of(own, p1="restart"))) == ["prefill-0"]


def test_all_ranks_of_an_instance_are_one_wave():
    own = cluster(R1, sglang_store="dedicated", sglang_router_args={"mini-lb": False})
    (wave,) = roll(own, units_of(own, d2="restart"))
    assert [one["host"] for one in wave.services] == ["d1", "d2"]
    assert [one["host"] for one in wave.halt] == ["d1", "d2"]
    assert len(wave.leave) == 1
    assert wave.interrupts == "decode-0 is the only decode instance: no request is answered meanwhile"


def test_what_serves_nobody_starts_before_what_serves_restarts():
    own = cluster(sglang_store="dedicated")
    found = roll(own, units_of(own, d1="restart", d2="start"))
    assert titles(found) == ["decode-1", "decode-0"]
    assert found[0].leave == ()
    assert len(found[0].join) == 1


def test_without_a_running_router_nobody_is_served_and_all_start_at_once():
    own = cluster(sglang_store="dedicated")
    units = units_of(own, d1="restart", d2="restart")
    units["r1"]["sglang-router"].update(action="start", state="inactive (dead)")
    found = roll(own, units, workers=False)
    assert titles(found)[0] == "decode-0 and decode-1"
    assert not any(one.interrupts for one in found)


def test_mini_lb_cannot_let_a_worker_go():
    own = cluster(sglang_store="dedicated", sglang_router_args={})
    found = roll(own, units_of(own, d1="restart", d2="restart"), workers=False)
    assert titles(found) == ["decode-0", "decode-1"]
    assert found[0].interrupts == "this router goes on sending requests to decode-0 meanwhile, and those fail"
    assert not any(one.leave or one.join or one.spare for one in found)


def test_the_router_restarts_last_and_says_why():
    own = cluster(sglang_store="dedicated")
    units = units_of(own, d1="restart")
    units["r1"]["sglang-router"].update(action="restart", reason="its launch.sh changes (--policy)", changed=True)
    found = roll(own, units)
    assert titles(found) == ["decode-0", "the router"]
    assert found[1].interrupts.startswith("the router restarts because its launch.sh changes (--policy)")


def test_another_api_key_is_one_wave_and_an_announced_interruption():
    own = cluster(sglang_store="dedicated")
    units = units_of(own, **{one["host"]: "restart" for one in own if one["role"] not in ("router", "store")})
    units["r1"]["sglang-router"].update(action="restart", reason=SECRETS_CHANGE)
    found = roll(own, units)
    assert titles(found) == ["prefill-0, prefill-1, decode-0 and decode-1", "the router"]
    assert "the API key changes" in found[0].interrupts
    # The router has the old key until it restarts: it is given no worker, and nobody waits for an answer from it.
    assert len(found[0].leave) == 4
    assert found[0].join == ()
    entrance = {"host": "r1", "unit": "sglang-router", "url": "http://192.0.2.31:6688", "answers": True}
    assert not any(one.as_dict(entrance, {}, ())["measure"] for one in found)


def test_a_change_without_restart_is_applied_and_interrupts_nobody():
    own = cluster()
    units = units_of(own)
    units["d1"]["sglang-decode"]["changed"] = True
    (wave,) = roll(own, units)
    assert (wave.title, [one["host"] for one in wave.services]) == ("what needs no restart", ["d1"])
    assert not wave.interrupts
    assert not wave.leave


def test_a_worker_that_the_plan_no_longer_has_leaves_the_router_first():
    own = cluster(sglang_store="dedicated")
    units = units_of(own, d1="restart")
    units["d2"]["sglang-decode-1"] = {"action": "remove", "reason": "", "changed": True, "state": "active (running)"}
    found = roll(own, units, urls={"d2": {"sglang-decode-1": "http://192.0.2.99:8002"}})
    assert found[0].title == "what needs no restart"
    assert found[0].leave == ("http://192.0.2.99:8002",)
    assert [one["host"] for one in found[0].services] == ["d2"]


def test_a_worker_leaves_from_where_it_is_and_comes_back_to_where_it_will_be():
    own = cluster(sglang_store="dedicated")
    (wave,) = roll(own, units_of(own, d1="restart"), urls={"d1": {"sglang-decode": "http://192.0.2.21:9999"}})
    assert wave.leave == ("http://192.0.2.21:9999",)
    assert wave.join[0]["url"] == next(one["url"] for one in own if one["host"] == "d1")


def test_mixed_instances_without_a_router_are_their_own_entrance():
    own = cluster(MIXED)
    found = roll(own, units_of(own, m1="restart"), workers=False)
    assert "is the only mixed instance" in found[0].interrupts
    (wave,) = as_dicts(found, Limit(own, units_of(own)), Running({}, False))
    assert wave["entrance"] == {"host": "m1", "unit": "sglang-mixed", "url": own[0]["url"], "answers": True}
    assert wave["measure"]


def test_a_store_that_goes_goes_with_its_group_and_the_router_is_not_waited_for_before_its_workers_are_back():
    own = cluster()
    units = units_of(own, p1="restart")
    units["r1"]["sglang-store"] = {"action": "remove", "reason": "", "changed": True, "state": "active (running)"}
    found = roll(own, units, urls={"r1": {"sglang-store": "tcp://192.0.2.31:24670"}})
    assert titles(found) == ["prefill-0, prefill-1, decode-0 and decode-1"]
    (wave,) = as_dicts(found, Limit(own, units), Running({}, True))
    assert wave["units"]["r1"] == ["sglang-router"]
    assert "r1" not in wave["wait"]


def test_a_wave_names_the_hosts_with_a_part_in_it():
    own = cluster(sglang_store="dedicated")
    units = units_of(own, d1="restart")
    now = Running({"r1": {"sglang-router": "http://192.0.2.31:7777"}}, True)
    (wave,) = as_dicts(roll(own, units), Limit(own, units), now)
    assert wave["hosts"] == ["d1", "r1"]
    assert wave["units"] == {"d1": ["sglang-decode"]}
    assert wave["roles"] == {"d1": ["decode"]}
    assert [one["unit"] for one in wave["wait"]["d1"]] == ["sglang-decode"]
    # The router is asked where it is now, not where a later wave puts it.
    assert wave["entrance"]["url"] == "http://192.0.2.31:7777"


def test_people_are_told_the_order_and_what_they_lose():
    own = cluster()
    lines = announce(roll(own, units_of(own, p1="restart")))
    assert lines[0] == "1. prefill-0, prefill-1, decode-0 and decode-1"
    assert lines[1].startswith("   INTERRUPTION: prefill-0 holds the store")


def test_a_worker_that_nobody_knows_is_told():
    own = cluster()
    listed = [{"url": one["url"]} for one in own] + [{"url": "http://192.0.2.98:1"}, {"url": "http://192.0.2.99:8001"}]
    (told,) = strangers(listed, own, Running({"d2": {"sglang-decode-1": "http://192.0.2.98:1"}}, True))
    assert "the worker http://192.0.2.99:8001, which is neither in the plan" in str(told)


def test_the_workers_of_a_router():
    own = cluster(R1)
    assert [(one["kind"], one["bootstrap"]) for one in workers(own)] == [
        ("prefill", 8998), ("prefill", 8999), ("decode", None),
    ]  # fmt: skip


def facts_of(own: list[dict[str, Any]]) -> dict[str, Any]:
    """What host_facts tells where these services were deployed."""
    facts: dict[str, Any] = {}
    for one in own:
        told = {key: one[key] for key in ("role", "instance", "rank", "url", "ports")}
        told.update(nodes=one["nnodes"], active="active", sub="running")
        facts.setdefault(one["host"], {"units": {}})["units"][one["unit"]] = told
    return facts


def test_what_is_on_the_hosts_is_as_good_as_a_plan():
    own = cluster(R1, sglang_router_args={"mini-lb": False})
    facts = facts_of(own)
    there = on_disk.services(facts)
    assert sorted((one["host"], one["unit"]) for one in there) == sorted((one["host"], one["unit"]) for one in own)
    picked = on_disk.chosen(there, [], ["prefill-1"])
    units = on_disk.states(facts, picked, "a restart was asked for")
    (wave,) = waves(there, units, restarts(there, units), Running(on_disk.urls(facts), True))
    assert (wave.title, wave.spare) == ("prefill-1", True)


def test_all_instances_but_neither_router_nor_store_restart_by_default():
    there = on_disk.services(facts_of(cluster(sglang_store="dedicated")))
    assert {one["role"] for one in on_disk.chosen(there, [], [])} == {"prefill", "decode"}
    assert [one["role"] for one in on_disk.chosen(there, ["router"], [])] == ["router"]


@pytest.mark.parametrize(
    ("roles", "instances", "says"),
    [(["mixed"], [], "no host has a service of this role"), ([], ["decode-7"], "no host has this instance")],
)
def test_a_selection_of_nothing_is_refused_with_what_there_is(roles, instances, says):
    there = on_disk.services(facts_of(cluster()))
    with pytest.raises(CompileError) as refusal:
        on_disk.chosen(there, roles, instances)
    assert says in str(refusal.value)
    assert "prefill-0" in str(refusal.value)


def test_an_instance_of_which_a_rank_was_not_asked_does_not_restart():
    facts = facts_of(cluster(R1))
    del facts["d2"]
    with pytest.raises(CompileError, match="rank 1 of 2 is on none of the hosts"):
        on_disk.chosen(on_disk.services(facts), ["decode"], [])


def test_hosts_without_services_are_told_so():
    with pytest.raises(CompileError, match="Deploy first"):
        on_disk.chosen([], [], [])


W = [{"url": "http://192.0.2.11:8000"}, {"url": "http://192.0.2.21:8001"}]


def _told(ready: bool | None = True, **router: object) -> dict[str, object]:
    told = {"supported": True, "error": "", "workers": [{**one, "healthy": True} for one in W], **router}
    return {"r1": {"units": {"sglang-router": {"ready": ready, "router": told}}}}


@pytest.mark.parametrize(
    ("facts", "proven"),
    [
        (_told(), True),
        (_told(supported=False, workers=[]), True),  # mini-lb tells nothing
        (_told(workers=[{**W[0], "healthy": True}]), False),
        (_told(workers=[{**W[0], "healthy": True}, {**W[1], "healthy": False}]), False),
        (_told(supported=False, workers=[], error="it does not answer"), False),
        (_told(ready=False), False),
        (_told(ready=None), False),  # it was not asked
        ({"r1": {"units": {}}}, False),
        ({}, False),
    ],
)
def test_what_a_look_at_the_hosts_proves(facts, proven):
    found = on_disk.unproven(facts, {"r1": [{"unit": "sglang-router"}]}, W)
    assert found == ([] if proven else ["r1"])


def test_an_engine_proves_itself():
    own = {"p1": [{"unit": "sglang-prefill"}], "p2": [{"unit": "sglang-prefill"}]}
    facts = {host: {"units": {"sglang-prefill": {"ready": host == "p1", "router": None}}} for host in own}
    assert on_disk.unproven(facts, own, W) == ["p2"]


def test_an_instance_that_a_limit_cuts_is_not_given_to_the_router_and_no_answer_is_measured():
    """The router would wait for it until its time limit."""
    own = cluster(R1, sglang_router_args={"mini-lb": False}, sglang_store="dedicated")
    units = {host: one for host, one in units_of(own, p2="start", d1="start").items() if host != "d2"}
    found = as_dicts(roll(own, units), Limit(own, units), Running({}, True))
    prefill = next(one["url"] for one in own if one["host"] == "p2")
    assert [one["url"] for wave in found for one in wave["join"]] == [prefill]
    assert not any(wave["measure"] for wave in found)
    assert [wave["entrance"]["answers"] for wave in found if wave["entrance"]] == [False] * len(found)
