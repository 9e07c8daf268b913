# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports are free, and every connection of the plan can be made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import throwaway
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.connections import (
    is_ours,
    undisturbed,
    unopened,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import (
    Problem,
    Situation,
    check,
    error,
    numbers,
    silent,
    some,
    unknown,
    warning,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service


@check(
    "port-busy",
    explains="A server notices a port that is taken only after it has loaded the whole model. Listeners count, on "
    "whatever address, as rendezvous listen on all; our own services' do not. Deploy refuses the same. Where other "
    "hosts will connect, the port is opened for a moment, so that one that is taken without a listener shows too.",
    remedy="End that process, or give the service another port.",
)
def busy(situation: Situation) -> Iterator[Problem]:
    """Nobody else has a planned port, and it can be opened."""
    for host in situation.hosts:
        facts = situation.answers[host]
        foreign = [one for one in facts["listeners"] if not is_ours(one["unit"], facts)]
        for service in situation.own[host]:
            for port, name in _ports(service):
                for one in foreign:
                    if one["port"] == port:
                        what = (
                            f"{service.unit} needs port {port} ({name}), and {_owner(one)} has it on {one['address']}"
                        )
                        yield error(host, what)
        yield from _closed(situation, host, {one["port"] for one in foreign})


_HELD = "ss -tanp shows it (port in the column Local Address): end it or wait until it is over, or give the service "
_HELD += "another port"


def _closed(situation: Situation, host: str, told: Collection[int]) -> Iterator[Problem]:
    """Planned ports that could not be opened, though nobody listens there. told: ports of which more is known."""
    facts, address = situation.answers[host], situation.addresses[host]
    names = {port: (name, one.unit) for one in situation.own[host] for port, name in _ports(one)}
    others: dict[str, list[int]] = {}
    for port, why in unopened(facts).items():
        if port in told or port not in names:
            continue
        name, unit = names[port]
        if why == throwaway.IN_USE:
            what = f"{unit} needs port {port} ({name}), which cannot be opened there: {why}; no process listens on it, "
            yield error(host, what + "so an outgoing connection or a socket that is only bound has it", _HELD)
        else:
            others.setdefault(why, []).append(port)
    for why, ports in others.items():
        # What is wrong with the address or the account, other checks say: data-address, become.
        if facts.get("uid", 0) == 0 and _interfaces(facts["interfaces"], address, facts.get("resolved") or {}):
            what = f"port {numbers(ports)} cannot be opened at {address}: {why}; nothing was tried on it"
            do = "Look at that address on the host (ip address), and at what may keep root from opening ports there"
            yield error(host, what, do)
        else:
            yield unknown(host, f"port {numbers(ports)} could not be opened at {address}: {why}")


def _ports(service: Service) -> Iterator[tuple[int, str]]:
    yield from ((port, name) for name, port in service.ports.items())
    for name, (first, last) in service.port_ranges.items():
        yield from ((port, name) for port in range(first, last + 1))


def _owner(listener: Mapping[str, Any]) -> str:
    if listener["pid"] is None:
        return "an unknown process"
    unit = f", unit {listener['unit']}" if listener["unit"] else ""
    return f"process {listener['pid']} ({listener['command']}{unit})"


@check(
    "ephemeral-ports",
    explains="The kernel gives outgoing connections ports of net.ipv4.ip_local_port_range; one that it has given away "
    "is missing when a service starts, now and then.",
    remedy="Leave sglang_host_tuning and host_tuning_reserved_ports_enabled on, so that deploy reserves the "
    "plan's ports in net.ipv4.ip_local_reserved_ports.",
)
def ephemeral(situation: Situation) -> Iterator[Problem]:
    """No planned port can be given to an outgoing connection."""
    for host in situation.hosts:
        ports = situation.looked(host).get("ports") or {}
        if not ports.get("range"):
            yield unknown(host, "it does not tell its range of local ports")
            continue
        first, last = ports["range"]
        kept = {port for low, high in ports["reserved"] for port in range(low, high + 1)}
        # Deploy reserves them on the hosts that it tunes, before anything starts.
        kept |= set((situation.answers[host].get("tuning") or {}).get("reserved", ()))
        planned = {port for one in situation.own[host] for port, _name in _ports(one)}
        at_risk = [port for port in sorted(planned) if first <= port <= last and port not in kept]
        if at_risk:
            yield warning(host, f"ports {numbers(at_risk)} are in its range for outgoing connections ({first}-{last})")


# More hosts than these that cannot reach a port share a line.
_EACH = 8

_WHY = {
    "rejected": "no route to host (113): a firewall there rejects it, or nobody has that address",
    "refused": "connection refused (111): something on the way answers in the host's place, as nothing else closes a "
    "port where a listener waits",
    "timeout": "no answer: a firewall drops it, or a route leads elsewhere",
    "unreachable": "network unreachable (101): there is no route from the own data address",
    "name": "its data address cannot be resolved there",
    "source": "the connection cannot come from the own data address",
    "silent": "the connection was taken, and not by the listener that waits there: a proxy or load balancer is between",
}


@check(
    "connections",
    explains="Every port that a host's services will connect to, tried from the host's own data address with "
    "throw-away listeners. A rank that cannot reach another waits for ever in silence.",
    remedy="Open the port between the two hosts (firewalld, nftables, a switch's rules), or correct routes and "
    "sglang_data_address.",
)
def connections(situation: Situation) -> Iterator[Problem]:
    """Each host reaches what its services will connect to."""
    cut: dict[str, list[str]] = {}
    for host, tried in situation.connections.items():
        for what in _failures(situation, host, tried):
            cut.setdefault(f"cannot reach {what}", []).append(host)
    for what, hosts in cut.items():
        if len(hosts) <= _EACH:
            yield from (error(host, f"{host} {what}") for host in hosts)
        else:
            yield error(hosts, f"{some(hosts)} {what}")
    for host, targets in _targets(situation).items():
        if not targets & set(situation.answers):
            there = [name for name in situation.planned if name in targets]
            yield unknown(host, f"nothing was tried from there: {silent(there)}")
    kept = undisturbed(situation.edges, situation.answers)
    for host in dict.fromkeys(one.target for one in kept):
        ports = numbers(one.port for one in kept if one.target == host)
        yield unknown(host, f"not tried, since that might disturb a running service's rendezvous: port {ports}")
    for host in situation.hosts:
        closed: dict[str, list[int]] = {}
        for port, why in unopened(situation.answers[host]).items():
            closed.setdefault(why, []).append(port)
        for why, listed in closed.items():
            yield unknown(host, f"not tried, since no listener could be started there: port {numbers(listed)} ({why})")


@check(
    "routes",
    explains="Traffic of the services leaves through the interface of the data address. Another may be slow, or drop "
    "what comes back another way (rp_filter).",
    remedy="Remove that route, or set sglang_data_address to the address that the route belongs to.",
)
def routes(situation: Situation) -> Iterator[Problem]:
    """The routes to the other hosts lead out of the interface that owns the data address."""
    for host in _targets(situation):
        if not situation.connections.get(host):
            yield unknown(host, "no connection was tried from there")
    for host, tried in situation.connections.items():
        if host not in situation.answers:
            continue
        interfaces = situation.answers[host]["interfaces"]
        own = _interfaces(interfaces, situation.addresses[host], situation.answers[host].get("resolved") or {})
        other: dict[str, list[str]] = {}
        for one in tried:
            through = _interfaces(interfaces, one["route"], {})
            if own and through and not own & through:
                other.setdefault(", ".join(sorted(through)), []).append(one["host"])
        for name, targets in other.items():
            whither = some(dict.fromkeys(targets))
            yield warning(host, f"the route to {whither} leads out of {name}, not of {', '.join(sorted(own))}")


def _targets(situation: Situation) -> dict[str, set[str]]:
    """By host that answered, where its services will connect to others, the hosts that they will connect to."""
    found: dict[str, set[str]] = {host: set() for host in situation.hosts}
    for edge in situation.edges:
        if edge.source in found:
            found[edge.source].add(edge.target)
    return {host: targets for host, targets in found.items() if targets}


def _interfaces(interfaces: Mapping[str, Any], address: str, resolved: Mapping[str, Any]) -> set[str]:
    """The interfaces that have an address, or one that a name resolves to."""
    wanted = {address, *resolved.get(address, ())}
    return {name for name, one in interfaces.items() if wanted & set(one["addresses"])}


def _failures(situation: Situation, host: str, tried: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What a host does not reach: by port, or another host as a whole, and why."""
    purposes = {(one.target, one.port): one.purpose for one in situation.edges if one.source == host}
    by_host: dict[str, list[Mapping[str, Any]]] = {}
    for one in tried:
        by_host.setdefault(one["host"], []).append(one)
    for target, outcomes in by_host.items():
        reasons: dict[str, list[int]] = {}
        for one in outcomes:
            if one["outcome"] != "ok":
                reasons.setdefault(_reason(one), []).append(one["port"])
        for reason, ports in reasons.items():
            if len(ports) == len(outcomes) and len(ports) > 1:
                yield f"{target}:{numbers(ports)}, which is all that it needs there: {reason}"
                continue
            for port in ports:
                yield f"{target}:{port} ({purposes.get((target, port), 'a port of the plan')}): {reason}"


def _reason(one: Mapping[str, Any]) -> str:
    if one["outcome"] == "stranger":
        return f"{one['detail']} answers there: the address is not this host's alone"
    if one["outcome"] == "error":
        return str(one["detail"])
    return _WHY.get(one["outcome"], str(one["outcome"]))
