# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The services' commands as a reader wants them: what a role's services share once, what differs by service, and what
is not as on the page marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.conditions import side


@dataclass(frozen=True)
class Line:
    """A line of a command. kind: source, unset, env, start or arg; name: the flag or variable; value: what it is set
    to, empty where nothing or where it differs; own: whether it differs from service to service; mark: why it is not as
    on the page (`override`, `deviation` or empty); page: what the page has; gone: whether only the page has it."""

    kind: str
    name: str
    value: str
    own: bool = False
    mark: str = ""
    page: str = ""
    why: str = ""
    gone: bool = False


@dataclass(frozen=True)
class RoleCommands:
    """All services of a role. columns: names that differ; rows: where (host, unit, rank), then their values."""

    role: str
    where: tuple[str, ...]
    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def commands(plan: Mapping[str, Any]) -> list[RoleCommands]:
    """The commands of a plan by role, in the plan's order, the benchmark last."""
    roles: dict[str, list[Mapping[str, Any]]] = {}
    for one in plan["services"]:
        roles.setdefault(one["role"], []).append(one)
    benchmark = plan.get("benchmark")
    if benchmark:
        roles["benchmark"] = [{**benchmark, "unit": "", "rank": 0, "instance": 0, "source": []}]
    return [_role(role, services, plan["deviations"]) for role, services in roles.items()]


def _role(role: str, services: Sequence[Mapping[str, Any]], deviations: Sequence[Mapping[str, Any]]) -> RoleCommands:
    tables = [dict(_entries(one)) for one in services]
    names = list(dict.fromkeys(name for table in tables for name in table))
    marks: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in deviations:
        if one["role"] == role:
            marks.setdefault((one["kind"], one["name"]), []).append(one)
    lines, columns = [], []
    for kind, name in names:
        values = {table.get((kind, name)) for table in tables}
        own = len(values) > 1
        if own:
            columns.append((kind, name))
        value = "" if own else values.pop() or ""
        lines.append(_line(kind, name, value, own, marks.pop((kind, name), [])))
    # What the page has and the plan has not.
    gone = [_line(kind, name, "", False, found, gone=True) for (kind, name), found in marks.items()]
    rows = tuple(
        (one["host"], one["unit"], str(one["rank"]), *(_shown(table.get(column)) for column in columns))
        for one, table in zip(services, tables, strict=True)
    )
    return RoleCommands(
        role,
        tuple(one["host"] for one in services),
        tuple(_ordered([*lines, *gone])),
        tuple(name for _kind, name in columns),
        rows if columns else (),
    )


def _ordered(lines: Sequence[Line]) -> list[Line]:
    order = ("source", "unset", "env", "start", "arg")
    return sorted(lines, key=lambda line: order.index(line.kind))


def _entries(one: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    for path in one["source"]:
        yield ("source", path), ""
    for name in one["unset"]:
        yield ("unset", name), ""
    for name, value in one["env"].items():
        yield ("env", name), side(value)
    yield ("start", " ".join(one["argv"][:3])), ""
    yield from _flags(one["argv"][3:])


def _flags(words: Sequence[Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Flags with all their words; those of one that repeats together."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if isinstance(word, str) and word.startswith("--"):
            name = word
            found.setdefault(name, [])
        else:
            found.setdefault(name, []).append(side(word))
    for flag, values in found.items():
        yield ("arg", flag), " ".join(values)


def _line(
    kind: str, name: str, value: str, own: bool, found: Sequence[Mapping[str, Any]], *, gone: bool = False
) -> Line:
    if not found:
        return Line(kind, name, value, own)
    pages = list(dict.fromkeys(side(one["page"]) for one in found))
    page = pages[0] if len(pages) == 1 else "another for each"
    reason = "override" if any(one["reason"] == "override" for one in found) else "deviation"
    return Line(kind, name, value, own, reason, page or "not on the page", found[0]["why"], gone)


def _shown(value: str | None) -> str:
    return "(absent)" if value is None else value or "(set)"
