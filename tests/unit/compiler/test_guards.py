"""Who has a guard, at which port, and whom it watches."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import plan_service
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Plan

from .cluster import errors_of, plan_of, planned, service

R1 = "deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms"
KIMI_MIXED = "kimi-k2-6-w4a8-16p-in64k-out1k-100ms"
ONE_NODE = "deepseek-r1-w4a8-8p-in3k5-out1k5-50-36ms"


def guard(plan: Plan, role: str, instance: int = 0, rank: int = 0) -> dict[str, Any]:
    found = service(plan, role, instance, rank).guard
    assert found is not None
    return dict(found)


def test_a_pd_group_follows_its_store_and_ranks_their_rank_0():
    plan = plan_of(R1)
    store = {
        "what": "store", "host": "p1", "unit": "sglang-prefill", "url": "http://192.0.2.11:29100", "ports": [24670],
    }  # fmt: skip
    assert guard(plan, "prefill", 0) == {
        "url": "http://192.0.2.11:29100", "gone_seconds": 60, "follows": None, "ranks": [],
    }  # fmt: skip
    assert guard(plan, "prefill", 1)["follows"] == store
    assert guard(plan, "decode")["follows"] == store
    assert guard(plan, "decode")["ranks"] == [
        {"rank": 1, "host": "d2", "unit": "sglang-decode", "url": "http://192.0.2.22:29100", "ports": [8001]}
    ]
    assert guard(plan, "decode", 0, 1) == {
        "url": "http://192.0.2.22:29100",
        "gone_seconds": 60,
        "follows": {
            "what": "head", "host": "d1", "unit": "sglang-decode", "url": "http://192.0.2.21:29100",
            "ports": [8001, 5000],
        },
        "ranks": [],
    }  # fmt: skip
    assert service(plan, "router").guard is None


def test_with_a_dedicated_store_all_follow_it():
    plan = planned(R1, sglang_store="dedicated")
    assert guard(plan, "store")["follows"] is None
    for role, instance in (("prefill", 0), ("prefill", 1), ("decode", 0)):
        follows = guard(plan, role, instance)["follows"]
        assert (follows["host"], follows["unit"], follows["what"]) == ("r1", "sglang-store", "store")
    assert guard(plan, "decode", 0, 1)["follows"]["host"] == "d1"


def test_without_a_store_instances_of_one_node_follow_nobody():
    mooncake = {"disaggregation-transfer-backend": "mooncake"}
    plan = planned(R1, sglang_prefill_args=mooncake, sglang_decode_args=mooncake)
    assert guard(plan, "prefill", 1)["follows"] is None
    assert guard(plan, "decode")["follows"] is None
    assert guard(plan, "decode", 0, 1)["follows"]["what"] == "head"


def test_a_mixed_instance_of_two_nodes_is_guarded():
    plan = plan_of(KIMI_MIXED)
    assert guard(plan, "mixed")["follows"] is None
    assert [one["host"] for one in guard(plan, "mixed")["ranks"]] == ["m2"]
    assert guard(plan, "mixed", 0, 1)["follows"]["host"] == "m1"


def test_a_mixed_instance_of_one_node_belongs_to_nobody():
    plan = plan_of(ONE_NODE)
    assert [one.guard for one in plan.services] == [None] * len(plan.services)


def test_several_instances_are_not_mixed_up():
    plan = planned(R1, sglang_instances={"prefill": 2, "decode": 2})
    assert guard(plan, "decode", 1, 1)["follows"]["host"] == "d3"
    assert [one["host"] for one in guard(plan, "decode", 1)["ranks"]] == ["d4"]


def test_guards_on_one_host_have_ports_of_their_own():
    groups = {"prefill": ["n1"], "decode": ["n1", "n2"], "router": ["n1"]}
    plan = planned(R1, groups=groups, sglang_instances={"prefill": 1, "decode": 1}, hosts={"n1": {"sglang_npus": 32}})
    on_n1 = [one.ports["guard"] for one in plan.services if one.host == "n1" and one.guard]
    assert sorted(on_n1) == [29100, 29101]
    for one in plan.services:
        if one.guard:
            assert one.guard["url"].endswith(f":{one.ports['guard']}")
    urls = {one.guard["url"] for one in plan.services if one.guard}
    assert guard(plan, "decode", 0, 1)["follows"]["url"] in urls


def test_the_settings():
    plan = planned(R1, sglang_guard_port=31000, sglang_guard_gone_seconds=90)
    assert service(plan, "decode").ports["guard"] == 31000
    assert guard(plan, "decode")["gone_seconds"] == 90
    off = planned(R1, sglang_guard=False)
    assert [one.guard for one in off.services] == [None] * len(off.services)
    assert not any("guard" in one.ports for one in off.services)


def test_a_users_port_in_its_place_is_named():
    says = "host d{0}: port 29100 is wanted by {1} (http, set by sglang_decode_args.port) and by {1} (guard)."
    do = " Set one of them to another port."
    assert errors_of(R1, sglang_decode_args={"port": 29100}) == [
        says.format(1, "decode-0 rank 0") + do,
        says.format(2, "decode-0 rank 1") + do,
    ]
    assert errors_of(R1, sglang_decode_args={"port": 29100}, sglang_guard_port=29200) == []


def test_a_port_that_the_user_chose_does_not_move():
    do = " Set one of them to another port."
    assert errors_of(R1, sglang_guard_port=8000) == [
        f"host p{n + 1}: port 8000 is wanted by prefill-{n} (guard, set by sglang_guard_port) and by prefill-{n} "
        f"(http, dp_attention).{do}"
        for n in (0, 1)
    ]
    # A second guard on a host has the next one.
    groups = {"prefill": ["n1"], "decode": ["n1", "n2"], "router": ["n1"]}
    one = {"prefill": 1, "decode": 1}
    plan = planned(R1, groups=groups, sglang_instances=one, hosts={"n1": {"sglang_npus": 32}}, sglang_guard_port=31000)
    assert sorted(one.ports["guard"] for one in plan.services if one.host == "n1" and one.guard) == [31000, 31001]


def test_addresses_of_every_kind():
    plan = planned(
        R1, hosts={"d1": {"sglang_data_address": "2001:db8::21"}, "d2": {"sglang_data_address": "d2.example.org"}}
    )
    assert guard(plan, "decode", 0, 1)["follows"]["url"] == "http://[2001:db8::21]:29100"
    assert guard(plan, "decode", 0, 1)["url"] == "http://d2.example.org:29100"


@pytest.mark.parametrize("name", [R1, KIMI_MIXED])
def test_the_hosts_can_read_it(name):
    services = plan_of(name).as_dict()["services"]
    for given, parsed in zip(services, plan_service.parse_all(services), strict=True):
        assert (parsed.guard is None) == (given["guard"] is None)
        if parsed.guard:
            assert parsed.guard.url == given["guard"]["url"]
