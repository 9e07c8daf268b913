# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a cluster: what hosts and router told, beside the plan, as one table and as one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import ENGINE_ROLES

_COLUMNS = ("host", "unit", "instance", "state", "since", "restarts", "version", "guard", "disk")
_AS_PLANNED = "as planned"


@dataclass(frozen=True)
class Told:
    """What one host told. Each part is None where it was not asked or did not answer.

    statuses: module service_status; units: module host_facts; check: module service in check mode; problem: why
    something is missing, in words.
    """

    statuses: Sequence[Mapping[str, Any]] | None = None
    units: Mapping[str, Mapping[str, Any]] | None = None
    check: Mapping[str, Any] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Report:
    """The state of a cluster."""

    services: list[dict[str, Any]]
    router: dict[str, Any] | None
    problems: list[str] = field(default_factory=list)

    @property
    def ready(self) -> bool:
        """Whether all that the plan has is ready, and the router has all of its workers."""
        whole = self.router is None or not self.router["missing"]
        return whole and all(one["ready"] for one in self.services if one["planned"])

    @property
    def differs(self) -> bool:
        """Whether anything is not as the plan has it: files, versions, modes, units, workers."""
        strange = self.router is not None and bool(self.router["unknown"] or self.router["missing"])
        return strange or bool(self.problems) or any(one["differs"] for one in self.services)

    def as_dict(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """As status.json has it."""
        return {
            "profile": plan["profile"],
            "engine": plan["engine"],
            "ready": self.ready,
            "differs": self.differs,
            "services": self.services,
            "router": self.router,
            "problems": self.problems,
        }


def report(plan: Mapping[str, Any], told: Mapping[str, Told], listing: Mapping[str, Any] | None) -> Report:
    """The state of the plan's services and of what else of ours is on their hosts.

    plan: as plan.json; listing: what the router told of its workers (host_facts), None where there is none.
    """
    rows = [_row(one, told.get(one["host"], Told(problem="was not asked")), plan["engine"]) for one in plan["services"]]
    planned = {(one["host"], one["unit"]) for one in plan["services"]}
    for host, own in told.items():
        rows += [_stranger(host, unit, one) for unit, one in (own.units or {}).items() if (host, unit) not in planned]
    # A word per host, not per service.
    problems = [f"{host}: {own.problem}" for host, own in told.items() if own.problem]
    return Report(rows, _router(plan, listing), problems)


def _row(one: Mapping[str, Any], own: Told, engine: str) -> dict[str, Any]:
    status = next((two for two in own.statuses or () if two["unit"] == one["unit"]), None)
    differs = _differences(one, own)
    row = {
        "host": one["host"],
        "unit": one["unit"],
        "role": one["role"],
        "instance": one["instance"],
        "rank": one["rank"],
        "planned": True,
        "state": "unknown",
        "since": "",
        "restarts": None,
        "ready": False,
        "why": own.problem or "was not asked",
        "version": {"reported": None, "planned": None if one["role"] in ("router", "store") else engine},
        "mode": {"reported": None, "planned": None if one["role"] in ("router", "store") else one["role"]},
        "invocation": "",
        "guard": None,
        "compared": own.check is not None,
        "differs": differs,
    }
    if status is None:
        return row
    version, mode = status.get("version") or None, status.get("mode") or None
    if version and not _same(version, engine):
        differs.append(f"the server says that it is version {version}, the plan is for {engine}")
    if mode and mode != one["role"]:
        differs.append(f"the server says that it runs as {mode}")
    row.update(
        state=status["phase"],
        since=when(status["since"]),
        restarts=status["restarts"],
        ready=status["ready"],
        why="" if status["ready"] else _why(status),
        invocation=status["invocation"],
        guard=status.get("guard"),
    )
    row["version"]["reported"], row["mode"]["reported"] = version, mode
    return row


def _same(version: str, engine: str) -> bool:
    """A local build label (0.5.13.post1+npu) does not make another version."""
    return version.partition("+")[0] == engine


def _differences(one: Mapping[str, Any], own: Told) -> list[str]:
    """What a deployment would do to this service."""
    if own.check is None:
        return []
    what = own.check["units"].get(one["unit"], {})
    if not what.get("changed") and what.get("action", "none") == "none":
        return []
    reason = what.get("reason")
    action = what.get("action", "none")
    # Sentences about its files name it; those about its process are told by the reason.
    words = [
        line for line in own.check["actions"] if f"/{one['unit']}" in line and not line.startswith(("start", "restart"))
    ]
    if action != "none":
        words.append(f"a deployment would {action} it" + (f" because {reason}" if reason else ""))
    return words or ["a deployment would change it"]


def _stranger(host: str, unit: str, one: Mapping[str, Any]) -> dict[str, Any]:
    """A unit of ours that the plan does not have."""
    return {
        "host": host,
        "unit": unit,
        "role": one["role"],
        "instance": one["instance"] or 0,
        "rank": one["rank"] or 0,
        "planned": False,
        "state": f"{one['active']} ({one['sub']})",
        "since": "",
        "restarts": one["restarts"],
        "ready": False,
        "why": "",
        "version": {"reported": None, "planned": None},
        "mode": {"reported": None, "planned": None},
        "invocation": one["invocation"],
        "guard": None,
        "compared": True,
        "differs": ["the plan does not have it; a deployment would remove it"],
    }


def _why(status: Mapping[str, Any]) -> str:
    """Why a service is not ready."""
    if status["phase"] in ("stopped", "not installed"):
        return f"{status['phase']}; a deployment would start it"
    if status["dead"]:
        return " ".join(part for part in (f"died ({status['ending']}).", status["cause"]) if part)
    return str(status["health"] or status["phase"])


def _router(plan: Mapping[str, Any], listing: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The router's view of its workers, beside the plan's."""
    heads = [one for one in plan["services"] if one["rank"] == 0 and one["role"] in ENGINE_ROLES]
    if listing is None:
        return None
    planned = {one["url"]: f"{one['role']}-{one['instance']}" for one in heads}
    workers = [{**one, "instance": planned.get(one["url"])} for one in listing["workers"]]
    healthy = {one["url"] for one in workers if one["healthy"]}
    supported = bool(listing["supported"])
    note = "" if supported else listing.get("error") or "mini-lb does not tell its workers"
    return {
        "supported": supported,
        "readiness": listing["readiness"],
        "note": note,
        "workers": workers,
        "missing": [name for url, name in planned.items() if supported and url not in healthy],
        "unknown": [one["url"] for one in workers if one["instance"] is None],
    }


def when(text: str) -> str:
    """systemd's time without the day of the week."""
    words = text.split()
    return " ".join(words[1:]) if len(words) > 2 else text


def page(state: Report, plan: Mapping[str, Any]) -> list[str]:
    """The table and what is to be said about it, line by line."""
    rows = [_COLUMNS, *(_cells(one) for one in state.services)]
    shown = [number for number in range(len(_COLUMNS)) if any(row[number] for row in rows[1:])]
    widths = {number: max(len(row[number]) for row in rows) for number in shown}
    lines = ["  ".join(row[number].ljust(widths[number]) for number in shown).rstrip() for row in rows]
    lines += _notes(state)
    verdict = "everything is ready" if state.ready else "NOT everything is ready"
    planned = "differs from the plan" if state.differs else "as planned"
    return [f"{plan['profile']}, SGLang {plan['engine']}: {verdict}, {planned}", "", *lines]


def _cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    rank = f", rank {one['rank']}" if one["rank"] else ""
    version = one["version"]["reported"] or ""
    if version and not _same(version, str(one["version"]["planned"])):
        version += f" (planned {one['version']['planned']})"
    guard = one["guard"] or {}
    return (
        one["host"],
        one["unit"],
        f"{one['role']}-{one['instance']}{rank}",
        one["state"],
        one["since"],
        "" if one["restarts"] is None else str(one["restarts"]),
        version,
        str(guard.get("phase") or guard.get("error") or ""),
        _disk(one),
    )


def _disk(one: Mapping[str, Any]) -> str:
    if not one["planned"]:
        return "not in the plan"
    return "differs" if one["differs"] else _AS_PLANNED if one["compared"] else ""


def _short(lines: Sequence[str]) -> list[str]:
    """The last of them, which tells why; status.json has all."""
    return [*lines[-1:], f"and {len(lines) - 1} more differences, in status.json"] if len(lines) > 1 else list(lines)


def _notes(state: Report) -> Iterable[str]:
    notes = [f"{one['unit']} on {one['host']}: {one['why']}" for one in state.services if one["why"]]
    notes += [f"{one['unit']} on {one['host']}: {line}" for one in state.services for line in _short(one["differs"])]
    notes += [
        f"{one['unit']} on {one['host']}: its guard says: {one['guard']['last']}"
        for one in state.services
        if (one["guard"] or {}).get("last")
    ]
    if state.router is not None:
        router = state.router
        names = [
            f"{one['instance'] or one['url']}{'' if one['healthy'] else ' (unhealthy)'}" for one in router["workers"]
        ]
        seen = (
            f"has {', '.join(names) or 'no worker'}; it says {router['readiness']}"
            if router["supported"]
            else router["note"]
        )
        notes.append(f"router: {seen}")
        notes += [f"router: has no healthy worker for {name}" for name in router["missing"]]
        notes += [f"router: has a worker that the plan does not have, {url}" for url in router["unknown"]]
    notes += state.problems
    return ["", *notes] if notes else []
