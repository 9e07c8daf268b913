# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory as the compiler sees it: hosts by role, in the inventory's order, each with one usable data address.

Order is the inventory's everywhere: nothing here sorts, and nothing looks at `--limit`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ansible_collections.ascend.sglang.plugins.plugin_utils import addresses
from ansible_collections.ascend.sglang.plugins.plugin_utils.addresses import Address, AddressError
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine import suggest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, nearest, warning
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import HostFacts
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Profile
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import HOST_SETTINGS, ROLES, read, unknown
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain, describe

# Linux's IFNAMSIZ is 16 with the closing NUL.
_INTERFACE = re.compile(r"[A-Za-z0-9_.@-]{1,15}\Z")
ASSUMED_INTERFACE = "bond0"


@dataclass(frozen=True)
class Inventory:
    """Ansible's inventory in plain values: group names to hosts in order, and host names to variables."""

    groups: Mapping[str, Sequence[str]]
    variables: Mapping[str, Mapping[str, Plain]]


@dataclass(frozen=True)
class Host:
    """A host of the cluster.

    borrowed: the data address is the one that Ansible connects to, for want of a setting; assumed: the interface is a
    default that deploy replaces by the host's own.
    """

    name: str
    address: Address
    borrowed: bool
    interface: str
    assumed: bool
    npus: int
    bootstrap_port: int | None
    instance: int | None
    node_rank: int | None


@dataclass(frozen=True)
class Cluster:
    """Hosts by role in the inventory's order, and each host once by name."""

    roles: Mapping[str, tuple[str, ...]]
    hosts: Mapping[str, Host]


def group_names(setting: Mapping[str, Plain]) -> tuple[dict[str, str], list[Finding]]:
    """The group name of each role, out of `sglang_groups`."""
    findings = []
    names = {role: role for role in ROLES}
    for role, name in setting.items():
        if role not in names:
            findings.append(error("groups", "sglang_groups", f"{role!r} is no role", f"Roles are {', '.join(ROLES)}"))
        elif not isinstance(name, str) or not name:
            findings.append(
                error(
                    "groups", f"sglang_groups.{role}", f"a group name is needed, not {describe(name)}", "Name a group"
                )
            )
        else:
            names[role] = name
    return names, findings


def members(
    inventory: Inventory, names: Mapping[str, str], profile: Profile, spare: Collection[str] = ()
) -> tuple[dict[str, tuple[str, ...]], list[Finding]]:
    """The hosts of each role that the profile starts; a group that is missing or empty is a finding.

    spare: hosts that are known to have another task than a role's (the benchmark's).
    """
    found: dict[str, tuple[str, ...]] = {}
    findings: list[Finding] = []
    wanted = ("prefill", "decode", "router") if profile.disaggregated else ("mixed",)
    for role in wanted:
        hosts = tuple(inventory.groups.get(names[role], ()))
        found[role] = hosts
        if not hosts:
            findings.append(_no_hosts(inventory, role, names[role], profile))
    if not profile.disaggregated:
        # Only the inventory decides whether mixed instances have a router.
        if inventory.groups.get(names["router"]):
            found["router"] = tuple(inventory.groups[names["router"]])
        else:
            findings += _no_router(inventory, names, spare)
    if len(found.get("router", ())) > 1:
        findings.append(
            error(
                "groups",
                f"group {names['router']}",
                f"it has {len(found['router'])} hosts ({', '.join(found['router'])}), and a cluster has one router",
                "Leave one host in it",
            )
        )
    return found, findings


def _no_router(inventory: Inventory, names: Mapping[str, str], spare: Collection[str]) -> list[Finding]:
    """What is said of mixed instances without a router, where one may have been meant. At most one finding."""
    group = names["router"]
    if group not in inventory.groups and group != "router":
        what = "there is no such group, and sglang_groups.router names it"
        return [error("groups", f"group {group}", what, nearest(group, _others(inventory)) or "Correct sglang_groups")]
    others = [name for name in _others(inventory) if name not in names.values()]
    # Any inventory has other groups: only a name that is very near is a misspelt one.
    near = suggest.nearest(group, others, cutoff=0.75)
    meant = dict.fromkeys([*near, *(name for name in others if group in name.lower())])
    idle = _without_role(inventory, names, spare)
    if group not in inventory.groups and not meant and not idle:
        return []
    what = "it has no host" if group in inventory.groups else "there is no such group"
    what += ", so there is no router"
    if idle:
        what += f", and no role has {_some(list(idle))}: nothing is started there"
    return [warning("groups", f"group {group}", what, _how_to_have_one(inventory, group, meant, idle))]


def _how_to_have_one(
    inventory: Inventory, group: str, meant: Collection[str], idle: Mapping[str, Sequence[str]]
) -> str:
    there = group in inventory.groups
    if meant:
        return f"Did you mean {suggest.either(list(meant))}? Name it in sglang_groups.router"
    if not idle:
        return "Add the router's host to it, or leave the group out"
    place = f"put it into the group {group}" if there else f"call its group {group}"
    theirs = suggest.either(list(dict.fromkeys(name for own in idle.values() for name in own)))
    return f"If the router is to run on one of them, {place} or name its group ({theirs}) in sglang_groups.router"


def _without_role(inventory: Inventory, names: Mapping[str, str], spare: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Hosts that somebody put into a group, but into no role's, each with its groups."""
    busy = {host for group in names.values() for host in inventory.groups.get(group, ())} | set(spare)
    idle: dict[str, list[str]] = {}
    for group in _others(inventory):
        for host in inventory.groups[group]:
            if host not in busy:
                idle.setdefault(host, []).append(group)
    return {host: tuple(groups) for host, groups in idle.items()}


def _others(inventory: Inventory) -> list[str]:
    return [name for name in inventory.groups if name not in ("all", "ungrouped")]


def _no_hosts(inventory: Inventory, role: str, group: str, profile: Profile) -> Finding:
    where = f"group {group}"
    kind = "prefill, decode and router hosts" if profile.disaggregated else "mixed hosts"
    if group in inventory.groups:
        return error("groups", where, "it has no host", f"Profile {profile.name} needs {kind}: add hosts to the group")
    others = _others(inventory)
    hint = nearest(group, others)
    there = f"the inventory has {', '.join(others) or 'no groups'}"
    do = f"Profile {profile.name} needs {kind}: add the group, or name yours in sglang_groups.{role}"
    return error("groups", where, f"there is no such group; {hint or there}", do)


def cluster(
    inventory: Inventory, roles: Mapping[str, tuple[str, ...]], facts: Mapping[str, HostFacts]
) -> tuple[Cluster, list[Finding]]:
    """The cluster's hosts with their variables read and their addresses proven usable."""
    names = dict.fromkeys(host for hosts in roles.values() for host in hosts)
    hosts: dict[str, Host] = {}
    findings: list[Finding] = []
    by_host: dict[str, list[Finding]] = {}
    for name in names:
        host, by_host[name] = _host(name, inventory.variables.get(name, {}), facts.get(name))
        if host is not None:
            hosts[name] = host
    findings += _merged(by_host)
    findings += unknown((key for name in names for key in inventory.variables.get(name, {})), "the inventory")
    findings += [*_shared_addresses(hosts, facts), *_addresses_elsewhere(hosts, facts)]
    findings += [*_borrowed_addresses(hosts), *_assumed_interfaces(hosts)]
    return Cluster(roles, hosts), findings


def _merged(by_host: Mapping[str, Sequence[Finding]]) -> Iterator[Finding]:
    """What is wrong with many hosts in the same words is said once, with their names."""
    owners: dict[Finding, list[str]] = {}
    for name, findings in by_host.items():
        for one in findings:
            owners.setdefault(replace(one, where=one.where.removeprefix(f"host {name}")), []).append(name)
    for one, names in owners.items():
        yield replace(one, where=f"host{'s' * (len(names) > 1)} {_some(names)}{one.where}")


def _host(name: str, variables: Mapping[str, Plain], facts: HostFacts | None) -> tuple[Host | None, list[Finding]]:
    values, findings = read(variables, HOST_SETTINGS, f"host {name}")
    address, borrowed, found = _address(name, values["sglang_data_address"], variables.get("ansible_host"))
    findings += found
    if address is None:
        return None, findings
    interface, assumed, found = _interface(name, values["sglang_interface"], address, facts)
    findings += found
    return Host(name, address, borrowed, interface, assumed, *_numbers(values)), findings


def _numbers(values: Mapping[str, Plain]) -> tuple[int, int | None, int | None, int | None]:
    def number(setting: str) -> int | None:
        value = values[setting]
        return value if isinstance(value, int) else None

    return (
        number("sglang_npus") or 0,
        number("sglang_bootstrap_port"),
        number("sglang_instance"),
        number("sglang_node_rank"),
    )


def _address(name: str, given: Plain, ansible_host: Plain) -> tuple[Address | None, bool, list[Finding]]:
    """The data address, whether it is Ansible's for want of a better, and what is wrong with it."""
    where = f"host {name}"
    findings: list[Finding] = []
    assumed = False
    text, setting = given, "sglang_data_address"
    if not text:
        # Without ansible_host Ansible connects to the inventory's name, which may itself be an address.
        text, setting = ansible_host or name, "ansible_host" if ansible_host else "its name in the inventory"
        if not isinstance(text, str) or not addresses.is_ip(text):
            what = f"no data address: sglang_data_address is not set and {setting} ({text}) is no address"
            return (
                None,
                False,
                [error("data-address", where, what, "Set sglang_data_address to the address that the other hosts use")],
            )
        assumed = True
    try:
        address = addresses.parse(str(text))
    except AddressError as problem:
        return (
            None,
            assumed,
            [
                error(
                    "data-address",
                    f"{where}, {setting}",
                    str(problem),
                    "Give the host's own address in the data network",
                )
            ],
        )
    why = addresses.unusable(address)
    if why:
        findings.append(
            error(
                "data-address",
                f"{where}, {setting}",
                f"{text} {why}",
                "Give the host's own address in the data network",
            )
        )
    return address, assumed, findings


def _interface(name: str, given: Plain, address: Address, facts: HostFacts | None) -> tuple[str, bool, list[Finding]]:
    where = f"host {name}"
    interface = str(given or "")
    if interface and (problem := interface_problem(interface)):
        there = f" (the host has {facts.listing()})" if facts else ""
        do = f"Give one interface by its exact name{there}, or leave sglang_interface out: it is looked up on the host"
        return interface, False, [error("interface", f"{where}, sglang_interface", problem, do)]
    if facts is None:
        # One warning for all hosts follows: see _assumed_interfaces.
        return (interface, False, []) if interface else (ASSUMED_INTERFACE, True, [])
    return _interface_on_host(where, interface, address, facts)


def interface_problem(interface: str) -> str | None:
    """Why a text is no interface name that HCCL and Gloo both take, or None when it is one."""
    if "<" in interface or ">" in interface:
        return f"{interface!r} is a placeholder that nobody replaced"
    if interface.startswith(("^", "=")):
        return f"{interface!r} is a pattern of another library; Gloo takes one exact name"
    if "," in interface or " " in interface:
        return f"{interface!r} lists several interfaces; Gloo takes one exact name"
    if not _INTERFACE.match(interface):
        return f"{interface!r} is no interface name"
    if interface == "lo":
        return "lo is the loopback interface: other hosts cannot be reached through it"
    return None


def _interface_on_host(
    where: str, interface: str, address: Address, facts: HostFacts
) -> tuple[str, bool, list[Finding]]:
    wanted = facts.resolved if address.kind == "name" else (address.text,)
    owners = [one for text in wanted for one in facts.owners(text)]
    if not wanted:
        what = f"the host cannot resolve its own data address {address.text}"
        return (
            interface,
            False,
            [error("data-address", where, what, "Give an address, or add the name to the host's resolver")],
        )
    if address.kind == "name" and (problem := _resolved_problem(where, address, wanted)):
        return interface, False, [problem]
    if interface and interface not in facts.interfaces:
        what = f"there is no interface {interface} on it; it has {facts.listing()}"
        return (
            interface,
            False,
            [error("interface", f"{where}, sglang_interface", what, "Name one of them, or leave it out")],
        )
    if not owners:
        what = f"the data address {address.text} is not on this host; it has {facts.listing()}"
        return (
            interface,
            False,
            [error("data-address", where, what, "Correct sglang_data_address, or configure the address")],
        )
    names = [one.name for one in owners]
    if interface and interface not in names:
        what = f"the data address {address.text} is on {names[0]}, not on {interface}"
        return (
            interface,
            False,
            [error("interface", f"{where}, sglang_interface", what, f"Set it to {names[0]} or leave it out")],
        )
    owner = facts.interfaces[interface or names[0]]
    findings = []
    if not owner.up:
        findings.append(error("interface", where, f"interface {owner.name} is down", "Bring it up"))
    return owner.name, False, findings


def _why_unusable(text: str) -> str | None:
    """Why a resolved address will not do as a data address, or None when it will."""
    try:
        return addresses.unusable(addresses.parse(text))
    except AddressError as problem:
        return str(problem)


def _resolved_problem(where: str, address: Address, resolved: Sequence[str]) -> Finding | None:
    """What is wrong with what the host's own name stands for. Programs listen on one of its addresses, the first."""
    bad = {text: why for text in resolved if (why := _why_unusable(text))}
    if not bad:
        return None
    good = [text for text in resolved if text not in bad]
    what = f"it resolves its own data address {address.text} to {' and '.join(resolved)}, and "
    what += " and ".join(f"{text} {why}" for text, why in bad.items())
    if good:
        do = (
            f"Take {address.text} out of the line of {' and '.join(bad)} in its /etc/hosts, so that the name stands "
            f"for {good[0]} alone, or set sglang_data_address to {good[0]}"
        )
    else:
        do = (
            f"Correct the line of {address.text} in its /etc/hosts (or its resolver), so that the name stands for its "
            "address in the data network, or give that address as sglang_data_address"
        )
    return error("data-address", where, what, do)


def _stands_for(host: Host, facts: Mapping[str, HostFacts]) -> tuple[str, ...]:
    """The host's data address, and what the host itself resolves it to where it is a name."""
    resolved = facts[host.name].resolved if host.address.kind == "name" and host.name in facts else ()
    # One that will not do is reported as such, and everybody's.
    return (host.address.text, *(text for text in resolved if not _why_unusable(text)))


def _shared_addresses(hosts: Mapping[str, Host], facts: Mapping[str, HostFacts]) -> list[Finding]:
    owners: dict[str, list[str]] = {}
    for host in hosts.values():
        for text in dict.fromkeys(_stands_for(host, facts)):
            owners.setdefault(text, []).append(host.name)
    shared: dict[tuple[str, ...], list[str]] = {}
    for text, names in owners.items():
        if len(names) > 1:
            shared.setdefault(tuple(names), []).append(text)
    return [
        error(
            "data-address",
            f"hosts {', '.join(names)}",
            f"all have the data address {' and '.join(texts)}",
            "Give every host its own sglang_data_address",
        )
        for names, texts in shared.items()
    ]


def _addresses_elsewhere(hosts: Mapping[str, Host], facts: Mapping[str, HostFacts]) -> Iterator[Finding]:
    """An error for a data address that another host has as well: a bridge's, which is the same on every host."""
    owners: dict[str, list[str]] = {}
    for name, own in facts.items():
        for interface in own.interfaces.values():
            for address in interface.addresses:
                owners.setdefault(address, []).append(name)
    for host in hosts.values():
        for text in dict.fromkeys(_stands_for(host, facts)):
            others = [name for name in owners.get(text, ()) if name != host.name]
            if others:
                named = text if text == host.address.text else f"{host.address.text} ({text})"
                what = f"its data address {named} is on {', '.join(others)} too"
                do = "Give the host an address that no other host has, in the data network"
                yield error("data-address", f"host {host.name}", what, do)


def _some(names: Sequence[str]) -> str:
    """Hosts in a message about all of them: the first few."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _borrowed_addresses(hosts: Mapping[str, Host]) -> list[Finding]:
    names = [host.name for host in hosts.values() if host.borrowed]
    if not names:
        return []
    what = "sglang_data_address is not set, so the address that Ansible connects to carries all traffic"
    do = "Set sglang_data_address where management and data networks differ"
    return [warning("data-address", f"hosts {_some(names)}", what, do)]


def _assumed_interfaces(hosts: Mapping[str, Host]) -> list[Finding]:
    """One warning for all hosts: offline this is the rule, not the exception."""
    names = [host.name for host in hosts.values() if host.assumed]
    if not names:
        return []
    what = f"their interface is not known before they are asked; {ASSUMED_INTERFACE} is assumed here"
    do = "deploy looks it up on the hosts, or set sglang_interface"
    return [warning("interface", f"hosts {_some(names)}", what, do)]
