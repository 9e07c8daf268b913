# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who connects to whom, what hosts are asked for it, and what they connect to in the end."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import connections
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.edges import Edge, edges
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.questions import listening_seconds, questions

from .good import KIMI, MIXED, Cluster, plan_of, settings

KIMI_MIXED = "kimi-k2-6-w4a8-16p-in64k-out1k-100ms"


def of(plan: Plan, *purposes: str) -> set[str]:
    """Edges as texts: `d1 > p1:24670`."""
    return {f"{one.source} > {one.target}:{one.port}" for one in edges(plan.services) if one.purpose in purposes}


def test_everybody_to_the_store():
    assert of(plan_of(), "store") == {"p2 > p1:24670", "d1 > p1:24670", "d2 > p1:24670"}


def test_a_dedicated_store_is_on_the_routers_host():
    found = of(plan_of(sglang_store="dedicated"), "store")
    assert found == {f"{host} > r1:24670" for host in ("p1", "p2", "d1", "d2")}


def test_ranks_to_the_rendezvous_of_their_rank_0():
    assert of(plan_of(), "dist_init") == {f"d2 > d1:{port}" for port in range(5000, 5007)}


def test_decodes_to_every_bootstrap_server():
    found = of(plan_of(), "bootstrap")
    assert found == {f"{decode} > {to}" for decode in ("d1", "d2") for to in ("p1:8998", "p2:8999")}


def test_the_hand_over_both_ways():
    found = of(plan_of(), "hand-over")
    pairs = [(prefill, decode) for prefill in ("p1", "p2") for decode in ("d1", "d2")]
    assert found == {f"{a} > {b}:20000" for one in pairs for a, b in (one, one[::-1])}


def test_hccl_among_the_ranks():
    assert of(plan_of(), "hccl") == {"d1 > d2:60000", "d2 > d1:60000"}


def test_the_router_to_every_head():
    found = {text for text in of(plan_of(), "http") if text.startswith("r1")}
    assert found == {"r1 > p1:8000", "r1 > p2:8000", "r1 > d1:8001"}


def test_guards_to_those_that_they_watch():
    found = of(plan_of(), "guard")
    # Rank 0 of an instance follows the store's holder, other ranks their rank 0, which sees to them.
    assert found == {"p2 > p1:29100", "d1 > p1:29100", "d2 > d1:29100", "d1 > d2:29100"}
    assert of(plan_of(sglang_guard=False), "guard") == set()


def test_zbal_and_mixed_instances():
    plan = plan_of(KIMI_MIXED)
    assert of(plan, "dist_init") == {f"m2 > m1:{port}" for port in range(5000, 5007)}
    zbal = [one for one in plan.services if "zbal" in one.ports]
    assert of(plan, "zbal") == {f"m2 > m1:{one.ports['zbal']}" for one in zbal if one.host == "m1"}


def test_prefill_ranks_tell_their_bootstrap_server():
    groups = {"prefill": ["p1"], "decode": ["d1", "d2"], "router": ["r1"]}
    services = list(plan_of(KIMI, groups=groups).services)
    head = next(one for one in services if one.role == "prefill")
    second = type(head)(**{**vars(head), "host": "p2", "rank": 1, "nnodes": 2, "ports": {"http": 8000}, "guard": None})
    first = type(head)(**{**vars(head), "nnodes": 2})
    found = edges([first, second])
    assert [one.port for one in found if one.purpose == "bootstrap"] == [8998]


def test_nobody_connects_to_itself_and_nothing_twice():
    groups = {"prefill": ["n1", "n2"], "decode": ["d1", "d2"], "router": ["n1"]}
    found = edges(plan_of(groups=groups).services)
    assert all(one.source != one.target for one in found)
    assert len({(one.source, one.target, one.port) for one in found}) == len(found)


def test_one_host_has_no_edges():
    assert edges(plan_of(MIXED).services) == ()


# Questions


def asked(plan: Plan, *hosts: str, **given: Any) -> dict[str, Any]:
    addresses = {one.host: f"203.0.113.{number}" for number, one in enumerate(plan.services, start=1)}
    names = hosts or tuple(addresses)
    return questions(plan.services, edges(plan.services), addresses, settings(**given), names, 64)


def test_listeners_and_whom_they_wait_for():
    found = asked(plan_of())["p1"]
    store = next(one for one in found["listen"] if one["port"] == 24670)
    assert store["expect"] == ["p2", "d1", "d2"]
    assert (store["unit"], store["lasting"]) == ("sglang-prefill", True)
    hand_over = next(one for one in found["listen"] if one["port"] == 20000)
    assert not hand_over["lasting"]
    assert asked(plan_of())["r1"]["listen"] == []


def test_hosts_outside_of_the_limit_are_neither_asked_nor_waited_for():
    found = asked(plan_of(), "p1", "d1")
    assert set(found) == {"p1", "d1"}
    assert {name for one in found["p1"]["listen"] for name in one["expect"]} == {"d1"}


def test_what_else_hosts_are_asked():
    found = asked(plan_of(KIMI))
    assert found["p1"]["users"] == ["root"]
    assert found["p1"]["links"] == list(range(16))
    assert found["d1"]["weights"] == ["/models/main", "/models/draft"]
    assert (found["r1"]["users"], found["r1"]["npus"], found["r1"]["links"]) == ([""], False, [])
    assert asked(plan_of(KIMI), sglang_user="sglang")["r1"]["users"] == ["sglang"]
    assert asked(plan_of(MIXED))["m1"]["links"] == []


def test_where_services_write():
    """Each directory may be a mount of its own, below /var/log and its like too."""
    found = asked(plan_of(sglang_store="dedicated"))["r1"]["directories"]
    units = ("sglang-store", "sglang-router")
    own = {f"/var/{kind}/ascend-sglang/{unit}" for unit in units for kind in ("lib", "cache", "log")}
    assert set(found) == {*own, "/tmp"}


@pytest.mark.parametrize(("hosts", "forks", "seconds"), [(5, 64, 20), (64, 64, 20), (65, 64, 24), (64, 5, 68)])
def test_how_long_listeners_stay(hosts: int, forks: int, seconds: int):
    assert listening_seconds(hosts, forks) == seconds


# Targets


def targets(cluster: Cluster, *sources: str) -> set[str]:
    found = connections.targets_by_host(edges(cluster.plan.services), cluster.answers, cluster.addresses, sources)
    return {
        f"{host} > {one['host']}:{one['port']}{'' if one['greets'] else ' (running)'}"
        for host, own in found.items()
        for one in own
    }


def run(cluster: Cluster, host: str, *ports: int, state: str = "active") -> None:
    """Let the services of a host run, and listen on these ports."""
    own = [one for one in cluster.plan.services if one.host == host]
    cluster[host]["units"] = {one.unit: {"active": state} for one in own}
    cluster[host]["listeners"] = [
        {"address": "x", "port": port, "pid": 1, "command": "", "unit": own[0].unit} for port in ports
    ]
    cluster.looked(host)["throwaway"] = {}


def test_before_anything_runs_all_edges_are_tried():
    cluster = Cluster()
    assert len(targets(cluster)) == len(edges(cluster.plan.services))


def test_when_everything_runs_nothing_is_tried_by_a_deployment():
    cluster = Cluster()
    for host in cluster.answers:
        run(cluster, host, 8000, 8001, 8998, 8999, 24670, 5000)
    assert connections.starting(cluster.plan.services, cluster.answers) == set()
    assert targets(cluster) == set()


def test_running_services_are_connected_to_where_it_does_no_harm():
    cluster = Cluster()
    for host in cluster.answers:
        run(cluster, host, 8000, 8001, 8998, 8999, 24670, 5000)
    found = targets(cluster, *cluster.answers)
    assert {"r1 > p1:8000 (running)", "d1 > p1:8998 (running)"} <= found
    assert not [one for one in found if ":24670" in one or ":5000" in one]
    kept = connections.undisturbed(edges(cluster.plan.services), cluster.answers)
    assert {(one.target, one.port) for one in kept} == {("p1", 24670), ("d1", 5000)}


def test_a_host_that_will_start_something_tries_what_runs_elsewhere():
    cluster = Cluster()
    for host in cluster.answers:
        run(cluster, host, 8000, 8001, 8998, 8999, state="active" if host != "r1" else "failed")
    starting = connections.starting(cluster.plan.services, cluster.answers)
    assert starting == {"r1"}
    assert targets(cluster, *starting) == {f"r1 > {to} (running)" for to in ("p1:8000", "p2:8000", "d1:8001")}


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda facts: None, "listener"),
        (lambda facts: facts["preflight"]["throwaway"].pop("8998"), "unknown"),
        (lambda facts: facts.pop("preflight"), "unknown"),
    ],
)
def test_what_stands_at_a_port(spoil: Any, expected: str):
    cluster = Cluster()
    spoil(cluster["p1"])
    edge = Edge("d1", "p1", 8998, "bootstrap", "sglang-prefill")
    assert connections.state(edge, cluster.answers) == expected


def test_a_taken_port_is_not_tried():
    cluster = Cluster()
    cluster.looked("p1")["throwaway"]["8998"] = "Address already in use"
    cluster["p1"]["listeners"] = [{"address": "0.0.0.0", "port": 8998, "pid": 1, "command": "x", "unit": None}]
    edge = Edge("d1", "p1", 8998, "bootstrap", "sglang-prefill")
    assert connections.state(edge, cluster.answers) == "taken"
    assert not [one for one in targets(cluster) if one.endswith("p1:8998")]


def test_hosts_that_did_not_answer_have_no_part():
    cluster = Cluster()
    del cluster.answers["p1"]
    assert not [one for one in targets(cluster, *cluster.answers) if "p1" in one]
