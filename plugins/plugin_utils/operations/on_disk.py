# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The services that hosts have, as their unit files tell: enough to run them without profile or plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.limit import parted

Facts = Mapping[str, Mapping[str, Any]]

_ORDER = ("store", "prefill", "decode", "mixed", "router")


def services(facts: Facts) -> list[dict[str, Any]]:
    """Host facts (module host_facts) by host to services, those of an instance side by side, ranks in order."""
    found = [
        {
            "host": host,
            "unit": unit,
            "role": one["role"],
            "instance": int(one["instance"] or 0),
            "rank": int(one["rank"] or 0),
            "nnodes": int(one["nodes"] or 1),
            "url": one["url"],
            "ports": dict(one["ports"]),
        }
        for host, told in facts.items()
        for unit, one in told["units"].items()
        # A directory that an aborted run left is no service.
        if one["role"] in _ORDER
    ]
    return sorted(found, key=lambda one: (_ORDER.index(one["role"]), one["instance"], one["rank"], one["host"]))


def states(facts: Facts, chosen: Sequence[Mapping[str, Any]], reason: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Host -> unit -> what would become of it, as ascend.sglang.service tells: the chosen ones restart."""
    named = {(one["host"], one["unit"]) for one in chosen}
    result: dict[str, dict[str, dict[str, Any]]] = {}
    for host, told in facts.items():
        own = result.setdefault(host, {})
        for unit, one in told["units"].items():
            restart = (host, unit) in named
            own[unit] = {
                "action": "restart" if restart else "none",
                "reason": reason if restart else "",
                "changed": False,
                "state": f"{one['active']} ({one['sub']})",
            }
    return result


def urls(facts: Facts) -> dict[str, dict[str, str]]:
    """Host -> unit -> the URL in its unit file."""
    return {host: {unit: one["url"] or "" for unit, one in told["units"].items()} for host, told in facts.items()}


def ready(facts: Facts) -> dict[str, dict[str, bool | None]]:
    """Host -> unit -> whether it is ready; None where it does not run, or was not asked."""
    return {host: {unit: one.get("ready") for unit, one in told["units"].items()} for host, told in facts.items()}


def routers(facts: Facts) -> list[Mapping[str, Any]]:
    """What each router told, as the module router_workers tells it; nothing of one that was not asked."""
    return [one["router"] for told in facts.values() for one in told["units"].values() if one.get("router")]


def unproven(
    facts: Facts, services: Mapping[str, Sequence[Mapping[str, Any]]], workers: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The hosts of which not all services are known to be ready, or whose router is not known to have all workers.

    services: host -> those that should be ready; workers: those that the router should have, each with `url`.
    """
    wanted = {one["url"] for one in workers}

    def proven(unit: Mapping[str, Any] | None) -> bool:
        if unit is None or not unit.get("ready"):
            return False
        router = unit.get("router")
        if router is None:
            return True
        have = {one["url"] for one in router["workers"] if one["healthy"]}
        return not router["error"] and (wanted <= have or not router["supported"])

    return [
        host
        for host, own in services.items()
        if not all(proven(facts.get(host, {}).get("units", {}).get(one["unit"])) for one in own)
    ]


def chosen(
    there: Sequence[Mapping[str, Any]], roles: Sequence[str], instances: Sequence[str]
) -> list[Mapping[str, Any]]:
    """The services of these roles, or of these instances (decode-0). Without any, all instances.

    CompileError where one of them does not exist, or a rank of an instance is on none of the hosts.
    """
    names = {f"{one['role']}-{one['instance']}" for one in there}
    problems = [
        error("selection", f"role={role}", "no host has a service of this role", f"There are: {_list(names)}")
        for role in roles
        if role not in {one["role"] for one in there}
    ]
    problems += [
        error("selection", f"instance={name}", "no host has this instance", f"There are: {_list(names)}")
        for name in instances
        if name not in names
    ]
    if not there:
        problems.append(error("selection", "hosts", "no host has a service of this collection", "Deploy first"))
    if roles or instances:
        found = [one for one in there if one["role"] in roles or f"{one['role']}-{one['instance']}" in instances]
    else:
        found = [one for one in there if one["role"] not in ("router", "store")]
    named = {(one["role"], one["instance"]) for one in found}
    problems += parted([one for one in there if (one["role"], one["instance"]) in named])
    if problems:
        raise CompileError(problems)
    return found


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
