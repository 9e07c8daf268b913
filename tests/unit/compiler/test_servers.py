# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers: where they listen, where their ranks meet, which store they know, and why each of it is not the page's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import kept_out, launch_script, plan_service
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import HostFacts, Interface

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
KIMI = "kimi-k2-6-w4a8-1p1d-16p"
ONE = "deepseek-r1-w4a8-8p"
TWO = "kimi-k2-6-w4a8-16p"


def host_of(plan: Any, role: str, instance: int = 0, rank: int = 0) -> tuple[list[Any], str | None]:
    found = reasons(plan, role, instance, rank)
    return flags(service(plan, role, instance, rank))["--host"], found.get("--host")


# Loopback


def test_a_mixed_server_alone_stays_where_the_page_has_it_and_that_is_said():
    plan = planned(ONE)
    assert host_of(plan, "mixed") == (["127.0.0.1"], None)
    assert service(plan, "mixed").url == "http://127.0.0.1:6688"
    assert any(
        one == "sglang-mixed on m1: it listens on 127.0.0.1: it is reachable only from m1. "
        "Set sglang_mixed_args.host to the host's data address for clients on other hosts."
        for one in warnings_of(ONE)
    )


def test_a_mixed_server_with_its_router_beside_it_stays_too():
    plan = planned(ONE, groups={"mixed": ["m1"], "router": ["m1"]})
    assert host_of(plan, "mixed") == (["127.0.0.1"], None)
    assert flags(service(plan, "router"))["--worker-urls"] == ["http://127.0.0.1:6688"]


def test_a_mixed_server_whose_router_is_elsewhere_listens_on_the_data_address():
    plan = planned(ONE, groups={"mixed": ["m1"], "router": ["r1"]})
    assert host_of(plan, "mixed") == (["192.0.2.21"], "clients-on-other-hosts")
    assert flags(service(plan, "router"))["--worker-urls"] == ["http://192.0.2.21:6688"]


def test_nodes_of_one_server_must_reach_one_another():
    plan = planned(TWO)
    for rank, address in ((0, "192.0.2.21"), (1, "192.0.2.22")):
        assert host_of(plan, "mixed", 0, rank) == ([address], "multi-node-address")
    assert not [one for one in warnings_of(TWO) if "reachable only" in one]


def test_a_mixed_server_is_opened_by_the_user():
    for host in ("0.0.0.0", "192.0.2.21", "::"):
        plan = planned(ONE, sglang_mixed_args={"host": host})
        assert host_of(plan, "mixed") == ([host], "override")
        assert service(plan, "mixed").url == "http://192.0.2.21:6688"


def test_a_prefill_that_a_profile_puts_on_loopback_is_reachable_all_the_same():
    wanted = profile(R1)
    args = {**wanted.roles["prefill"].args, "host": "127.0.0.1"}
    own = replace(wanted, roles={**wanted.roles, "prefill": replace(wanted.roles["prefill"], args=args)})
    groups = groups_for(own)
    plan = compiled(own, groups, variables_for(groups))
    assert host_of(plan, "prefill") == (["192.0.2.11"], "clients-on-other-hosts")


@pytest.mark.parametrize(
    ("host", "message"),
    [
        (
            "127.0.0.1",
            "decode-0 rank 0 on d1 must be reachable by other hosts, so not at 127.0.0.1. Leave it out: the ser",
        ),
        (
            "localhost",
            "decode-0 rank 0 on d1 must be reachable by other hosts, so not at localhost. Leave it out: the ser",
        ),
        (
            "192.0.2.99",
            "192.0.2.99 is not the data address of d1 (192.0.2.21). Leave it out, or correct sglang_data_addr",
        ),
        ("<address>", "<address> is not the data address of d1 (192.0.2.21). Leave it out, or correct"),
        (
            "not an address",
            "not an address is not the data address of d1 (192.0.2.21). Leave it out, or correct sglang_",
        ),
    ],
)
def test_a_host_of_the_user_that_clients_cannot_reach_is_refused(host, message):
    errors = errors_of(R1, sglang_decode_args={"host": host})
    assert errors[0].startswith(f"sglang_decode_args.host: {message}")
    assert len(errors) == 2


def test_the_users_host_may_be_each_hosts_own_address():
    assert errors_of(R1, sglang_decode_args={"host": "<data_address>"}) == []


# Ranks and rendezvous


def test_the_ranks_of_an_instance_meet_at_rank_0():
    plan = planned(R1)
    for rank in (0, 1):
        one = flags(service(plan, "decode", 0, rank))
        assert (one["--node-rank"], one["--nnodes"], one["--dist-init-addr"]) == (
            [str(rank)],
            ["2"],
            ["192.0.2.21:5000"],
        )
    assert "--node-rank" not in reasons(plan, "decode", 0, 1)
    assert service(plan, "decode").ports["dist_init"] == 5000
    assert "dist_init" not in service(plan, "decode", 0, 1).ports


def test_what_the_page_of_two_mixed_nodes_leaves_out_is_added():
    plan = planned(TWO)
    for rank in (0, 1):
        one = flags(service(plan, "mixed", 0, rank))
        assert (one["--node-rank"], one["--nnodes"], one["--dist-init-addr"]) == (
            [str(rank)],
            ["2"],
            ["192.0.2.21:5000"],
        )
        declared = reasons(plan, "mixed", 0, rank)
        assert (declared["--node-rank"], declared["--dist-init-addr"]) == ("multi-node-rank", "multi-node-rendezvous")
        assert "--nnodes" not in declared


def test_a_page_of_one_node_keeps_its_rank():
    for name in (R1, W4A8):
        one, page = flags(service(planned(name), "prefill")), profile(name).roles["prefill"].args
        for flag in ("node-rank", "nnodes"):
            assert one.get(f"--{flag}") == ([str(page[flag])] if flag in page else None)


def test_every_rank_of_a_prefill_names_the_bootstrap_port_that_its_head_serves():
    wanted = profile(R1)
    args = {**wanted.roles["prefill"].args, "tp-size": 32}
    own = replace(wanted, roles={**wanted.roles, "prefill": replace(wanted.roles["prefill"], nodes=2, args=args)})
    groups = groups_for(own)
    hosts = variables_for(groups)
    hosts["p3"]["sglang_bootstrap_port"] = 9100
    plan = compiled(own, groups, hosts)
    for index, port in ((0, "8998"), (1, "9100")):
        for rank in (0, 1):
            one = service(plan, "prefill", index, rank)
            assert flags(one)["--disaggregation-bootstrap-port"] == [port]
            assert one.ports.get("bootstrap") == (int(port) if rank == 0 else None)


def test_an_ipv6_rendezvous_is_in_brackets():
    plan = planned(R1, hosts={"d1": {"sglang_data_address": "2001:db8::21"}})
    assert flags(service(plan, "decode", 0, 1))["--dist-init-addr"] == ["[2001:db8::21]:5000"]
    assert flags(service(plan, "decode"))["--host"] == ["2001:db8::21"]
    assert service(plan, "decode").url == "http://[2001:db8::21]:8001"


def test_a_rendezvous_port_of_the_user_is_kept():
    plan = planned(R1, sglang_decode_args={"dist-init-addr": "<head_address>:5100"})
    assert flags(service(plan, "decode", 0, 1))["--dist-init-addr"] == ["192.0.2.21:5100"]
    assert service(plan, "decode").ports["dist_init"] == 5100
    assert service(plan, "decode").port_ranges["dist_init"] == [5101, 5106]
    assert reasons(plan, "decode")["--dist-init-addr"] == "override"


@pytest.mark.parametrize("given", ["192.0.2.99:5000", "192.0.2.22:5000", "127.0.0.1:5000", "nonsense", "d1:5000"])
def test_a_rendezvous_that_is_not_at_rank_0_is_refused(given):
    errors = errors_of(R1, sglang_decode_args={"dist-init-addr": given})
    assert errors
    assert errors[0].startswith(
        f"sglang_decode_args.dist-init-addr: {given} is not at rank 0 of decode-0, d1 (192.0.2.21). "
        "Leave it out, or write <head_address>:"
    )


@pytest.mark.parametrize(
    "given",
    ["192.0.2.21:port", "192.0.2.21:", "<head_address>:x", "<head_address>:5000 ", "tcp://<head_address>:5000"],
)
def test_a_rendezvous_at_rank_0_needs_a_port_and_nothing_else(given):
    errors = errors_of(R1, sglang_decode_args={"dist-init-addr": given})
    filled = given.replace("<head_address>", "192.0.2.21")
    assert errors == [
        f"sglang_decode_args.dist-init-addr: {filled!r} is not written as ADDRESS:PORT, with a number as port. "
        "Leave it out, or write <head_address>:5000 with the port that you want."
    ]


def test_one_node_may_meet_itself_on_loopback():
    plan = planned(W4A8, sglang_decode_args={"dist-init-addr": "127.0.0.1:5100"})
    assert flags(service(plan, "decode"))["--dist-init-addr"] == ["127.0.0.1:5100"]
    assert service(plan, "decode").ports["dist_init"] == 5100
    assert [one for one in service(plan, "decode").port_ranges if one == "dp_attention"] == []


# The store, and what else PD needs


def test_prefill_and_decode_know_one_store_byte_for_byte_and_the_router_none():
    plan = planned(R1)
    urls = {one.env.get("ASCEND_MF_STORE_URL") for one in plan.services if one.npus}
    assert urls == {"tcp://192.0.2.11:24670"}
    assert "ASCEND_MF_STORE_URL" not in service(plan, "router").env
    assert [one.host for one in plan.services if "store" in one.ports] == ["p1"]


def test_the_first_prefill_holds_the_store_whichever_it_is():
    groups = {**groups_for(profile(R1)), "prefill": ["p2", "p1"]}
    holder = service(planned(R1, groups=groups), "prefill")
    assert holder.host == "p2"
    assert holder.env["ASCEND_MF_STORE_URL"] == f"tcp://{holder.url[7:].rpartition(':')[0]}:24670"


def test_a_dedicated_store_is_a_service_of_its_own_at_the_router():
    plan = planned(R1, sglang_store="dedicated")
    store = service(plan, "store")
    assert plan.services[0] == store
    assert (store.host, store.unit, store.ports, store.npus) == (
        "r1",
        "sglang-store",
        {"store": 24670, "guard": 29100},
        None,
    )
    assert store.argv == ("python3", "-m", "memfabric_hybrid.launch_ascend_mf_store")
    assert store.env == {"ASCEND_MF_STORE_URL": "tcp://192.0.2.91:24670"}
    assert store.source == profile(R1).roles["prefill"].source
    for one in plan.services[1:]:
        assert one.env.get("ASCEND_MF_STORE_URL") == ("tcp://192.0.2.91:24670" if one.npus else None)
        assert "store" not in one.ports
    assert reasons(plan, "decode")["ASCEND_MF_STORE_URL"] == "override"


def test_mixed_servers_need_no_store():
    plan = planned(ONE, sglang_store="dedicated")
    assert [one.role for one in plan.services] == ["mixed"]
    assert "ASCEND_MF_STORE_URL" not in service(plan, "mixed").env


MOONCAKE = {"disaggregation-transfer-backend": "mooncake"}


@pytest.mark.parametrize("named", [MOONCAKE, {"disaggregation-transfer-backend": None}])
@pytest.mark.parametrize("place", ["prefill", "dedicated"])
def test_another_transfer_backend_has_no_store(named, place):
    plan = planned(R1, sglang_prefill_args=named, sglang_decode_args=named, sglang_store=place)
    assert {one.role for one in plan.services} == {"prefill", "decode", "router"}
    assert [one.host for one in plan.services if "store" in one.ports] == []
    # What the page exports stays as it has it, and nobody reads it.
    assert service(plan, "decode").env["ASCEND_MF_STORE_URL"] == "tcp://192.0.2.11:24670"
    said = [str(one) for one in plan.findings if one.check == "store"]
    assert [text.partition(":")[0] for text in said] == (["sglang_store"] if place == "dedicated" else [])


def test_a_store_whose_port_is_taken_moves_for_everybody():
    plan = planned(
        R1,
        sglang_store="dedicated",
        sglang_router_args={"mini-lb": False, "prometheus-port": 24671},
        groups={**groups_for(profile(R1)), "router": ["p1"]},
    )
    assert service(plan, "store").ports["store"] == 24670
    (error,) = errors_of(R1, sglang_store="dedicated", sglang_router_args={"port": 24670})
    assert error.startswith(
        "host r1: port 24670 is wanted by router (http, set by sglang_router_args.port) and by store ("
    )


def test_the_transfer_backend_that_a_page_forgot_is_added():
    name = "kimi-k2-6-w4a8-1p1d-24p"
    plan = planned(name)
    for role in ("prefill", "decode"):
        assert flags(service(plan, role))["--disaggregation-transfer-backend"] == ["ascend"]
        assert reasons(plan, role)["--disaggregation-transfer-backend"] == "transfer-backend"
    assert "--disaggregation-transfer-backend" not in reasons(planned(R1), "prefill")


@pytest.mark.parametrize("role", ["prefill", "decode"])
@pytest.mark.parametrize("named", [MOONCAKE, {"disaggregation-transfer-backend": None}])
def test_prefill_and_decode_use_one_transfer_backend(role, named):
    (error,) = errors_of(R1, **{f"sglang_{role}_args": named})
    other = {"prefill": "decode", "decode": "prefill"}[role]
    assert f"{role} ha" in error
    assert f"{other} ha" in error
    assert error.endswith("Set disaggregation-transfer-backend in both to the same, or in neither.")
    # What the page forgot is added to the one that the user did not set.
    name = "kimi-k2-6-w4a8-1p1d-24p"
    assert len(errors_of(name, **{f"sglang_{role}_args": MOONCAKE})) == 1
    same = {"disaggregation-transfer-backend": "ascend"}
    assert errors_of(name, **{f"sglang_{role}_args": same}) == []


def test_a_user_may_leave_the_transfer_backend_to_the_engine():
    named = {"disaggregation-transfer-backend": None}
    plan = planned(R1, sglang_prefill_args=named, sglang_decode_args=named)
    assert "--disaggregation-transfer-backend" not in flags(service(plan, "decode"))
    assert reasons(plan, "decode")["--disaggregation-transfer-backend"] == "override"


def test_peers_are_told_the_data_address():
    plan = planned(R1)
    for one in plan.services:
        if one.npus:
            assert one.env["SGLANG_HOST_IP"] == flags(one)["--host"][0]
    assert "SGLANG_HOST_IP" not in service(planned(ONE), "mixed").env


def test_sockets_use_the_interface_of_the_data_address_on_every_host():
    plan = planned(R1, hosts={"d2": {"sglang_interface": "enp23s0f3"}})
    assert {one.host: one.env["HCCL_SOCKET_IFNAME"] for one in plan.services if one.npus} == {
        "p1": "bond0",
        "p2": "bond0",
        "d1": "bond0",
        "d2": "enp23s0f3",
    }
    assert all(one.env["HCCL_SOCKET_IFNAME"] == one.env["GLOO_SOCKET_IFNAME"] for one in plan.services if one.npus)


# ZBAL


def zbal(nodes: int, **changes: Any) -> Any:
    """Kimi 16P, whose page has ZBAL on its prefill, with prefill instances of this many nodes."""
    wanted = profile(KIMI)
    body = replace(wanted.roles["prefill"], nodes=nodes, args={**wanted.roles["prefill"].args, "tp-size": 16 * nodes})
    own = replace(wanted, roles={**wanted.roles, "prefill": body})
    groups = groups_for(own)
    return compiled(own, groups, variables_for(groups, **changes))


URL = "SGLANG_ZBAL_BOOTSTRAP_URL"


def test_zbal_of_one_node_is_on_loopback_as_on_the_page():
    plan = zbal(1)
    assert service(plan, "prefill").env[URL] == "tcp://127.0.0.1:24699"
    assert URL not in reasons(plan, "prefill")


def test_zbal_of_several_nodes_is_at_rank_0():
    plan = zbal(2)
    for rank in (0, 1):
        assert service(plan, "prefill", 0, rank).env[URL] == "tcp://192.0.2.11:24699"
        assert reasons(plan, "prefill", 0, rank)[URL] == "zbal-multi-node"


def test_a_zbal_port_of_the_user_is_kept():
    plan = zbal(2, sglang_prefill_env={URL: "tcp://<head_address>:24800"})
    assert service(plan, "prefill", 0, 1).env[URL] == "tcp://192.0.2.11:24800"
    assert service(plan, "prefill").ports["zbal"] == 24800
    assert reasons(plan, "prefill")[URL] == "override"


@pytest.mark.parametrize("given", ["tcp://127.0.0.1:24800", "tcp://192.0.2.99:24699", "tcp://PIP:PORT", "x"])
def test_a_zbal_address_that_is_not_rank_0s_is_refused(given):
    found = [str(one) for one in zbal(2, sglang_prefill_env={URL: given}).findings if one.level == "error"]
    assert found[0].startswith(f"sglang_prefill_env.{URL}: {given} is not at rank 0 of prefill-0, p1 (192.0.2.11). ")


@pytest.mark.parametrize("given", ["tcp://<head_address>:x", "http://<head_address>:24699", "<head_address>:24699"])
def test_a_zbal_url_at_rank_0_is_written_as_one(given):
    found = [str(one) for one in zbal(2, sglang_prefill_env={URL: given}).findings if one.level == "error"]
    filled = given.replace("<head_address>", "192.0.2.11")
    assert found == [
        f"sglang_prefill_env.{URL}: {filled!r} is not written as tcp://ADDRESS:PORT, with a number as port. "
        "Leave it out, or write tcp://<head_address>:24699 with the port that you want."
    ]


# What is kept out, and where CANN is


def test_variables_that_would_redirect_a_service_are_unset_everywhere():
    plan = planned(R1)
    for one in plan.services:
        assert {"http_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} <= set(one.unset)
        assert (set(kept_out.OF_ENGINES) <= set(one.unset)) == bool(one.npus)
        assert len(one.unset) == len(set(one.unset))


def test_a_profile_of_ones_own_sets_none_of_them_and_the_plan_says_so():
    wanted = profile(R1)
    given = {"HOST_IP": "<data_address>", "HCCL_IF_IP": "192.0.2.1", "http_proxy": "http://x", "OTHER": "1"}
    roles = {role: replace(body, env={**body.env, **given}) for role, body in wanted.roles.items()}
    assert wanted.benchmark is not None
    asks = replace(wanted.benchmark, env={**wanted.benchmark.env, "HTTPS_PROXY": "http://x"})
    groups = groups_for(wanted)
    plan = compiled(replace(wanted, roles=roles, benchmark=asks), groups, variables_for(groups))
    for one in plan.services:
        assert one.env["OTHER"] == "1"
        assert not set(one.unset) & set(one.env)
    assert plan.benchmark is not None
    assert "HTTPS_PROXY" not in plan.benchmark.env
    dropped = {(one.role, one.name, one.page, one.rendered) for one in plan.deviations
               if one.kind == "env" and one.reason == "environment-kept-out"}  # fmt: skip
    assert {("decode", "HOST_IP", "192.0.2.21", None), ("router", "http_proxy", "http://x", None)} <= dropped
    assert ("benchmark", "HTTPS_PROXY", "http://x", None) in dropped
    assert {(role, name) for role, name, _page, _plan in dropped} == {
        *((role, name) for role in ("prefill", "decode") for name in ("HOST_IP", "HCCL_IF_IP", "http_proxy")),
        ("router", "http_proxy"),
        ("benchmark", "HTTPS_PROXY"),
    }


def test_cann_is_sourced_where_the_host_has_it():
    page = "/usr/local/Ascend/ascend-toolkit/set_env.sh"
    seen = HostFacts(
        interfaces={"bond0": Interface("bond0", ("192.0.2.11",), True)},
        sources={page: "/opt/my ascend/cann/set_env.sh"},
    )
    plan = planned(R1, facts={"p1": seen})
    assert service(plan, "prefill").source[0] == "/opt/my ascend/cann/set_env.sh"
    assert service(plan, "prefill", 1).source[0] == page
    moved = [one for one in plan.deviations if one.kind == "source"]
    assert [(one.host, one.page, one.rendered, one.reason) for one in moved] == [
        ("p1", page, None, "cann-location"),
        ("p1", None, "/opt/my ascend/cann/set_env.sh", "cann-location"),
    ]


@pytest.mark.parametrize("given", [0, "0", "1"])
def test_a_pinned_abi_is_part_of_every_service_that_sources_atb(given):
    plan = planned(R1, sglang_cxx_abi=given, sglang_store="dedicated")
    pins = {one.role: one.as_dict().get("cxx_abi", "none") for one in plan.services}
    assert pins == {"store": str(given), "prefill": str(given), "decode": str(given), "router": "none"}
    for one in plan.services:
        parsed = plan_service.parse(one.as_dict())
        assert (f"--cxx_abi={given}" in launch_script.render(parsed, "/x")) == (one.role != "router")
        # A role's own option does not win over the plan, which restart, status and the proof know too.
        assert launch_script.render(parsed, "/x", "1" if str(given) == "0" else "0").count(f"--cxx_abi={given}") == (
            one.role != "router"
        )
    assert not any("cxx_abi" in one.as_dict() for one in planned(R1).services)
    (error,) = errors_of(R1, sglang_cxx_abi="2")
    assert "sglang_cxx_abi: '2' is none of 0, 1" in error


def test_a_key_stands_by_name_everywhere_and_with_its_reason():
    plan = planned(R1, api_key=True, sglang_router_args={"mini-lb": False})
    for one in plan.services:
        assert flags(one)["--api-key"] == [{"secret": "api_key"}]
    assert reasons(plan, "decode")["--api-key"] == reasons(plan, "router")["--api-key"] == "override"
    assert plan.benchmark is not None
    assert plan.benchmark.env["OPENAI_API_KEY"] == {"secret": "api_key"}
    assert not any("--api-key" in one.argv for one in planned(R1).services)


def test_paths_are_absolute_and_there():
    for value, words in (
        (
            None,
            "sglang_model_path: is not set. Profile deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms needs the directory",
        ),
        ("", "sglang_model_path: is not set. "),
        ("models/r1", "sglang_model_path: 'models/r1' is no absolute path on the hosts. "),
        ("/models/r1\n", "sglang_model_path: '/models/r1\\n' is no absolute path on the hosts. "),
        ("/models/r1 ", "sglang_model_path: '/models/r1 ' is no absolute path on the hosts. "),
        ("<model_path>", "sglang_model_path: '<model_path>' is no absolute path on the hosts. "),
    ):
        (error,) = errors_of(R1, sglang_model_path=value)
        assert error.startswith(words)
        assert error.endswith("set it, for example to /models/DeepSeek-R1-W8A8.")


def test_a_draft_model_is_needed_where_the_page_has_one_and_never_added():
    (error,) = errors_of(TWO, sglang_draft_model_path=None)
    assert error.startswith("sglang_draft_model_path: is not set. ")
    assert errors_of(R1, sglang_draft_model_path=None) == []
    assert not any("draft-model-path" in str(one.argv) for one in planned(R1).services)
