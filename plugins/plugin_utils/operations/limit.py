# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What --limit leaves out: who must not restart without it, and who cannot become ready without it.

A host that was not asked may run its services or not. So what only starts is started, and its other nodes may come
later; but it is neither waited for nor asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.restarts import NEW_PROCESS, must_restart

Services = Sequence[Mapping[str, Any]]
Units = Mapping[str, Mapping[str, Mapping[str, Any]]]

_SERVES_WITH = {"prefill": ("prefill", "decode"), "decode": ("prefill", "decode"), "mixed": ("mixed",)}


def beyond_limit(services: Services, units: Units, also: Mapping[str, Mapping[str, str]]) -> list[Finding]:
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
    return findings


def whole(services: Services, units: Units) -> dict[str, list[Mapping[str, Any]]]:
    """Host -> its services that can become ready: the asked hosts have their instance with all its nodes.

    A router can, unless what starts leaves it without any instance of a role that can.
    """
    cut = _cut(services, units)
    mute = {(one["host"], one["unit"]) for one in _mute(services, units)}
    result: dict[str, list[Mapping[str, Any]]] = {host: [] for host in units}
    for one in services:
        if _instance(one) not in cut and (one["host"], one["unit"]) not in mute:
            result[one["host"]].append(one)
    return result


def unasked(services: Services, units: Units) -> dict[str, list[str]]:
    """Host -> units of it that no answer can be expected from: entrances to what starts and cannot become ready."""
    result: dict[str, list[str]] = {}
    for one in _mute(services, units):
        result.setdefault(one["host"], []).append(one["unit"])
    return result


def left_out(services: Services, units: Units) -> list[str]:
    """For people: which instances of the asked hosts have other hosts that were not asked, and what follows."""
    starting = _starting(services, units)
    asked = {_instance(one) for one in services if one["host"] in units}
    lines = []
    for instance, hosts in _cut(services, units).items():
        if instance in asked:
            then = "starts on the others and is not waited for" if instance in starting else "is not waited for"
            lines.append(f"--limit leaves out {', '.join(hosts)} of {instance[0]}-{instance[1]}: it {then}")
    lines += [
        f"{one['unit']} on {one['host']} cannot answer before those hosts run their part: it is not asked"
        for one in _mute(services, units)
    ]
    return lines


def _instance(one: Mapping[str, Any]) -> tuple[str, int]:
    return one["role"], one["instance"]


def _cut(services: Services, units: Units) -> dict[tuple[str, int], list[str]]:
    """Instance -> its hosts that were not asked."""
    result: dict[tuple[str, int], list[str]] = {}
    for one in services:
        if one["host"] not in units:
            result.setdefault(_instance(one), []).append(one["host"])
    return result


def _starting(services: Services, units: Units) -> set[tuple[str, int]]:
    return {
        _instance(one)
        for one in services
        if units.get(one["host"], {}).get(one["unit"], {}).get("action") in NEW_PROCESS
    }


def _mute(services: Services, units: Units) -> list[Mapping[str, Any]]:
    """The asked entrances without any instance of a role that could answer."""
    hopeless = _starting(services, units) & set(_cut(services, units))
    roles = {one["role"] for one in services if one["role"] in _SERVES_WITH}
    silent = {role for role in roles if all(_instance(one) in hopeless for one in services if one["role"] == role)}
    routers = [one for one in services if one["role"] == "router"]
    if routers:
        return [one for one in routers if one["host"] in units] if silent else []
    return [one for one in services if one["rank"] == 0 and one["host"] in units and _instance(one) in hopeless]
