# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports and NPUs: one owner each on a host; the page's give way, the user's do not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.allocation import (
    NpuClaim,
    Piece,
    PortClaim,
    place_npus,
    place_ports,
)
from hypothesis import given
from hypothesis import strategies as st

from .cluster import compiled, errors_of, flags, planned, profile, reasons, service, variables_for

R1 = "deepseek-r1-w8a8-2p1d"
W4A8 = "deepseek-r1-w4a8-1p1d"
SHARED = {"prefill": ["n1"], "decode": ["n1"], "router": ["n1"]}
HTTP = (Piece("http"),)


def claim(owner: str, base: int, *pieces: Piece, user_set: str = "", step: int = 1) -> PortClaim:
    return PortClaim("n1", owner, base, pieces or HTTP, user_set, step)


def placed(*claims: PortClaim) -> dict[str, dict[str, int]]:
    ports, findings = place_ports(claims)
    assert findings == []
    return {
        owner: {**one.ports, **{name: first for name, (first, _unused) in one.ranges.items()}}
        for (_unused, owner), one in ports.items()
    }


def refused(*claims: PortClaim) -> list[str]:
    return [str(one) for one in place_ports(claims)[1]]


def test_what_does_not_collide_stays():
    assert placed(claim("a", 8000), claim("b", 8001)) == {"a": {"http": 8000}, "b": {"http": 8001}}


def test_the_later_one_gives_way_upwards():
    assert placed(claim("a", 8000), claim("b", 8000), claim("c", 8000)) == {
        "a": {"http": 8000},
        "b": {"http": 8001},
        "c": {"http": 8002},
    }


def test_nothing_moves_onto_what_could_stay():
    assert placed(claim("a", 8000), claim("b", 8000), claim("c", 8001)) == {
        "a": {"http": 8000},
        "c": {"http": 8001},
        "b": {"http": 8002},
    }


def test_ports_that_belong_together_move_together():
    pieces = (Piece("http"), Piece("dp_attention", 233, 7))
    assert placed(claim("a", 8000, *pieces), claim("b", 8001, *pieces)) == {
        "a": {"http": 8000, "dp_attention": 8233},
        "b": {"http": 8007, "dp_attention": 8240},
    }


def test_a_range_moves_by_its_length():
    hccl = Piece("hccl", 0, 16)
    assert placed(claim("a", 60000, hccl, step=16), claim("b", 60000, hccl, step=16)) == {
        "a": {"hccl": 60000},
        "b": {"hccl": 60016},
    }


@pytest.mark.parametrize("user_first", [True, False])
def test_what_a_user_set_does_not_move_and_nothing_moves_for_it(user_first):
    mine, page = claim("a", 8000, user_set="sglang_decode_args.port"), claim("b", 8000)
    assert refused(*((mine, page) if user_first else (page, mine))) == [
        "host n1: port 8000 is wanted by a (http, set by sglang_decode_args.port) and by b (http). "
        "Set one of them to another port."
    ]


def test_two_ports_of_the_user_clash_with_both_settings_named():
    assert refused(claim("a", 8000, user_set="x.port"), claim("b", 8000, user_set="y.port")) == [
        "host n1: port 8000 is wanted by a (http, set by x.port) and by b (http, set by y.port). "
        "Set one of them to another port."
    ]


@pytest.mark.parametrize(("base", "port"), [(0, 0), (-5, -5), (65536, 65536), (65400, 65633)])
def test_a_number_that_is_no_port_is_refused(base, port):
    pieces = (Piece("http"), *([Piece("dp_attention", 233, 7)] if base == 65400 else []))
    assert f"would listen on port {port}. Choose a port from 1 to 65535." in refused(claim("a", base, *pieces))[0]


def test_a_port_on_another_host_is_another_port():
    ports, findings = place_ports([claim("a", 8000), PortClaim("n2", "b", 8000, HTTP)])
    assert findings == []
    assert {one.ports["http"] for one in ports.values()} == {8000}


@given(st.lists(st.tuples(st.integers(8000, 8030), st.integers(0, 3), st.booleans()), max_size=12))
def test_claims_are_placed_without_collision_or_refused(drawn):
    claims = [
        PortClaim(
            "n1", f"s{number}", base, (Piece("http"), *([Piece("more", 20, size)] if size > 1 else [])), "x" * user
        )
        for number, (base, size, user) in enumerate(drawn)
    ]
    ports, findings = place_ports(claims)
    used: list[int] = []
    for one in ports.values():
        used += [*one.ports.values(), *(port for first, last in one.ranges.values() for port in range(first, last + 1))]
    assert len(used) == len(set(used))
    assert all(ports[("n1", one.owner)].ports["http"] == one.base for one in claims if one.user_set and not findings)
    assert findings or len(ports) == len(claims)


# In plans


def test_prefill_and_decode_on_one_host_get_ports_of_their_own():
    plan = planned(W4A8, groups=SHARED, sglang_npus=32)
    prefill, decode = service(plan, "prefill"), service(plan, "decode")
    taken = [*prefill.ports.values(), *decode.ports.values(), *service(plan, "router").ports.values()]
    assert len(taken) == len(set(taken))
    assert prefill.ports["http"] == 8000
    # With 8001 the ports 8234 to 8240 would be derived, and prefill has 8233 to 8239.
    assert (prefill.port_ranges["dp_attention"], decode.port_ranges["dp_attention"]) == ([8233, 8239], [8240, 8246])
    assert decode.ports["http"] == 8007
    assert prefill.port_ranges["hccl"] == [60000, 60015]
    assert decode.port_ranges["hccl"] == [60016, 60031]
    assert decode.env["HCCL_IF_BASE_PORT"] == "60016"
    assert reasons(plan, "decode")["HCCL_IF_BASE_PORT"] == "port-moved"
    assert "HCCL_IF_BASE_PORT" not in prefill.env


def test_zbal_of_two_instances_on_one_host_is_at_two_ports():
    wanted = profile("kimi-k2-6-w4a8-1p1d-16p")
    zbal = {"SGLANG_ZBAL_BOOTSTRAP_URL": wanted.roles["prefill"].env["SGLANG_ZBAL_BOOTSTRAP_URL"]}
    decode = replace(wanted.roles["decode"], env={**wanted.roles["decode"].env, **zbal})
    both = replace(wanted, roles={**wanted.roles, "decode": decode})
    plan = compiled(both, SHARED, variables_for(SHARED, sglang_npus=32))
    assert service(plan, "prefill").env["SGLANG_ZBAL_BOOTSTRAP_URL"] == "tcp://127.0.0.1:24699"
    assert service(plan, "decode").env["SGLANG_ZBAL_BOOTSTRAP_URL"] == "tcp://127.0.0.1:24700"
    assert reasons(plan, "decode")["SGLANG_ZBAL_BOOTSTRAP_URL"] == "port-moved"


def test_a_moved_port_is_a_deviation_and_the_router_knows_it():
    plan = planned(W4A8, groups=SHARED, sglang_npus=32)
    moved = next(one for one in plan.deviations if (one.role, one.name) == ("decode", "--port"))
    assert (moved.page, moved.rendered, moved.reason) == (["8001"], ["8007"], "port-moved")
    listed = next(one for one in plan.deviations if (one.role, one.name) == ("router", "--decode"))
    address = service(plan, "decode").url.rpartition(":")[0]
    assert (listed.page, listed.rendered) == ([[f"{address}:8001"]], [[f"{address}:8007"]])
    assert listed.reason == "port-moved"


def test_the_users_router_port_on_a_servers_is_an_error_with_both_owners():
    errors = errors_of(
        R1,
        groups={"prefill": ["n1", "p2"], "decode": ["d1", "d2"], "router": ["n1"]},
        sglang_router_args={"port": 8000},
    )
    assert errors == [
        "host n1: port 8000 is wanted by router (http, set by sglang_router_args.port) and by "
        "prefill-0 (http, dp_attention). Set one of them to another port."
    ]


def test_the_routers_own_two_ports_may_not_be_one():
    args = {"mini-lb": False, "port": 29000, "prometheus-port": 29000}
    (error,) = errors_of(R1, sglang_router_args=args)
    assert error.startswith(
        "host r1: port 29000 is wanted by router (http, set by sglang_router_args.port) and by router"
    )


def test_a_bootstrap_port_of_the_user_counts_and_may_clash():
    plan = planned(R1, hosts={"p2": {"sglang_bootstrap_port": 9100}})
    assert [one.bootstrap_port for one in plan.instances] == [8998, 9100, None]
    assert flags(service(plan, "router"))["--prefill"] == [
        "http://192.0.2.11:8000",
        "8998",
        "http://192.0.2.12:8000",
        "9100",
    ]
    assert reasons(plan, "prefill", 1)["--disaggregation-bootstrap-port"] == "override"
    assert reasons(plan, "router")["--prefill"] == "override"
    (error,) = errors_of(R1, hosts={"p2": {"sglang_bootstrap_port": 8000}})
    assert error.startswith(
        "host p2: port 8000 is wanted by prefill-1 (bootstrap, set by sglang_bootstrap_port) and by "
    )


def test_a_port_of_the_user_that_is_no_port_is_refused():
    first, second = errors_of(R1, sglang_decode_args={"port": 0})
    assert first.startswith("host d1: decode-0 rank 0 (http, set by sglang_decode_args.port) would listen on port 0. ")
    assert second.startswith("host d2: decode-0 rank 1 (http, set by sglang_decode_args.port) would listen on port 0. ")


# NPUs


def npus(*claims: NpuClaim, have: int = 16) -> dict[str, tuple[int, int]]:
    found, findings = place_npus(claims, {"n1": have})
    assert findings == []
    return {owner: span for (_unused, owner), span in found.items()}


def test_npus_are_given_out_in_order():
    assert npus(NpuClaim("n1", "a", 4), NpuClaim("n1", "b", 8)) == {"a": (0, 3), "b": (4, 11)}


def test_a_user_may_say_where_they_begin():
    assert npus(NpuClaim("n1", "a", 4), NpuClaim("n1", "b", 4, first=2)) == {"b": (2, 5), "a": (6, 9)}


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        (
            (NpuClaim("n1", "a", 16), NpuClaim("n1", "b", 16)),
            "host n1: a 16 and b 16 NPUs do not fit: together 32, and the host has 16. "
            "Give the services hosts of their own, or correct sglang_npus if the host has more.",
        ),
        (
            (NpuClaim("n1", "a", 8, first=0), NpuClaim("n1", "b", 8, first=4)),
            "host n1: b wants NPUs 4 to 11, and a has some of them. Correct base-gpu-id, or leave it out.",
        ),
        (
            (NpuClaim("n1", "a", 8, first=12),),
            "host n1: a wants NPUs 12 to 19, and the host has 16, counted from 0. "
            "Correct base-gpu-id, or leave it out.",
        ),
        (
            (NpuClaim("n1", "a", 8, first=-1),),
            "host n1: a wants NPUs -1 to 6, and the host has 16, counted from 0. Correct base-gpu-id, or leave it out.",
        ),
    ],
)
def test_npus_that_do_not_fit_are_refused(claims, message):
    assert [str(one) for one in place_npus(claims, {"n1": 16})[1]] == [message]


def test_a_host_in_prefill_and_decode_without_room_for_both_is_refused():
    assert errors_of(W4A8, groups={**SHARED, "router": ["r1"]}) == [
        "host n1: prefill-0 16 and decode-0 16 NPUs do not fit: together 32, and the host has 16. "
        "Give the services hosts of their own, or correct sglang_npus if the host has more."
    ]


def test_a_host_with_room_for_both_tells_each_where_its_npus_begin():
    plan = planned(W4A8, groups=SHARED, sglang_npus=32)
    assert service(plan, "prefill").npus == (0, 15)
    assert service(plan, "decode").npus == (16, 31)
    assert flags(service(plan, "decode"))["--base-gpu-id"] == ["16"]
    assert "--base-gpu-id" not in flags(service(plan, "prefill"))
    assert reasons(plan, "decode")["--base-gpu-id"] == "npu-range"


def test_servers_on_part_of_a_node_share_it():
    half = {"tp-size": 8, "dp-size": 1, "enable-dp-attention": None, "max-running-requests": 16}
    plan = planned(
        W4A8, groups=SHARED, sglang_prefill_args=half, sglang_decode_args={**half, "moe-dense-tp-size": None}
    )
    assert [service(plan, role).npus for role in ("prefill", "decode")] == [(0, 7), (8, 15)]


def test_every_other_npu_takes_twice_the_room():
    args = {"tp-size": 4, "gpu-id-step": 2, "dp-size": 1, "enable-dp-attention": None, "max-running-requests": 8}
    plan = planned(W4A8, sglang_prefill_args=args)
    assert service(plan, "prefill").npus == (0, 6)
