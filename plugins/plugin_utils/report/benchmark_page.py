# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark as pages and lines: for a browser, a terminal, and the end of a playbook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.comparison import Comparison
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.history import Run
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import Spread
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.verdict import Verdict
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan_page import command_line
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.cluster_drawing import draw
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.commands import commands
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.pages import drawing, number, render
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.plots import distributions

_STATISTICS = ("mean", "median", "p90", "p95", "p99")


def write(run: Run, verdict: Verdict, compared: Comparison | None) -> list[Path]:
    """Write the pages beside the run; their paths, the HTML page first. Raises CompileError without the libraries."""
    texts = {"benchmark.html": html(run, verdict, compared), "benchmark.md": markdown(run, verdict, compared)}
    for name, text in texts.items():
        (run.path / name).write_text(text, encoding="utf-8")
    return [run.path / name for name in texts]


def summary(verdict: Verdict, compared: Comparison | None) -> list[str]:
    """A few lines for the end of a playbook."""
    lines = [verdict.line, *verdict.reasons, *verdict.notes]
    lines += [f"{count} x {text}" for text, count in verdict.requests.errors.items()]
    for label, spread in _spreads(verdict):
        lines.append(
            f"{label}: mean {number(spread.mean)}, median {number(spread.median)}, p99 {number(spread.p99)} ms"
        )
    rate, card = verdict.result.output_throughput, verdict.per_card["output"]
    lines.append(f"output: {number(rate)} tokens/s, {number(card)} a card ({verdict.cards} cards)")
    differing = [one for one in verdict.conditions if one.topic != "deviation"]
    lines += [f"not as on the page: {one}" for one in differing]
    more = len(verdict.conditions) - len(differing)
    lines += [f"and {more} deviations of the plan that it declares itself"] if more else []
    return [*lines, "beside the run before:", *compared.lines] if compared else lines


def html(run: Run, verdict: Verdict, compared: Comparison | None) -> str:
    """The page for a browser."""
    runs = [("this run", run.samples)]
    if compared is not None:
        runs.append(("the run before", compared.before.samples))
    return render(
        "benchmark.html.j2",
        title=f"Benchmark: {verdict.profile}",
        run=run,
        verdict=verdict,
        compared=compared,
        statistics=_STATISTICS,
        spreads=[(label, spread.as_dict()) for label, spread in _spreads(verdict)],
        plots=[drawing(plot) for plot in distributions(runs, run.about["page"].get("published", {}))],
        drawing=drawing(draw(run.plan)),
        commands=commands(run.plan),
    )


def markdown(run: Run, verdict: Verdict, compared: Comparison | None) -> str:
    """The page for a terminal."""
    parts: list[Iterable[str]] = [
        [f"# Benchmark: {verdict.profile}", "", f"{run.about['at']}, plan {run.about['plan_hash'][:12]}"],
        [f"**{verdict.line}**", *(f"- {line}" for line in (*verdict.reasons, *verdict.notes))],
        ["## Beside the page", "", *_published(verdict)],
        ["## Measured", "", *_measured(verdict)],
        ["## Not as on the page", "", *([f"- {one}" for one in verdict.conditions] or ["Nothing."])],
    ]
    if compared is not None:
        parts.append(["## Beside the run before", "", *comparison_lines(compared)])
    command = command_line(run.plan["benchmark"]["argv"])
    parts.append(["## Command", "", f"On {run.plan['benchmark']['host']}:", "", "```bash", command, "```"])
    return "\n".join(line for part in parts for line in [*part, ""])


def _spreads(verdict: Verdict) -> list[tuple[str, Spread]]:
    result = verdict.result
    return [("TTFT", result.ttft), ("TPOT", result.tpot), ("ITL", result.itl), ("end to end", result.e2e)]


def _published(verdict: Verdict) -> Iterator[str]:
    if not verdict.figures:
        yield "The page publishes no figure."
        return
    yield from table(
        ("figure", "measured", "published", "measured / published", "passes with"),
        (
            (
                one.label,
                f"{number(one.measured)} {one.unit}",
                f"{number(one.published)} {one.unit}",
                number(one.ratio),
                f"{one.bound} {number(one.limit)} {one.unit}",
            )
            for one in verdict.figures
        ),
    )


def _measured(verdict: Verdict) -> Iterator[str]:
    asked = verdict.requests
    seconds = number(verdict.result.duration)
    yield f"{asked.completed} of {asked.sent} requests answered, {asked.failed} failed, in {seconds} s."
    yield f"Asked: {verdict.load}."
    yield ""
    if asked.errors:
        yield from (f"- {count} x {text}" for text, count in asked.errors.items())
        yield ""
    yield from table(
        ("ms", *_STATISTICS),
        ((label, *(number(spread.as_dict()[name]) for name in _STATISTICS)) for label, spread in _spreads(verdict)),
    )
    yield ""
    yield from table(
        ("per second", "cluster", "card"),
        ((name, number(value), number(verdict.per_card[name])) for name, value in verdict.result.throughputs.items()),
    )


def comparison_lines(compared: Comparison) -> Iterator[str]:
    """A comparison as Markdown."""
    yield f"{compared.before.name} -> {compared.after.name}"
    yield ""
    yield from table(
        ("figure", "before", "after", "unit", "after / before"),
        (
            (one.name, number(one.before, one.unit), number(one.after, one.unit), one.unit, number(one.ratio))
            for one in compared.rows
        ),
    )
    yield ""
    yield "What changed between the plans:"
    yield ""
    yield from ([f"- {line}" for line in compared.changes] or ["- nothing: they are the same"])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of Markdown, its columns as wide as their widest cell so that a terminal shows it as one."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    yield lines[0]
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield from lines[1:]
