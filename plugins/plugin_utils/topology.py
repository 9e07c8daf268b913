# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is in which instance, and with which rank: the pass from hosts by role to instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, nearest
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Cluster, Host
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Profile
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain, ValueTypeError, coerce


@dataclass(frozen=True)
class Instance:
    """One SGLang server: `nodes` by rank, so that `nodes[0]` is the head."""

    role: str
    index: int
    nodes: tuple[Host, ...]

    @property
    def name(self) -> str:
        return f"{self.role}-{self.index}"

    @property
    def head(self) -> Host:
        return self.nodes[0]


@dataclass(frozen=True)
class Topology:
    """Instances in the order prefill, decode, mixed, each role's from 0; and the router's host, where there is one."""

    instances: tuple[Instance, ...]
    router: Host | None

    def of_role(self, role: str) -> tuple[Instance, ...]:
        """The instances of one role, by index."""
        return tuple(one for one in self.instances if one.role == role)


def instance_counts(profile: Profile, setting: Mapping[str, Plain]) -> tuple[dict[str, int], list[Finding]]:
    """How many instances each role has: `sglang_instances`, else the profile's number."""
    counts = {role: body.instances for role, body in profile.roles.items() if role != "router"}
    findings = []
    for role, value in setting.items():
        where = f"sglang_instances.{role}"
        if role not in counts:
            what = f"profile {profile.name} has no {role} instances"
            findings.append(
                error("instances", where, what, nearest(role, counts) or f"Its roles are {', '.join(counts)}")
            )
            continue
        try:
            number = coerce(value, "int")
        except ValueTypeError as problem:
            findings.append(error("instances", where, str(problem), "Give the number of instances"))
            continue
        if not isinstance(number, int) or number < 1:
            findings.append(error("instances", where, f"{number} is no number of instances", "Give at least 1"))
            continue
        counts[role] = number
    return counts, findings


def build(profile: Profile, counts: Mapping[str, int], cluster: Cluster) -> tuple[Topology | None, list[Finding]]:
    """Instances out of the hosts of each role; None where the hosts do not fit, or a role has none."""
    findings: list[Finding] = []
    instances: list[Instance] = []
    complete = not profile.disaggregated or bool(cluster.roles.get("router"))
    for role, count in counts.items():
        names = cluster.roles.get(role, ())
        nodes = profile.roles[role].nodes
        complete = complete and bool(names)
        if len(names) != count * nodes:
            # An empty group has been reported as such.
            findings += [_does_not_fit(profile, role, count, nodes, names)] if names else []
            continue
        hosts = [cluster.hosts[name] for name in names if name in cluster.hosts]
        if len(hosts) != len(names):
            continue
        placed, found = _place(role, hosts, count, nodes)
        findings += found
        instances += placed
    if findings or not complete:
        return None, findings
    router = next((cluster.hosts[name] for name in cluster.roles.get("router", ()) if name in cluster.hosts), None)
    return Topology(tuple(instances), router), []


def _does_not_fit(profile: Profile, role: str, count: int, nodes: int, hosts: Sequence[str]) -> Finding:
    wanted = (
        f"profile {profile.name} runs {count} {role} instance{'s' * (count != 1)} of {nodes} "
        f"node{'s' * (nodes != 1)}, so {count * nodes} host{'s' * (count * nodes != 1)}"
    )
    what = f"{wanted}, and the group has {len(hosts)} ({', '.join(hosts)})"
    possible = len(hosts) // nodes
    do = f"Change the group, or set sglang_instances to another number of {role} instances"
    if possible and possible * nodes == len(hosts):
        do = f"Change the group, or set sglang_instances: {{{role}: {possible}}}"
    return error("group-size", f"{role} hosts", what, do)


def _place(role: str, hosts: Sequence[Host], count: int, nodes: int) -> tuple[list[Instance], list[Finding]]:
    """Pinned hosts take their places first, the others fill what is left, in order."""
    places: dict[tuple[int, int], Host] = {}
    findings: list[Finding] = []
    free = []
    for host in hosts:
        pins, problem = _pins(host, role, count, nodes)
        if problem:
            findings.append(problem)
        elif pins is None:
            free.append(host)
        elif pins in places:
            where = f"hosts {places[pins].name}, {host.name}"
            what = f"both are pinned to rank {pins[1]} of {role} instance {pins[0]}"
            findings.append(error("pins", where, what, "Give each its own sglang_instance and sglang_node_rank"))
        else:
            places[pins] = host
    if findings:
        return [], findings
    half = [host for host in free if host.instance is not None]
    for host in half:
        open_ranks = [rank for rank in range(nodes) if (host.instance, rank) not in places]
        if not open_ranks:
            what = f"{role} instance {host.instance} is full: it has {nodes} node{'s' * (nodes != 1)}"
            return [], [error("pins", f"host {host.name}, sglang_instance", what, "Pin it to another instance")]
        places[(host.instance or 0, open_ranks[0])] = host
    slots = iter([(index, rank) for index in range(count) for rank in range(nodes) if (index, rank) not in places])
    for host in free:
        if host.instance is None:
            places[next(slots)] = host
    return [Instance(role, index, tuple(places[(index, rank)] for rank in range(nodes))) for index in range(count)], []


def _pins(host: Host, role: str, count: int, nodes: int) -> tuple[tuple[int, int] | None, Finding | None]:
    """The place that a host is pinned to whole; None for a host that is free, or pinned to an instance only."""
    if host.instance is not None and host.instance >= count:
        what = f"there is no {role} instance {host.instance}; they are numbered 0 to {count - 1}"
        return None, error("pins", f"host {host.name}, sglang_instance", what, "Correct it or leave it out")
    if host.node_rank is None:
        return None, None
    where = f"host {host.name}, sglang_node_rank"
    if host.node_rank >= nodes:
        what = f"there is no rank {host.node_rank} in {role} instances; ranks are 0 to {nodes - 1}"
        return None, error("pins", where, what, "Correct it or leave it out")
    if host.instance is None and count > 1:
        what = f"there are {count} {role} instances, and sglang_instance does not say which one"
        return None, error("pins", where, what, "Set sglang_instance as well")
    return (host.instance or 0, host.node_rank), None
