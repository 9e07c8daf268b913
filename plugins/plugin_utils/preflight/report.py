# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a preflight: lines for people, worst first, and preflight.json."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.plan_stage import PLAN_CHECKS
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.registry import Outcome
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import some, spans

# Worst first; `unknown` and `skipped` stop nothing, and say that nothing is known.
LEVELS = ("error", "warning", "unknown", "skipped", "ok")
_WORDS = {"error": "ERROR", "warning": "warning", "unknown": "unknown", "skipped": "skipped", "ok": "ok"}
_PLAN = "plan"


@dataclass(frozen=True)
class Line:
    """One line: what a check says of some hosts."""

    level: str
    check: str
    hosts: tuple[str, ...]
    text: str
    do: str = ""


def lines(outcomes: Sequence[Outcome], of_plan: Sequence[Finding], hosts: Collection[str]) -> tuple[Line, ...]:
    """Everything that there is to say, worst first, then in the order of the checks.

    of_plan: the compiler's findings; hosts: the plan's, those that did not answer too.
    """
    found = [*(_of_plan(one, hosts) for one in of_plan), *_plan_ok(of_plan)]
    for outcome in outcomes:
        found += _of_check(outcome)
    return tuple(sorted(found, key=lambda one: LEVELS.index(one.level)))


def _of_plan(one: Finding, hosts: Collection[str]) -> Line:
    """The compiler says where in words; what it says of a host stands with that host."""
    word, _blank, rest = one.where.partition(" ")
    names = tuple(rest.split(", ")) if word in ("host", "hosts") else ()
    if names and set(names) <= set(hosts):
        return Line(one.level, one.check, names, one.what, one.do)
    if word == "host" and names[0] in hosts:
        return Line(one.level, one.check, names[:1], f"{', '.join(names[1:])}: {one.what}", one.do)
    return Line(one.level, one.check, (_PLAN,), f"{one.where}: {one.what}", one.do)


def _plan_ok(found: Sequence[Finding]) -> Iterator[Line]:
    quiet = len(set(PLAN_CHECKS) - {one.check for one in found})
    yield Line("ok", _PLAN, (_PLAN,), f"{quiet} checks of the plan alone")


def _of_check(outcome: Outcome) -> Iterator[Line]:
    name = outcome.check.name
    if outcome.skipped:
        yield Line("skipped", name, outcome.hosts, "sglang_preflight_skip")
        return
    for one in outcome.problems:
        text = f"{one.where}: {one.what}" if one.where else one.what
        do = (one.do or outcome.check.remedy) if one.level != "unknown" else ""
        yield Line(one.level, name, one.hosts, text, do)
    named = {host for one in outcome.problems for host in one.hosts}
    good = tuple(host for host in outcome.hosts if host not in named)
    if good:
        yield Line("ok", name, good, "")


def text(found: Sequence[Line]) -> list[str]:
    """The lines in columns, and a sum. A check that is content with many hosts takes one line."""
    # What the compiler says may be of a host that did not answer.
    everybody = {host for one in found if one.check not in PLAN_CHECKS for host in one.hosts if host != _PLAN}
    rows = [(_WORDS[one.level], one.check, _hosts(one, everybody), one.text) for one in found]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    place = min(max((len(row[2]) for row in rows), default=0), 28)
    shown = [
        f"{word:<{widths[0]}}  {name:<{widths[1]}}  {hosts:<{place}}  {words}".rstrip()
        for word, name, hosts, words in rows
    ]
    return [*shown, total(found)]


def _hosts(line: Line, everybody: set[str]) -> str:
    if len(line.hosts) > 2 and set(line.hosts) == everybody:
        return f"all {len(everybody)} hosts"
    if line.level in ("error", "warning"):
        return spans(line.hosts)
    return some(line.hosts, 4)


def total(found: Iterable[Line]) -> str:
    """How many lines of each level there are, in a sentence."""
    counts = dict.fromkeys(LEVELS, 0)
    for one in found:
        counts[one.level] += 1
    parts = [
        _number(counts["error"], "error"),
        _number(counts["warning"], "warning"),
        f"{counts['unknown']} not looked at",
        f"{counts['skipped']} skipped",
    ]
    return "preflight: " + ", ".join(parts[:2] + [one for one in parts[2:] if not one.startswith("0 ")])


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def as_dict(found: Sequence[Line], hosts: Sequence[str], explained: Mapping[str, str]) -> dict[str, Any]:
    """preflight.json: the lines, and by host and check the worst level. No time: equal clusters give equal files.

    hosts: those that were asked, whether they answered or not.
    """
    matrix: dict[str, dict[str, str]] = {host: {} for host in hosts}
    for one in found:
        for host in one.hosts:
            if host in matrix:
                # Lines come worst first.
                matrix[host].setdefault(one.check, one.level)
    return {
        "errors": sum(1 for one in found if one.level == "error"),
        "warnings": sum(1 for one in found if one.level == "warning"),
        "checks": [{"name": name, "explains": meaning} for name, meaning in explained.items()],
        "hosts": matrix,
        "findings": [
            {"level": one.level, "check": one.check, "hosts": list(one.hosts), "what": one.text, "do": one.do}
            for one in found
            if one.level != "ok"
        ],
    }


def as_json(content: Mapping[str, Any]) -> str:
    """The text of preflight.json."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
