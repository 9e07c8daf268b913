# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports are free, and every connection of the plan can be made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.addresses import is_wildcard
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.connections import undisturbed
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import (
    Problem,
    Situation,
    check,
    error,
    numbers,
    unknown,
    warning,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

_LOOPBACK = ("127.", "::1")


@check(
    "port-busy",
    explains="A server notices a port that is taken only after it has loaded the whole model. Listeners count, our own "
    "services' do not.",
    remedy="Stop that process, or give the service another port.",
)
def busy(situation: Situation) -> Iterator[Problem]:
    """Nobody else listens on a planned port."""
    for host in situation.hosts:
        facts = situation.answers[host]
        foreign = [one for one in facts["listeners"] if one["unit"] not in facts["units"]]
        for service in situation.own[host]:
            for port, name in _ports(service):
                for one in foreign:
                    if one["port"] == port and _overlap(str(one["address"]), service, situation.addresses[host]):
                        yield error(host, f"port {port} ({name} of {service.unit}) is taken by {_owner(one)}")


def _ports(service: Service) -> Iterator[tuple[int, str]]:
    yield from ((port, name) for name, port in service.ports.items())
    for name, (first, last) in service.port_ranges.items():
        yield from ((port, name) for port in range(first, last + 1))


def _overlap(listener: str, service: Service, address: str) -> bool:
    """Whether a listener is in the way: on every address, on the service's, or on the loopback, where both may be."""
    own = service.url.rpartition(":")[0].rpartition("/")[2].strip("[]")
    return is_wildcard(listener) or listener in (own, address) or is_wildcard(own) or listener.startswith(_LOOPBACK)


def _owner(listener: Mapping[str, Any]) -> str:
    if listener["pid"] is None:
        return f"an unknown process on {listener['address']}"
    unit = f", unit {listener['unit']}" if listener["unit"] else ""
    return f"process {listener['pid']} ({listener['command']}{unit}) on {listener['address']}"


@check(
    "ephemeral-ports",
    explains="The kernel gives outgoing connections ports of net.ipv4.ip_local_port_range; one that it has given away "
    "is missing when a service starts, now and then.",
    remedy="Leave sglang_host_tuning on: it reserves the plan's ports in net.ipv4.ip_local_reserved_ports.",
)
def ephemeral(situation: Situation) -> Iterator[Problem]:
    """No planned port can be given to an outgoing connection."""
    tuned = situation.settings.values.get("sglang_host_tuning", True)
    for host in situation.hosts:
        ports = situation.looked(host).get("ports") or {}
        if not ports.get("range"):
            yield unknown(host, "it does not tell its range of local ports")
            continue
        first, last = ports["range"]
        kept = {port for low, high in ports["reserved"] for port in range(low, high + 1)}
        # Deploy reserves them on the hosts that it tunes, before anything starts.
        will_be = host in situation.engines and bool(tuned)
        planned = {port for one in situation.own[host] for port, _name in _ports(one)}
        at_risk = [port for port in sorted(planned) if first <= port <= last and port not in kept]
        if at_risk and not will_be:
            yield warning(host, f"ports {numbers(at_risk)} are in its range for outgoing connections ({first}-{last})")


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
    purposes = {(one.source, one.target, one.port): one.purpose for one in situation.edges}
    for host, tried in situation.connections.items():
        for one in tried:
            if one["outcome"] != "ok":
                purpose = purposes.get((host, one["host"], one["port"]), "")
                kind = f", {purpose}" if purpose else ""
                yield error(host, f"{host} cannot reach {one['host']}:{one['port']} ({_reason(one)}{kind})")
    kept = undisturbed(situation.edges, situation.answers)
    for host in dict.fromkeys(one.target for one in kept):
        ports = numbers(one.port for one in kept if one.target == host)
        yield unknown(host, f"not tried, since that might disturb a running service's rendezvous: port {ports}")


def _reason(one: Mapping[str, Any]) -> str:
    if one["outcome"] == "stranger":
        return f"{one['detail']} answers there: the address is not this host's alone"
    if one["outcome"] == "error":
        return str(one["detail"])
    return _WHY.get(one["outcome"], str(one["outcome"]))
