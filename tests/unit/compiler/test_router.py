# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The router, the entrance and the benchmark that asks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from .cluster import (
    compiled,
    errors_of,
    flags,
    groups_for,
    planned,
    profile,
    reasons,
    service,
    variables_for,
    warnings_of,
)

R1 = "deepseek-r1-w8a8-2p1d"
W4A8 = "deepseek-r1-w4a8-1p1d"
ONE = "deepseek-r1-w4a8-8p"
TWO = "kimi-k2-6-w4a8-16p"
FULL = {"mini-lb": False}


def router(plan: Any) -> dict[str, list[Any]]:
    return flags(service(plan, "router"))


def test_every_prefill_stands_with_its_own_bootstrap_port():
    groups = {"prefill": ["p9", "p1"], "decode": ["d1", "d2"], "router": ["r1"]}
    plan = planned(R1, groups=groups, hosts={"p1": {"sglang_bootstrap_port": 9100}})
    assert router(plan)["--prefill"] == ["http://192.0.2.11:8000", "8998", "http://192.0.2.12:8000", "9100"]
    assert [service(plan, "prefill", index).host for index in (0, 1)] == ["p9", "p1"]
    assert router(plan)["--decode"] == ["http://192.0.2.21:8001"]


def test_workers_of_any_address_are_urls():
    hosts = {"p1": {"sglang_data_address": "2001:db8::11"}, "p2": {"sglang_data_address": "P2.data"}}
    plan = planned(R1, hosts=hosts)
    assert router(plan)["--prefill"] == ["http://[2001:db8::11]:8000", "8998", "http://p2.data:8000", "8999"]
    assert "--prefill" not in reasons(plan, "router")


def test_the_pages_router_stays_on_loopback_and_that_is_said():
    plan = planned(R1)
    assert (router(plan)["--host"], service(plan, "router").url) == (["127.0.0.1"], "http://127.0.0.1:6688")
    assert (
        "router: the router listens on 127.0.0.1: it is reachable only from r1. "
        "Set sglang_router_args.host for clients on other hosts."
    ) in warnings_of(R1)


@pytest.mark.parametrize(
    ("host", "url"), [("192.0.2.91", "192.0.2.91"), ("0.0.0.0", "192.0.2.91"), (None, "192.0.2.91")]
)
def test_a_router_for_other_hosts_is_entered_at_its_data_address(host, url):
    plan = planned(R1, sglang_router_args={"host": host, **FULL})
    assert service(plan, "router").url == f"http://{url}:6688"
    assert [one.url for one in plan.entrances] == [f"http://{url}:6688"]
    assert not [one for one in warnings_of(R1, sglang_router_args={"host": host}) if "reachable only" in one]


@pytest.mark.parametrize("host", ["192.0.2.11", "r1.example", "<ip>"])
def test_a_router_listens_on_no_other_hosts_address(host):
    (error,) = errors_of(R1, sglang_router_args={"host": host})
    assert error.startswith(f"sglang_router_args.host: {host} is not the data address of r1 (192.0.2.91). Give that")


def test_the_full_router_keeps_its_metrics_where_it_listens_and_waits_as_long_as_deploy():
    plan = planned(R1, sglang_router_args=FULL)
    assert router(plan)["--prometheus-host"] == ["127.0.0.1"]
    assert router(plan)["--worker-startup-timeout-secs"] == ["3600"]
    assert service(plan, "router").ports == {"http": 6688, "prometheus": 29000}
    assert reasons(plan, "router") == {
        **dict.fromkeys(service(plan, "router").unset, "environment-kept-out"),
        "HF_HUB_OFFLINE": "tokenizer-offline",
        "--prometheus-host": "router-monitoring-address",
        "--worker-startup-timeout-secs": "worker-start-limit",
        "--mini-lb": "override",
    }
    assert "--worker-startup-timeout-secs" not in router(
        planned(R1, sglang_router_args=FULL, sglang_ready_timeout=1800)
    )


def test_the_small_router_has_neither_and_its_faults_are_named():
    plan = planned(R1)
    assert service(plan, "router").ports == {"http": 6688}
    assert not {"--prometheus-host", "--worker-startup-timeout-secs"} & set(router(plan))
    warned = " ".join(warnings_of(R1))
    assert "mini-lb is for debugging only" in warned
    assert "the page asks for --policy cache_aware, and mini-lb always chooses at random" in warned
    assert "mini-lb" not in " ".join(warnings_of(R1, sglang_router_args=FULL))


@pytest.mark.parametrize(
    ("given", "asks"),
    [
        ({}, "the page asks for --policy cache_aware"),
        ({"policy": "round_robin"}, "sglang_router_args asks for --policy round_robin"),
        ({"policy": None, "prefill-policy": "cache_aware"}, "sglang_router_args asks for --prefill-policy cache_aware"),
        (
            {"policy": "random", "prefill-policy": "bucket", "decode-policy": "manual"},
            "sglang_router_args asks for --decode-policy manual and --prefill-policy bucket",
        ),
        (
            {"decode-policy": "power_of_two"},
            "the page asks for --policy cache_aware and sglang_router_args asks for --decode-policy power_of_two",
        ),
        ({"policy": "random", "decode-policy": "random"}, None),
        ({"policy": None}, None),
    ],
)
def test_every_policy_that_mini_lb_ignores_is_named_with_who_asked(given, asks):
    found = [one for one in planned(R1, sglang_router_args=given).findings if one.check == "mini-lb-policy"]
    assert [one.what for one in found] == ([f"{asks}, and mini-lb always chooses at random"] if asks else [])
    assert all(one.level == "warning" for one in found)


def test_mini_lb_before_mixed_instances_is_refused():
    groups = {"mixed": ["m1"], "router": ["r1"]}
    given = {"mini-lb": True, "policy": "cache_aware"}
    assert errors_of(ONE, groups=groups, sglang_router_args=given, api_key=True) == [
        "router: mini-lb serves prefill and decode instances only: at its start, after the models have been loaded, it "
        "would end with 'MiniLB only supports PD disaggregation mode'. Leave mini-lb out of sglang_router_args: the "
        "full router serves mixed instances."
    ]
    found = planned(ONE, groups=groups, sglang_router_args=given).findings
    assert [one.level for one in found if one.check.startswith("mini-lb")] == ["error"]
    assert errors_of(ONE, groups=groups, sglang_router_args={"mini-lb": False}) == []


def test_a_profiles_own_mini_lb_serves_prefill_and_decode_only():
    wanted = profile(R1)
    args = {name: value for name, value in wanted.roles["router"].args.items() if name != "pd-disaggregation"}
    own = replace(wanted, roles={**wanted.roles, "router": replace(wanted.roles["router"], args=args)})
    groups = groups_for(own)
    found = compiled(own, groups, variables_for(groups)).findings
    (error,) = [one for one in found if one.level == "error"]
    assert (error.check, error.do) == (
        "mini-lb",
        "Set sglang_router_args: {mini-lb: false}, or give the profile's router pd-disaggregation where it serves both",
    )


def test_a_key_does_not_get_through_the_small_router():
    (error,) = errors_of(R1, api_key=True)
    assert error.startswith("router: mini-lb drops the Authorization header")
    assert errors_of(R1, api_key=True, sglang_router_args=FULL) == []
    assert errors_of(W4A8, api_key=True) == []


def test_the_router_asks_no_hub_unless_the_user_says_so():
    assert service(planned(R1), "router").env["HF_HUB_OFFLINE"] == "1"
    for value in ("0", None):
        plan = planned(R1, sglang_router_env={"HF_HUB_OFFLINE": value})
        assert service(plan, "router").env.get("HF_HUB_OFFLINE") == value


def test_a_routers_profile_may_name_the_weights_and_its_address():
    wanted = profile(R1)
    args = {**wanted.roles["router"].args, "tokenizer-path": "<model_path>", "host": "<data_address>"}
    own = replace(wanted, roles={**wanted.roles, "router": replace(wanted.roles["router"], args=args)})
    groups = groups_for(own)
    plan = compiled(own, groups, variables_for(groups))
    assert (router(plan)["--tokenizer-path"], router(plan)["--host"]) == (["/path/to/model-weights"], ["192.0.2.91"])
    assert not {"--tokenizer-path", "--host"} & set(reasons(plan, "router"))


def test_a_router_of_mixed_instances_lists_their_heads():
    plan = planned(ONE, groups={"mixed": ["m1", "m2"], "router": ["r1"]}, sglang_instances={"mixed": 2})
    assert router(plan)["--worker-urls"] == ["http://192.0.2.21:6688", "http://192.0.2.22:6688"]
    assert [one.host for one in plan.entrances] == ["r1"]
    plan = planned(TWO, groups={"mixed": ["m1", "m2"], "router": ["m2"]})
    assert router(plan)["--worker-urls"] == ["http://192.0.2.21:6688"]


def test_without_a_router_each_mixed_head_is_an_entrance():
    plan = planned(ONE, sglang_instances={"mixed": 2})
    assert [(one.host, one.url) for one in plan.entrances] == [
        ("m1", "http://127.0.0.1:6688"),
        ("m2", "http://127.0.0.1:6688"),
    ]
    assert [one.rank for one in planned(TWO).entrances] == [0]


def test_a_mixed_router_and_its_server_on_one_host_have_ports_of_their_own():
    groups = {"mixed": ["m1"], "router": ["m1"]}
    wanted = profile(ONE)
    body = replace(wanted.roles["mixed"], args={**wanted.roles["mixed"].args, "port": 30000})
    plan = compiled(replace(wanted, roles={"mixed": body}), groups, variables_for(groups))
    assert (service(plan, "mixed").ports["http"], service(plan, "router").ports["http"]) == (30000, 30001)
    assert router(plan)["--worker-urls"] == ["http://127.0.0.1:30000"]
    assert errors_of(ONE, groups=groups, sglang_mixed_args={"port": 30000}) == [
        "host m1: port 30000 is wanted by mixed-0 (http, dp_attention, set by sglang_mixed_args.port) and by router "
        "(http). Set one of them to another port."
    ]


# The benchmark


def bench(plan: Any) -> tuple[str, list[Any], list[Any]]:
    assert plan.benchmark is not None
    found = flags(plan.benchmark)
    return plan.benchmark.host, found["--host"], found["--port"]


def test_the_benchmark_asks_the_entrance_from_its_own_host():
    assert bench(planned(R1)) == ("r1", ["127.0.0.1"], ["6688"])
    assert bench(planned(R1, sglang_router_args={"host": "192.0.2.91", "port": 7000})) == (
        "r1",
        ["192.0.2.91"],
        ["7000"],
    )
    assert bench(planned(TWO)) == ("m1", ["192.0.2.21"], ["6688"])
    assert reasons(planned(TWO), "benchmark")["--host"] == "benchmark-entrance"
    assert "--host" not in reasons(planned(R1), "benchmark")


def test_the_benchmark_puts_an_ipv6_host_into_brackets():
    own = {"r1": {"sglang_data_address": "2001:db8::91"}}
    plan = planned(R1, hosts=own, sglang_router_args={"host": "2001:db8::91"})
    assert bench(plan) == ("r1", ["[2001:db8::91]"], ["6688"])
    assert router(plan)["--host"] == ["2001:db8::91"]


def test_a_benchmark_may_name_the_weights_and_there_may_be_none():
    wanted = profile(ONE)
    groups = groups_for(wanted)
    assert wanted.benchmark is not None
    named = replace(
        wanted, benchmark=replace(wanted.benchmark, args={**wanted.benchmark.args, "model": "<model_path>"})
    )
    plan = compiled(named, groups, variables_for(groups))
    assert flags(plan.benchmark)["--model"] == ["/path/to/model-weights"]
    assert "--model" not in reasons(plan, "benchmark")
    none = compiled(replace(wanted, benchmark=None), groups, variables_for(groups))
    assert none.benchmark is None
    assert none.as_dict()["benchmark"] is None
