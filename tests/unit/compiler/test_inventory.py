# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who stands in which group, with which address and interface: everything that the inventory alone can get wrong."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils import inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import HostFacts, Interface
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Inventory, interface_problem

from .cluster import PROFILES, SETTINGS, errors_of, planned, profile, service, warnings_of

R1 = "deepseek-r1-w8a8-2p1d"
MIXED = "deepseek-r1-w4a8-8p"
FULL = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}
NAME = "deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms"


def without(role: str, **more: Any) -> dict[str, list[str]]:
    return {**{name: hosts for name, hosts in FULL.items() if name != role}, **more}


# Groups


@pytest.mark.parametrize("role", ["prefill", "decode", "router"])
def test_a_missing_group_is_named(role):
    assert errors_of(R1, groups=without(role)) == [
        f"group {role}: there is no such group; the inventory has {', '.join(name for name in FULL if name != role)}. "
        f"Profile {NAME} needs prefill, decode and router hosts: add the group, or name yours in sglang_groups.{role}."
    ]


@pytest.mark.parametrize("role", ["prefill", "decode", "router"])
def test_an_empty_group_is_named(role):
    assert errors_of(R1, groups=without(role, **{role: []})) == [
        f"group {role}: it has no host. Profile {NAME} needs prefill, decode and router hosts: add hosts to the group."
    ]


def test_a_misspelt_group_is_named_with_the_nearest():
    (message,) = errors_of(R1, groups=without("router", routers=["r1"], all=["r1"], ungrouped=[]))
    assert message.startswith("group router: there is no such group; did you mean routers? Profile ")


def test_every_missing_group_is_named_at_once():
    messages = errors_of(R1, groups={"all": ["x"], "ungrouped": ["x"]}, hosts={"x": {}})
    assert [one.split(";")[0] for one in messages[:3]] == [f"group {role}: there is no such group" for role in FULL]
    assert all("the inventory has no groups" in one for one in messages[:3])


def test_two_routers_are_one_too_many():
    assert errors_of(R1, groups=without("router", router=["r1", "r2"])) == [
        "group router: it has 2 hosts (r1, r2), and a cluster has one router. Leave one host in it."
    ]


def test_groups_may_have_other_names():
    groups = {"p_nodes": ["p1", "p2"], "decode": ["d1", "d2"], "gateway": ["r1"]}
    hosts = {host: {"sglang_data_address": f"192.0.2.{n}"} for n, host in enumerate(("p1", "p2", "r1"), 1)}
    both = {"sglang_groups": {"prefill": "p_nodes", "router": "gateway"}}
    settings = {"sglang_model_path": SETTINGS["sglang_model_path"], "sglang_interface": "bond0", **both}
    plan = planned(R1, groups=groups, hosts={host: {**own, **settings} for host, own in hosts.items()}, **both)
    assert [(one.role, one.host) for one in plan.services] == [
        ("prefill", "p1"),
        ("prefill", "p2"),
        ("decode", "d1"),
        ("decode", "d2"),
        ("router", "r1"),
    ]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"prefil": "x"}, "sglang_groups: 'prefil' is no role. Roles are prefill, decode, mixed, router."),
        ({"router": 5}, "sglang_groups.router: a group name is needed, not the number 5. Name a group."),
        ({"router": ""}, "sglang_groups.router: a group name is needed, not the text ''. Name a group."),
        ({"router": ["a"]}, "sglang_groups.router: a group name is needed, not a list. Name a group."),
    ],
)
def test_group_names_are_names_of_roles(setting, message):
    names, findings = inventory.group_names(setting)
    assert [str(one) for one in findings] == [message]
    assert set(names) == {"prefill", "decode", "mixed", "router"}


def router_of_mixed(
    groups: dict[str, list[str]], name: str = "router", spare: tuple[str, ...] = ()
) -> tuple[bool, list[tuple[str, str]]]:
    names = {"prefill": "prefill", "decode": "decode", "mixed": "mixed", "router": name}
    found, findings = inventory.members(Inventory(groups, {}), names, profile(MIXED), spare)
    return "router" in found, [(one.level, str(one)) for one in findings]


def test_mixed_has_a_router_only_where_the_inventory_has_the_group():
    assert router_of_mixed({"mixed": ["m1"]}) == (False, [])
    assert router_of_mixed({"mixed": ["m1"], "router": ["r1"]}) == (True, [])
    assert router_of_mixed({"mixed": ["m1"], "router": ["r1"], "gateway": ["g1"]}) == (True, [])


NO_GROUP = "group router: there is no such group, so there is no router"
EMPTY = "group router: it has no host, so there is no router"


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (
            {"routers": ["r1"]},
            f"{NO_GROUP}, and no role has r1: nothing is started there. Did you mean routers? Name it in "
            "sglang_groups.router.",
        ),
        ({"sglang_router": ["m1"]}, f"{NO_GROUP}. Did you mean sglang_router? Name it in sglang_groups.router."),
        *(
            (
                {name: ["r1"]},
                f"{NO_GROUP}, and no role has r1: nothing is started there. If the router is to run on one of them, "
                f"call its group router or name its group ({name}) in sglang_groups.router.",
            )
            for name in ("proxy", "gateway", "lb", "entrance")
        ),
        (
            {"gateway": ["r1", "r2"], "site": ["m1", "r1", "r2"]},
            f"{NO_GROUP}, and no role has r1, r2: nothing is started there. If the router is to run on one of them, "
            "call its group router or name its group (gateway or site) in sglang_groups.router.",
        ),
        ({"router": []}, f"{EMPTY}. Add the router's host to it, or leave the group out."),
        (
            {"router": [], "gateway": ["r1"]},
            f"{EMPTY}, and no role has r1: nothing is started there. If the router is to run on one of them, "
            "put it into the group router or name its group (gateway) in sglang_groups.router.",
        ),
        (
            {"many": [f"h{number}" for number in range(40)]},
            f"{NO_GROUP}, and no role has h0, h1, h2, h3, h4, h5, h6, h7 and 32 more: nothing is started there. "
            "If the router is to run on one of them, call its group router or name its group (many) in "
            "sglang_groups.router.",
        ),
    ],
)
def test_a_mixed_router_that_may_have_been_meant_is_asked_for_once(groups, text):
    assert router_of_mixed({"mixed": ["m1"], **groups}) == (False, [("warning", text)])


@pytest.mark.parametrize(
    "groups",
    [
        {"all": ["m1", "localhost"], "ungrouped": ["localhost"]},
        {"all": ["m1"], "rack1": ["m1"], "ungrouped": []},
        {"prefill": ["p1"], "decode": ["d1"], "both": ["p1", "d1", "m1"]},
        {"clients": ["c1"]},
    ],
)
def test_hosts_with_another_task_are_no_lost_routers(groups):
    assert router_of_mixed({"mixed": ["m1"], **groups}, spare=("c1", "")) == (False, [])


def test_a_named_router_group_that_is_not_there_is_refused():
    ((level, text),) = router_of_mixed({"mixed": ["m1"], "gateway": ["r1"]}, "gatway")[1]
    assert level == "error"
    assert text == ("group gatway: there is no such group, and sglang_groups.router names it. Did you mean gateway?")
    ((level, text),) = router_of_mixed({"mixed": ["m1"], "gateway": []}, "gateway")[1]
    assert (level, text.partition(":")[0]) == ("warning", "group gateway")


@pytest.mark.parametrize("name", sorted(PROFILES.files))
def test_a_cluster_that_fits_has_nothing_to_say_of_its_groups(name):
    assert [one for one in planned(name).findings if one.check == "groups"] == []


# Data addresses


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.0.1", "127.0.0.1 is a loopback address: other hosts cannot reach it"),
        ("::1", "::1 is a loopback address: other hosts cannot reach it"),
        ("localhost", "localhost is a loopback name: other hosts cannot reach it"),
        ("0.0.0.0", "0.0.0.0 is a wildcard: it names no host"),
        ("::", ":: is a wildcard: it names no host"),
        ("169.254.1.1", "169.254.1.1 is a link-local address"),
        ("192.0.2.0/24", "'192.0.2.0/24' is a network or URL"),
        ("[2001:db8::1]", "'[2001:db8::1]' has brackets"),
        ("192.0.2.256", "'192.0.2.256' is no IPv4 address, and no host name ends in a number"),
        ("node.7", "'node.7' is no IPv4 address, and no host name ends in a number"),
        ("<data-address>", "'<data-address>' is a placeholder that nobody replaced"),
        ("192.0.2.1 192.0.2.2", "'192.0.2.1 192.0.2.2' is no address"),
    ],
)
def test_an_address_that_will_not_do_is_refused_with_host_and_setting(address, what):
    (message,) = errors_of(R1, hosts={"p2": {"sglang_data_address": address}})
    assert message.startswith(f"host p2, sglang_data_address: {what}")
    assert message.endswith("Give the host's own address in the data network.")


@pytest.mark.parametrize(
    ("first", "second"),
    [("192.0.2.11", "192.0.2.11"), ("2001:db8::1", "2001:DB8:0::1"), ("node1", "NODE1")],
)
def test_an_address_belongs_to_one_host(first, second):
    hosts = {"p1": {"sglang_data_address": first}, "d2": {"sglang_data_address": second}}
    (message,) = errors_of(R1, hosts=hosts)
    assert message.startswith("hosts p1, d2: all have the data address ")


def test_a_host_in_two_groups_is_one_host():
    groups = {**FULL, "router": ["p1"]}
    assert errors_of(R1, groups=groups) == []


def test_without_a_data_address_ansibles_is_taken_and_that_is_said_once():
    own = {"sglang_data_address": None, "ansible_host": "198.51.100.21"}
    other = {"sglang_data_address": None, "ansible_host": "198.51.100.22"}
    warned = [one for one in warnings_of(R1, hosts={"d1": own, "d2": other}) if "sglang_data_address" in one]
    assert warned == [
        "hosts d1, d2: sglang_data_address is not set, so the address that Ansible connects to carries all traffic. "
        "Set sglang_data_address where management and data networks differ."
    ]
    plan = planned(R1, hosts={"d1": own, "d2": other})
    assert service(plan, "decode").url == "http://198.51.100.21:8001"


def test_the_inventorys_own_name_may_be_the_address():
    groups = {**FULL, "prefill": ["192.0.2.111", "p2"]}
    hosts = {"192.0.2.111": {"sglang_data_address": None}}
    assert service(planned(R1, groups=groups, hosts=hosts), "prefill").url == "http://192.0.2.111:8000"


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({}, "its name in the inventory (d1) is no address"),
        ({"ansible_host": "login.example"}, "ansible_host (login.example) is no address"),
    ],
)
def test_a_host_without_any_address_is_refused(own, message):
    assert errors_of(R1, hosts={"d1": {"sglang_data_address": None, **own}}) == [
        f"host d1: no data address: sglang_data_address is not set and {message}. "
        "Set sglang_data_address to the address that the other hosts use."
    ]


def test_every_address_that_is_wrong_is_named_at_once():
    hosts = {"p1": {"sglang_data_address": "127.0.0.1"}, "d1": {"sglang_data_address": "x y"}}
    assert len(errors_of(R1, hosts=hosts)) == 2


# Interfaces


@pytest.mark.parametrize(
    ("interface", "what"),
    [
        ("<network-interface>", "'<network-interface>' is a placeholder that nobody replaced"),
        ("^lo", "'^lo' is a pattern of another library; Gloo takes one exact name"),
        ("^lo,docker0", "'^lo,docker0' is a pattern of another library; Gloo takes one exact name"),
        ("=eth0", "'=eth0' is a pattern of another library; Gloo takes one exact name"),
        ("eth0,eth1", "'eth0,eth1' lists several interfaces; Gloo takes one exact name"),
        ("eth0 eth1", "'eth0 eth1' lists several interfaces; Gloo takes one exact name"),
        ("lo", "lo is the loopback interface"),
        ("eth0/24", "'eth0/24' is no interface name"),
        ("enp189s0f0np0vlan1", "'enp189s0f0np0vlan1' is no interface name"),
        ("eth*", "'eth*' is no interface name"),
    ],
)
def test_what_is_no_single_interface_is_refused(interface, what):
    (message,) = errors_of(R1, hosts={"p2": {"sglang_interface": interface}})
    assert message.startswith(f"host p2, sglang_interface: {what}")
    assert "Give one interface by its exact name" in message


@pytest.mark.parametrize("interface", ["eth0", "bond0.100", "enp189s0f0np0", "br-data", "a"])
def test_an_interface_name_is_taken(interface):
    assert interface_problem(interface) is None


def test_an_interface_that_is_not_known_is_assumed_and_that_is_said_once():
    hosts = {host: {"sglang_interface": None} for host in ("p1", "p2", "d1")}
    assumed = [one for one in warnings_of(R1, hosts=hosts) if "assumed" in one]
    assert assumed == [
        "hosts p1, p2, d1: their interface is not known before they are asked; bond0 is assumed here. "
        "Deploy looks it up on the hosts, or set sglang_interface."
    ]


def test_of_very_many_hosts_a_warning_names_the_first():
    many = {"sglang_instances": {"prefill": 12, "decode": 1}, "sglang_interface": None}
    (assumed,) = [one for one in warnings_of(R1, **many) if "assumed" in one]
    assert assumed.startswith("hosts p1, p2, p3, p4, p5, p6, p7, p8 and 7 more: ")


# What the hosts say themselves


def facts(*interfaces: tuple[str, bool, str], resolved: tuple[str, ...] = ()) -> HostFacts:
    return HostFacts(
        interfaces={name: Interface(name, tuple(texts.split()), up) for name, up, texts in interfaces},
        resolved=resolved,
    )


def asked(own: dict[str, Any], seen: HostFacts, others: dict[str, HostFacts] | None = None) -> Any:
    hosts = {"p1": own, **{host: {"sglang_interface": None} for host in others or {}}}
    changes: dict[str, Any] = {"hosts": hosts, "facts": {"p1": seen, **(others or {})}}
    errors = errors_of(R1, **changes)
    return errors or service(planned(R1, **changes), "prefill").env["HCCL_SOCKET_IFNAME"]


MANAGEMENT = ("eth0", True, "198.51.100.11 fe80::1")
DATA = ("eth1", True, "192.0.2.11")


def test_the_interface_is_the_one_that_owns_the_data_address():
    assert asked({"sglang_interface": None}, facts(MANAGEMENT, DATA)) == "eth1"
    assert asked({"sglang_interface": "eth1"}, facts(MANAGEMENT, DATA)) == "eth1"


def test_one_of_several_owners_may_be_chosen():
    bridge = ("br0", True, "192.0.2.11")
    assert asked({"sglang_interface": None}, facts(bridge, DATA)) == "br0"
    assert asked({"sglang_interface": "eth1"}, facts(bridge, DATA)) == "eth1"


def test_a_name_is_looked_up_on_the_host_itself():
    own = {"sglang_data_address": "p1.data", "sglang_interface": None}
    assert asked(own, facts(MANAGEMENT, DATA, resolved=("192.0.2.11",))) == "eth1"
    assert asked(own, facts(MANAGEMENT, DATA)) == [
        "host p1: the host cannot resolve its own data address p1.data. "
        "Give an address, or add the name to the host's resolver."
    ]


LOOPBACK = ("lo", True, "127.0.0.1 ::1")
NAMED = {"sglang_data_address": "p1.data", "sglang_interface": None}


@pytest.mark.parametrize("bad", ["127.0.0.1", "127.0.1.1", "::1"])
@pytest.mark.parametrize("interface", [None, "eth1"])
def test_a_name_that_is_loopback_on_its_own_host_is_refused(bad, interface):
    own = {**NAMED, "sglang_interface": interface}
    assert asked(own, facts(LOOPBACK, DATA, resolved=(bad,))) == [
        f"host p1: it resolves its own data address p1.data to {bad}, and {bad} is a loopback address: other hosts "
        "cannot reach it. Correct the line of p1.data in its /etc/hosts (or its resolver), so that the name stands "
        "for its address in the data network, or give that address as sglang_data_address."
    ]


@pytest.mark.parametrize("bad", ["127.0.0.1", "127.0.1.1", "::1"])
@pytest.mark.parametrize("first", [True, False])
def test_a_name_that_is_loopback_too_is_refused_with_the_line_to_correct(bad, first):
    resolved = (bad, "192.0.2.11") if first else ("192.0.2.11", bad)
    assert asked(NAMED, facts(LOOPBACK, DATA, resolved=resolved)) == [
        f"host p1: it resolves its own data address p1.data to {' and '.join(resolved)}, and {bad} is a loopback "
        f"address: other hosts cannot reach it. Take p1.data out of the line of {bad} in its /etc/hosts, so that the "
        "name stands for 192.0.2.11 alone, or set sglang_data_address to 192.0.2.11."
    ]


def test_names_that_are_loopback_everywhere_are_not_called_shared():
    other = facts(LOOPBACK, ("eth1", True, "192.0.2.21"), resolved=("127.0.0.1",))
    hosts = {"p1": NAMED, "d1": {**NAMED, "sglang_data_address": "d1.data"}}
    found = errors_of(R1, hosts=hosts, facts={"p1": facts(LOOPBACK, DATA, resolved=("127.0.0.1",)), "d1": other})
    assert [one.split(" to ")[0] for one in found] == [
        "host p1: it resolves its own data address p1.data",
        "host d1: it resolves its own data address d1.data",
    ]


BRIDGE = ("docker0", True, "172.17.0.1")


def test_names_that_stand_for_one_address_are_shared():
    hosts = {"p1": NAMED, "d1": {**NAMED, "sglang_data_address": "d1.data"}}
    seen = {"p1": facts(DATA, BRIDGE, resolved=("172.17.0.1",)), "d1": facts(BRIDGE, resolved=("172.17.0.1",))}
    assert errors_of(R1, hosts=hosts, facts=seen) == [
        "hosts p1, d1: all have the data address 172.17.0.1. Give every host its own sglang_data_address.",
        *(
            f"host {one}: its data address {one}.data (172.17.0.1) is on {other} too. "
            "Give the host an address that no other host has, in the data network."
            for one, other in (("p1", "d1"), ("d1", "p1"))
        ),
    ]
    # A name, and what it stands for as another host's address.
    assert (
        "hosts p1, d1: all have the data address 192.0.2.21. Give every host its own sglang_data_address."
        in errors_of(
            R1,
            hosts={"p1": NAMED, "d1": {"sglang_interface": None}},
            facts={
                "p1": facts(("eth1", True, "192.0.2.21"), resolved=("192.0.2.21",)),
                "d1": facts(("eth1", True, "192.0.2.21")),
            },
        )
    )


def test_a_name_that_stands_for_a_bridge_is_on_other_hosts_too():
    other = facts(("eth1", True, "192.0.2.21"), BRIDGE)
    assert asked(NAMED, facts(DATA, BRIDGE, resolved=("172.17.0.1",)), {"d1": other}) == [
        "host p1: its data address p1.data (172.17.0.1) is on d1 too. "
        "Give the host an address that no other host has, in the data network."
    ]


def test_a_name_with_both_families_is_fine():
    both = ("eth1", True, "192.0.2.11 2001:db8::11")
    assert asked(NAMED, facts(LOOPBACK, MANAGEMENT, both, resolved=("2001:db8::11", "192.0.2.11"))) == "eth1"


def test_an_address_that_is_not_on_the_host_is_refused_with_what_is():
    assert asked({"sglang_interface": None}, facts(MANAGEMENT)) == [
        "host p1: the data address 192.0.2.11 is not on this host; it has eth0 (198.51.100.11, fe80::1). "
        "Correct sglang_data_address, or configure the address."
    ]


@pytest.mark.parametrize(
    ("interface", "message"),
    [
        ("eth7", "there is no interface eth7 on it; it has eth0 (198.51.100.11, fe80::1), eth1 (192.0.2.11)"),
        ("eth0", "the data address 192.0.2.11 is on eth1, not on eth0. Set it to eth1 or leave it out."),
        ("^lo", "(the host has eth0 (198.51.100.11, fe80::1), eth1 (192.0.2.11))"),
    ],
)
def test_an_interface_that_does_not_own_the_address_is_refused(interface, message):
    (error,) = asked({"sglang_interface": interface}, facts(MANAGEMENT, DATA))
    assert error.startswith("host p1, sglang_interface: ")
    assert message in error


def test_an_interface_that_is_down_is_refused():
    assert asked({"sglang_interface": None}, facts(("eth1", False, "192.0.2.11"))) == [
        "host p1: interface eth1 is down. Bring it up."
    ]


def test_an_address_that_other_hosts_have_too_is_refused():
    bridge = ("docker0", True, "172.17.0.1")
    own = {"sglang_data_address": "172.17.0.1", "sglang_interface": None}
    other = facts(("eth1", True, "192.0.2.21"), bridge)
    assert asked(own, facts(DATA, bridge), {"d1": other}) == [
        "host p1: its data address 172.17.0.1 is on d1 too. "
        "Give the host an address that no other host has, in the data network."
    ]


def test_a_variable_that_is_no_setting_is_a_warning():
    warned = warnings_of(R1, hosts={"p1": {"sglang_interfaces": "eth0"}})
    assert "the inventory: sglang_interfaces is no setting of this collection. Did you mean sglang_interface" in str(
        warned
    )
