# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs side by side, and what changed between their plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.conditions import side
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.history import Run
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.load import flags
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import Result, parse

_TIMES = (("TTFT", "ttft"), ("TPOT", "tpot"), ("ITL", "itl"), ("end-to-end latency", "e2e"))
_STATISTICS = ("mean", "median", "p99")
_THROUGHPUTS = (("request", "request", "requests/s"), ("output", "output", "tokens/s"), ("total", "total", "tokens/s"))


@dataclass(frozen=True)
class Row:
    """One figure of both runs. ratio: after / before; better: True, False, or None where that is
    unknown or the ratio is 1.00 as it is shown."""

    name: str
    unit: str
    before: float | None
    after: float | None
    ratio: float | None
    better: bool | None


@dataclass(frozen=True)
class Comparison:
    """Two runs. changes: what is different in the plans, a line each, empty where the plans are the same."""

    before: Run
    after: Run
    rows: tuple[Row, ...]
    changes: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """A few lines for the terminal."""
        told = [
            f"{one.name}: {one.before:.2f} -> {one.after:.2f} {one.unit} ({one.ratio:.2f})"
            if one.unit
            else f"{one.name}: {one.before:.0f} -> {one.after:.0f}"
            for one in self.rows
            if one.before is not None and one.after is not None and one.ratio is not None
        ]
        plans = list(self.changes) or ["the plans are the same"]
        return [f"{self.before.name} -> {self.after.name}", *told, *plans]

    def as_dict(self) -> dict[str, Any]:
        return {
            "before": {"path": str(self.before.path), **_about(self.before)},
            "after": {"path": str(self.after.path), **_about(self.after)},
            "rows": [asdict(one) for one in self.rows],
            "changes": list(self.changes),
        }


def _about(run: Run) -> dict[str, Any]:
    return {"at": run.about["at"], "plan_hash": run.about["plan_hash"], "profile": run.plan["profile"]}


def compare(before: Run, after: Run) -> Comparison:
    """Compare. Raises ResultError for a run whose result is none."""
    rows = _rows(parse(before.result), parse(after.result), before, after)
    return Comparison(before, after, tuple(rows), tuple(changes(before.plan, after.plan)))


def _rows(old: Result, new: Result, before: Run, after: Run) -> Iterator[Row]:
    for label, name in _TIMES:
        for statistic in _STATISTICS:
            values = [getattr(getattr(one, name), statistic) for one in (old, new)]
            yield _row(f"{statistic} {label}", "ms", *values, less=True)
    for label, name, unit in _THROUGHPUTS:
        yield _row(f"{label} throughput", unit, old.throughputs[name], new.throughputs[name], less=False)
    cards = [one.plan["cards"] for one in (before, after)]
    if all(cards):
        each = [
            None if one.output_throughput is None else one.output_throughput / count
            for one, count in zip((old, new), cards, strict=True)
        ]
        yield _row("output throughput per card", "tokens/s", *each, less=False)
    yield _row("answered requests", "", float(old.completed), float(new.completed), less=False)


def _row(name: str, unit: str, before: float | None, after: float | None, *, less: bool) -> Row:
    if before is None or after is None:
        return Row(name, unit, before, after, None, None)
    ratio = after / before if before else None
    alike = after == before if ratio is None else round(ratio, 2) == 1
    return Row(name, unit, before, after, ratio, None if alike else (after < before) == less)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """What is different in the second plan, a line each; what several hosts share is one line."""
    for key, label in (("profile", "profile"), ("engine", "SGLang"), ("cards", "cards")):
        if before[key] != after[key]:
            yield f"{label}: {before[key]} -> {after[key]}"
    yield from _instances(before, after)
    where: dict[str, list[str]] = {}
    old = {_seat(one): one for one in before["services"]}
    new = {_seat(one): one for one in after["services"]}
    for seat, service in new.items():
        for line in _service(old[seat], service) if seat in old else ():
            where.setdefault(f"{service['role']} {line}", []).append(service["host"])
    for line, hosts in where.items():
        yield f"{line} (on {', '.join(dict.fromkeys(hosts))})"
    yield from _benchmark(before["benchmark"], after["benchmark"])


def _seat(service: Mapping[str, Any]) -> tuple[Any, ...]:
    return service["role"], service["instance"], service["rank"]


def _instances(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old = {one["name"]: one["nodes"] for one in before["instances"]}
    new = {one["name"]: one["nodes"] for one in after["instances"]}
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"{name}: {_nodes(old.get(name))} -> {_nodes(new.get(name))}"


def _nodes(nodes: Sequence[str] | None) -> str:
    return "nowhere" if nodes is None else "on " + ", ".join(nodes)


def _service(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    yield from _pairs(flags(old["argv"]), flags(new["argv"]))
    yield from _pairs(old["env"], new["env"])
    for key in ("unset", "source", "npus"):
        if old[key] != new[key]:
            yield f"{key}: {side(old[key]) or 'none'} -> {side(new[key]) or 'none'}"


def _benchmark(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[str]:
    if old is None or new is None:
        return
    if old["host"] != new["host"]:
        yield f"benchmark: on {old['host']} -> on {new['host']}"
    for line in (*_pairs(flags(old["argv"]), flags(new["argv"])), *_pairs(old["env"], new["env"])):
        yield f"benchmark {line}"


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"{name}: {side(old.get(name)) or 'absent'} -> {side(new.get(name)) or 'absent'}"
