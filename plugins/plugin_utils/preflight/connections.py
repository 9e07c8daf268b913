# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the edges of a plan and the hosts' answers to what each host connects to, and what came of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.layout import guard_of
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.edges import HARMLESS, Edge
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

Answers = Mapping[str, Mapping[str, Any]]


def state(edge: Edge, answers: Answers) -> str:
    """What stands at the target's port: `listener` (a throw-away one), `service` (one of ours), `taken` or `unknown`.

    unknown: the target was not asked, or could not start a listener there for another reason than its port.
    """
    facts = answers.get(edge.target)
    if facts is None or "preflight" not in facts:
        return "unknown"
    if ours(facts, edge.port):
        return "service"
    # JSON knows no numbers as keys.
    started: Mapping[str, str] = facts["preflight"]["throwaway"]
    if started.get(str(edge.port)) == "":
        return "listener"
    return "taken" if any(one["port"] == edge.port for one in facts["listeners"]) else "unknown"


def ours(facts: Mapping[str, Any], port: int) -> bool:
    """Whether one of this collection's services listens on a port of a host."""
    return any(one["port"] == port for one in facts["listeners"] if is_ours(one["unit"], facts))


def is_ours(unit: str | None, facts: Mapping[str, Any]) -> bool:
    """Whether a unit of a host is a service of this collection, or the guard of one."""
    return unit is not None and (unit in facts["units"] or unit in map(guard_of, facts["units"]))


def unopened(facts: Mapping[str, Any]) -> dict[int, str]:
    """The ports on which a host could start no throw-away listener, and why; none of those that a service of ours has.

    One that runs may have a port without listening on it: what its unit says is its own.
    """
    started: Mapping[str, str] = (facts.get("preflight") or {}).get("throwaway", {})
    running = [one for one in facts["units"].values() if one["active"] in ("active", "reloading", "deactivating")]
    kept = {port for one in running for port in (one.get("ports") or {}).values()}
    return {
        int(port): why for port, why in started.items() if why and int(port) not in kept and not ours(facts, int(port))
    }


def targets_by_host(
    edges: Iterable[Edge], answers: Answers, addresses: Mapping[str, str], sources: Collection[str]
) -> dict[str, list[dict[str, Any]]]:
    """What each host that answered is to connect to, as the module ascend.sglang.preflight_connect takes it.

    sources: hosts that connect to running services as well, where that cannot disturb them.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for edge in edges:
        if edge.source not in answers:
            continue
        there = state(edge, answers)
        if there == "listener" or (there == "service" and edge.source in sources and edge.purpose in HARMLESS):
            place = {"host": edge.target, "address": addresses[edge.target], "port": edge.port}
            found.setdefault(edge.source, []).append({**place, "greets": there == "listener"})
    return found


def starting(services: Iterable[Service], answers: Answers) -> set[str]:
    """The hosts of which a service does not run."""
    return {
        one.host
        for one in services
        if one.host in answers and (answers[one.host]["units"].get(one.unit) or {}).get("active") != "active"
    }


def undisturbed(edges: Sequence[Edge], answers: Answers) -> list[Edge]:
    """The edges to running services that a bare connection might disturb; one for each port."""
    kept = [one for one in edges if one.purpose not in HARMLESS and state(one, answers) == "service"]
    return list({(one.target, one.port): one for one in kept}.values())
