# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as a page to read: Markdown, for a terminal or a browser. Prints; decides nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Deviation
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service


def page(plan: Plan, note: str) -> str:
    """The whole page. `note` says which profile was taken and which others there are."""
    parts = [
        [
            f"# Plan: {plan.profile}",
            "",
            note,
            f"SGLang {plan.engine}, {plan.cards} cards, {len(plan.services)} services.",
        ],
        _section("Findings", _findings(plan)),
        _section("Instances", _instances(plan)),
        _section("Services", _services(plan.services)),
        _section("Deviations from the page", _deviations(plan.deviations)),
        _section("Commands", _commands(plan)),
    ]
    return "\n".join(line for part in parts for line in [*part, ""])


def summary(plan: Plan, note: str) -> list[str]:
    """A few lines for the terminal: instances with their ranks, the entrance, how the plan differs."""
    lines = [note]
    for one in plan.instances:
        ranks = ", ".join(f"rank {rank} {node}" for rank, node in enumerate(one.nodes))
        bootstrap = f", bootstrap port {one.bootstrap_port}" if one.bootstrap_port else ""
        lines.append(f"{one.role} instance {one.index}: {ranks}; {one.url}{bootstrap}")
    lines += [f"entrance: {one.url} on {one.host}" for one in plan.entrances]
    lines.append(
        f"{len(plan.services)} services on {plan.cards} cards; {len(plan.deviations)} deviations from the page"
    )
    return lines


def _section(title: str, lines: Iterable[str]) -> list[str]:
    body = list(lines)
    return [f"## {title}", "", *body] if body else [f"## {title}", "", "None."]


def _findings(plan: Plan) -> Iterator[str]:
    for one in plan.findings:
        yield f"- **{one.level}** {_cell(str(one))} (`{one.check}`)"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(_cell(str(item)) for item in row) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _instances(plan: Plan) -> Iterator[str]:
    yield from _table(
        ("instance", "nodes by rank", "URL", "bootstrap port"),
        (
            (f"{one.role}-{one.index}", ", ".join(one.nodes), one.url, one.bootstrap_port or "")
            for one in plan.instances
        ),
    )


def _services(services: Sequence[Service]) -> Iterator[str]:
    yield from _table(
        ("host", "unit", "rank", "NPUs", "ports"),
        (
            (
                one.host,
                one.unit,
                f"{one.rank} of {one.nnodes}",
                f"{one.npus[0]}-{one.npus[1]}" if one.npus else "",
                ", ".join(f"{name} {port}" for name, port in one.ports.items()),
            )
            for one in services
        ),
    )


def _deviations(deviations: Sequence[Deviation]) -> Iterator[str]:
    """One row for what several services share."""
    where: dict[tuple[str, str, str, str, str], list[str]] = {}
    for one in deviations:
        side = (one.kind, one.name, _side(one.page), _side(one.rendered), one.why)
        where.setdefault(side, []).append(f"{one.role}-{one.instance}/{one.rank}@{one.host}")
    if where:
        yield from _table(
            ("", "name", "page", "plan", "why", "where"), ((*side, ", ".join(hosts)) for side, hosts in where.items())
        )


def _side(value: Any) -> str:
    if value is None:
        return "(absent)"
    if isinstance(value, list):
        return " ".join(_side(item) for item in value) or "(bare)"
    if isinstance(value, dict):
        return f"(secret {value['secret']})"
    return f"`{value}`"


def _commands(plan: Plan) -> Iterator[str]:
    for one in plan.services:
        yield from [f"### {one.unit} on {one.host}", "", "```bash"]
        yield from (f"source {shlex.quote(path)}" for path in one.source)
        yield from (f"unset {name}" for name in one.unset)
        yield from (f"export {name}={shlex.quote(str(value))}" for name, value in one.env.items())
        yield command_line(one.argv)
        yield from ["```", ""]
    if plan.benchmark:
        yield from [f"### Benchmark on {plan.benchmark.host}", "", "```bash", command_line(plan.benchmark.argv), "```"]


def command_line(argv: Iterable[Any]) -> str:
    """One flag a line; a secret by its name."""
    words = [f"<{word['secret']}>" if isinstance(word, dict) else shlex.quote(str(word)) for word in argv]
    text = ""
    for word in words:
        text += f" \\\n    {word}" if word.startswith("--") else f" {word}"
    return text.strip()
