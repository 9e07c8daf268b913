# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What --limit leaves out: who must not restart without it, and who cannot become ready without it.

A host that was not asked may run its services or not. So what only starts is started, and its other nodes may come
later; but it is neither waited for nor asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.restarts import NEW_PROCESS, must_restart
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.words import listed
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import ENGINE_ROLES

Service = Mapping[str, Any]
Units = Mapping[str, Mapping[str, Mapping[str, Any]]]
Instance = tuple[str, int]


def beyond_limit(services: Sequence[Service], units: Units, also: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """Errors about services outside of --limit that would have to restart with one inside of it.

    services: the plan's; units: host -> unit -> what ascend.sglang.service would do (`action`), of the hosts that were
    asked; also: what restarts because of another one (restarts.restarts).
    """
    findings = []
    for one in services:
        if not must_restart(one, units, also):
            continue
        mates = [
            other["host"]
            for other in services
            if other["host"] not in units
            and (
                _instance(other) == _instance(one)
                or ("store" in one["ports"] and other["role"] in ("prefill", "decode"))
            )
        ]
        if mates:
            what = f"it must restart, and {', '.join(dict.fromkeys(mates))} with it, which --limit leaves out"
            do = "Add those hosts to --limit, or leave it out"
            findings.append(error("limit", f"{one['unit']} on {one['host']}", what, do))
    # Services that were read from hosts lack those of hosts that were not asked.
    new = {_instance(one) for one in services if must_restart(one, units, also)}
    return [*findings, *parted([one for one in services if _instance(one) in new])]


def parted(services: Sequence[Service]) -> Iterator[Finding]:
    """An error for each instance of which not all ranks are among these services, which are what hosts have."""
    instances: dict[Instance, list[Service]] = {}
    for one in services:
        instances.setdefault(_instance(one), []).append(one)
    for (role, instance), mates in instances.items():
        missing = sorted(set(range(mates[0]["nnodes"])) - {one["rank"] for one in mates})
        if missing:
            ranks = ", ".join(map(str, missing))
            what = f"rank {ranks} of {mates[0]['nnodes']} is on none of the hosts that were asked; ranks restart as one"
            yield error("selection", f"{role}-{instance}", what, "Leave --limit out, or repair that host")


@dataclass(frozen=True)
class Limit:
    """A plan, and the part of it that was asked.

    services: the plan's; units: host -> unit -> what ascend.sglang.service would do (`action`), of the hosts that were
    asked; ready: host -> unit -> whether it is ready, where that is known.
    """

    services: Sequence[Service]
    units: Units
    ready: Mapping[str, Mapping[str, bool | None]] = field(default_factory=dict)

    @cached_property
    def whole(self) -> dict[str, list[Service]]:
        """Host -> its services that can become ready: the asked hosts have their instance with all its nodes.

        A router can, unless all instances of a role are known to be unable.
        """
        mute = {(one["host"], one["unit"]) for one in self._mute}
        result: dict[str, list[Service]] = {host: [] for host in self.units}
        for one in self.services:
            if _instance(one) not in self._cut and (one["host"], one["unit"]) not in mute:
                result[one["host"]].append(one)
        return result

    @cached_property
    def unasked(self) -> dict[str, list[str]]:
        """Host -> its units from which no answer can be expected: entrances to what cannot become ready."""
        result: dict[str, list[str]] = {}
        for one in self._mute:
            result.setdefault(one["host"], []).append(one["unit"])
        return result

    def lines(self) -> list[str]:
        """For people: what of the asked hosts' part is not waited for, and what is not told to a router."""
        asked = {_instance(one) for one in self.services if one["host"] in self.units}
        lines = []
        for instance, hosts in self._cut.items():
            if instance in asked and instance[0] in ENGINE_ROLES:
                then = "starts on the others and is not waited for" if instance in self._new else "is not waited for"
                lines.append(f"--limit leaves out {listed(hosts)} of {_name(instance)}: it {then}")
        lines += [
            f"{one['unit']} on {one['host']} is not asked: it cannot answer without {listed(self._missing)}"
            for one in self._mute
        ]
        routers = [one["host"] for one in self.services if one["role"] == "router" and one["host"] not in self.units]
        if routers and any(role in ENGINE_ROLES for role, _number in self._new):
            lines.append(
                f"--limit leaves out the router on {listed(routers)}: it is neither told of what starts and restarts "
                "nor asked afterwards"
            )
        return lines

    def advice(self) -> str:
        """What to know where no answer comes: the lines, and which instances were not looked at."""
        asked = {_instance(one) for one in self.services if one["host"] in self.units}
        lines = self.lines()
        for instance, hosts in self._cut.items():
            if instance not in asked and instance[0] in ENGINE_ROLES:
                lines.append(f"--limit leaves out {_name(instance)} on {listed(hosts)}: nobody has looked there")
        return "; ".join(lines)

    @cached_property
    def _cut(self) -> dict[Instance, list[str]]:
        """Instance -> its hosts that were not asked."""
        result: dict[Instance, list[str]] = {}
        for one in self.services:
            if one["host"] not in self.units:
                result.setdefault(_instance(one), []).append(one["host"])
        return result

    @cached_property
    def _new(self) -> set[Instance]:
        """What gets a new process on one of the hosts that were asked."""
        return {
            _instance(one)
            for one in self.services
            if self.units.get(one["host"], {}).get(one["unit"], {}).get("action") in NEW_PROCESS
        }

    @cached_property
    def _unable(self) -> set[Instance]:
        """What cannot answer soon: cut, and it starts, or one of its ranks is known not to be ready."""
        waiting = {_instance(one) for one in self.services if self.ready.get(one["host"], {}).get(one["unit"]) is False}
        return set(self._cut) & (self._new | waiting)

    @cached_property
    def _mute(self) -> list[Service]:
        """The asked entrances without any instance of a role that could answer."""
        # One instance of each role that the plan has must serve before its router answers.
        roles = {one["role"] for one in self.services} & set(ENGINE_ROLES)
        silent = [
            role
            for role in roles
            if all(_instance(one) in self._unable for one in self.services if one["role"] == role)
        ]
        routers = [one for one in self.services if one["role"] == "router"]
        if routers:
            return [one for one in routers if one["host"] in self.units] if silent else []
        heads = [one for one in self.services if one["rank"] == 0 and one["host"] in self.units]
        return [one for one in heads if _instance(one) in self._unable]

    @cached_property
    def _missing(self) -> list[str]:
        """The hosts that what cannot answer waits for."""
        return list(
            dict.fromkeys(host for instance in self._cut if instance in self._unable for host in self._cut[instance])
        )


def _instance(one: Service) -> Instance:
    return one["role"], one["instance"]


def _name(instance: Instance) -> str:
    return f"{instance[0]}-{instance[1]}"
