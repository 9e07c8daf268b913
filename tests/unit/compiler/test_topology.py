# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instances out of groups: sizes fit exactly, order decides, pins decide before order."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.topology import instance_counts
from hypothesis import given
from hypothesis import strategies as st

from .cluster import errors_of, planned, profile

R1 = "deepseek-r1-w8a8-2p1d"
NAME = "deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms"


def groups(prefill: str = "p1 p2", decode: str = "d1 d2") -> dict[str, list[str]]:
    return {"prefill": prefill.split(), "decode": decode.split(), "router": ["r1"]}


def nodes(role: str, **changes: Any) -> list[tuple[str, ...]]:
    return [one.nodes for one in planned(R1, **changes).instances if one.role == role]


def test_2p1d_counts_instances_and_the_order_of_the_group_is_the_rank():
    assert nodes("prefill", groups=groups()) == [("p1",), ("p2",)]
    assert nodes("decode", groups=groups()) == [("d1", "d2")]
    assert nodes("decode", groups=groups(decode="d2 d1")) == [("d2", "d1")]
    assert nodes("prefill", groups=groups(prefill="node10 node9")) == [("node10",), ("node9",)]


def test_a_profile_is_replicated_by_instances():
    more = {"sglang_instances": {"decode": 2, "prefill": "3"}}
    assert nodes("decode", groups=groups("p1 p2 p3", "d1 d2 d3 d4"), **more) == [("d1", "d2"), ("d3", "d4")]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            groups(decode="d1 d2 d3"),
            f"decode hosts: profile {NAME} runs 1 decode instance of 2 nodes, so 2 hosts, and the group has 3 "
            "(d1, d2, d3). Change the group, or set sglang_instances to another number of decode instances.",
        ),
        (
            groups(decode="d1"),
            f"decode hosts: profile {NAME} runs 1 decode instance of 2 nodes, so 2 hosts, and the group has 1 (d1). "
            "Change the group, or set sglang_instances to another number of decode instances.",
        ),
        (
            groups(decode="d1 d2 d3 d4"),
            f"decode hosts: profile {NAME} runs 1 decode instance of 2 nodes, so 2 hosts, and the group has 4 "
            "(d1, d2, d3, d4). Change the group, or set sglang_instances: {decode: 2}.",
        ),
        (
            groups(prefill="p1"),
            f"prefill hosts: profile {NAME} runs 2 prefill instances of 1 node, so 2 hosts, and the group has 1 (p1). "
            "Change the group, or set sglang_instances: {prefill: 1}.",
        ),
    ],
)
def test_a_group_that_does_not_fit_is_told_what_would(members, message):
    assert errors_of(R1, groups=members) == [message]


def test_every_group_that_does_not_fit_is_named():
    assert len(errors_of(R1, groups=groups("p1", "d1"))) == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"mixed": 2},
            f"sglang_instances.mixed: profile {NAME} has no mixed instances. Its roles are prefill, decode.",
        ),
        ({"router": 2}, f"sglang_instances.router: profile {NAME} has no router instances. Its roles are "),
        ({"decod": 2}, f"sglang_instances.decod: profile {NAME} has no decod instances. Did you mean decode?"),
        ({"decode": "two"}, "sglang_instances.decode: a whole number is needed, not the text 'two'. Give the number"),
        ({"decode": 0}, "sglang_instances.decode: 0 is no number of instances. Give at least 1."),
        ({"decode": -1}, "sglang_instances.decode: -1 is no number of instances."),
        ({"decode": None}, "sglang_instances.decode: a whole number is needed, not nothing."),
    ],
)
def test_a_number_of_instances_is_a_number_and_of_a_role(setting, message):
    counts, findings = instance_counts(profile(R1), setting)
    assert counts == {"prefill": 2, "decode": 1}
    assert len(findings) == 1
    assert str(findings[0]).startswith(message)


# Pins


def pinned(**pins: tuple[int | None, int | None]) -> dict[str, Any]:
    return {
        "groups": groups("p1 p2", "d1 d2 d3 d4"),
        "sglang_instances": {"decode": 2},
        "hosts": {
            host: {"sglang_instance": instance, "sglang_node_rank": rank} for host, (instance, rank) in pins.items()
        },
    }


@pytest.mark.parametrize(
    ("pins", "placed"),
    [
        ({}, [("d1", "d2"), ("d3", "d4")]),
        ({"d4": (0, 0)}, [("d4", "d1"), ("d2", "d3")]),
        ({"d1": (1, 1)}, [("d2", "d3"), ("d4", "d1")]),
        ({"d1": (1, None)}, [("d2", "d3"), ("d1", "d4")]),
        ({"d4": (0, None), "d3": (0, None)}, [("d3", "d4"), ("d1", "d2")]),
        ({"d4": (0, None), "d3": (0, 0)}, [("d3", "d4"), ("d1", "d2")]),
        ({"d1": (1, 1), "d2": (1, 0), "d3": (0, 1), "d4": (0, 0)}, [("d4", "d3"), ("d2", "d1")]),
    ],
)
def test_pinned_hosts_take_their_places_and_the_others_what_is_left_in_order(pins, placed):
    assert nodes("decode", **pinned(**pins)) == placed


def test_of_one_instance_a_rank_alone_is_enough():
    assert nodes("decode", hosts={"d1": {"sglang_node_rank": 1}}) == [("d2", "d1")]


@pytest.mark.parametrize(
    ("pins", "message"),
    [
        (
            {"d1": (0, 0), "d2": (0, 0)},
            "hosts d1, d2: both are pinned to rank 0 of decode instance 0. Give each its own",
        ),
        (
            {"d1": (2, None)},
            "host d1, sglang_instance: there is no decode instance 2; they are numbered 0 to 1. Correct",
        ),
        (
            {"d1": (0, 2)},
            "host d1, sglang_node_rank: there is no rank 2 in decode instances; ranks are 0 to 1. Correct",
        ),
        (
            {"d1": (None, 1)},
            "host d1, sglang_node_rank: there are 2 decode instances, and sglang_instance does not say",
        ),
        (
            {"d1": (0, None), "d2": (0, None), "d3": (0, None)},
            "host d3, sglang_instance: decode instance 0 is full: it",
        ),
    ],
)
def test_pins_that_make_no_instances_are_refused(pins, message):
    (error,) = errors_of(R1, **pinned(**pins))
    assert error.startswith(message)


@pytest.mark.parametrize("pin", [-1, "x", 1.5, True])
def test_a_pin_is_a_number_from_0(pin):
    (error,) = errors_of(R1, hosts={"d1": {"sglang_node_rank": pin}})
    assert error.startswith("host d1, sglang_node_rank: ")


@given(st.permutations(["d1", "d2", "d3", "d4"]), st.permutations([(0, 0), (0, 1), (1, 0), (1, 1)]), st.integers(0, 4))
def test_any_pins_of_distinct_places_are_kept_whatever_the_order(order, places, count):
    pins = dict(zip(order[:count], places, strict=False))
    placed = nodes("decode", **pinned(**pins))
    assert all(placed[instance][rank] == host for host, (instance, rank) in pins.items())
    assert sorted(host for instance in placed for host in instance) == ["d1", "d2", "d3", "d4"]
