# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services restart because another one does.

A rank cannot join a running instance, so its ranks restart as one. The store dies with the process that serves it, so
the PD group restarts with its holder. A service that starts has lost its peers' connections like one that restarts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import ENGINE_ROLES

# What the module ascend.sglang.service calls the actions after which a process is a new one.
NEW_PROCESS = ("start", "restart")


def restarts(
    services: Sequence[Mapping[str, Any]], units: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> dict[str, dict[str, str]]:
    """Host -> unit -> why, for services that would not restart by themselves.

    services: the plan's; units: host -> unit -> what ascend.sglang.service would do (`action`). A host that was not
    asked (outside of --limit) is neither looked at nor restarted.
    """
    asked = [one for one in services if one["unit"] in units.get(one["host"], {})]

    def new(one: Mapping[str, Any]) -> bool:
        return units[one["host"]][one["unit"]].get("action") in NEW_PROCESS

    causes: dict[tuple[str, int], str] = {}
    for one in asked:
        if new(one) and one["role"] != "router":
            causes.setdefault((one["role"], one["instance"]), f"{_name(one)} starts anew")
    group = _group_cause(asked, new, causes)
    result: dict[str, dict[str, str]] = {}
    for one in asked:
        why = causes.get((one["role"], one["instance"]))
        if one["role"] in ("prefill", "decode"):
            why = group or why
        if why and one["role"] in ENGINE_ROLES and not new(one):
            result.setdefault(one["host"], {})[one["unit"]] = why
    return result


def _group_cause(asked: Sequence[Mapping[str, Any]], new: Any, causes: Mapping[tuple[str, int], str]) -> str | None:
    """Why the whole PD group restarts: its store does, by itself or with the instance that holds it."""
    holder = next((one for one in asked if "store" in one["ports"]), None)
    if holder is None:
        return None
    if new(holder):
        return f"{_name(holder)} starts anew, and it holds the store of the PD group"
    # The holder's instance restarts as one, and the store with it.
    why = causes.get((holder["role"], holder["instance"]))
    return f"{_name(holder)} restarts with its instance, and it holds the store of the PD group" if why else None


def halts(
    services: Sequence[Mapping[str, Any]],
    units: Mapping[str, Mapping[str, Mapping[str, Any]]],
    also: Mapping[str, Mapping[str, str]],
) -> dict[str, list[Mapping[str, Any]]]:
    """Host -> its running services that must be down everywhere before one of them starts again.

    A rank that starts while an old rank 0 still drains would join that one and die with it; so would a service that
    finds the old store. A service of one node with nobody to meet restarts in one step.
    """
    group = any("store" in one["ports"] and must_restart(one, units, also) for one in services)
    result: dict[str, list[Mapping[str, Any]]] = {}
    for one in services:
        together = one["nnodes"] > 1 or (group and one["role"] in ("store", "prefill", "decode"))
        if together and must_restart(one, units, also):
            result.setdefault(one["host"], []).append(one)
    return result


def must_restart(
    one: Mapping[str, Any], units: Mapping[str, Mapping[str, Mapping[str, Any]]], also: Mapping[str, Mapping[str, str]]
) -> bool:
    """Whether a service that runs becomes a new process, by itself or because of another one."""
    own = units.get(one["host"], {}).get(one["unit"], {})
    return own.get("action") == "restart" or one["unit"] in also.get(one["host"], {})


def _name(one: Mapping[str, Any]) -> str:
    rank = f"rank {one['rank']} of " if one["nnodes"] > 1 else ""
    return f"{rank}{one['role']}-{one['instance']} on {one['host']}"


def lines(
    services: Sequence[Mapping[str, Any]],
    units: Mapping[str, Mapping[str, Mapping[str, Any]]],
    also: Mapping[str, Mapping[str, str]],
) -> list[str]:
    """What would happen to each service, for people."""
    result = []
    for one in services:
        unit = units.get(one["host"], {}).get(one["unit"], {})
        why = also.get(one["host"], {}).get(one["unit"])
        action, reason = ("restart", why) if why else (unit.get("action", "none"), unit.get("reason"))
        if action != "none":
            result.append(_line(one["host"], action, one["unit"], reason))
    planned = {(one["host"], one["unit"]) for one in services}
    for host, own in units.items():
        result += [
            _line(host, unit["action"], name, unit.get("reason"))
            for name, unit in own.items()
            if (host, name) not in planned and unit.get("action", "none") != "none"
        ]
    return result


def _line(host: str, action: str, unit: str, reason: str | None) -> str:
    return f"{host}: {action} {unit}{f' because {reason}' if reason else ''}"
