# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a measurement is worth beside the figure that the page publishes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.conditions import Condition, conditions
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.load import Load, load
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import Result

# A page's table says "TPOT: 50ms"; bench_serving's first figure of that name is the mean.
_TIMES = {
    "ttft_ms": "mean_ttft_ms",
    "tpot_ms": "mean_tpot_ms",
    "itl_ms": "mean_itl_ms",
    "e2e_ms": "mean_e2e_latency_ms",
}
_LABELS = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e_latency": "end-to-end latency"}


@dataclass(frozen=True)
class Limits:
    """tolerance: percent by which a figure may be worse than published; failed: requests that may fail."""

    tolerance: int = 10
    failed: int = 0


@dataclass(frozen=True)
class Figure:
    """A published figure beside what was measured. ratio: measured / published; limit: the worst value that passes;
    more_is_better: whether a ratio above 1 is the good side (throughput) or the bad one (times)."""

    name: str
    label: str
    unit: str
    published: float
    measured: float | None
    ratio: float | None
    limit: float
    more_is_better: bool
    passed: bool

    @property
    def bound(self) -> str:
        """On which side of the limit it passes."""
        return "at least" if self.more_is_better else "at most"


@dataclass(frozen=True)
class Requests:
    """sent: how many were sent; asked: how many the command asks for; errors: what they failed with -> how often."""

    asked: int
    sent: int
    completed: int
    errors: Mapping[str, int]

    @property
    def failed(self) -> int:
        return max(self.sent - self.completed, 0)


@dataclass(frozen=True)
class Verdict:
    """Whether it passed, and everything that this rests on. reasons: why not, in words, empty where it passed; cards:
    of the plan, which throughput per card goes by."""

    profile: str
    passed: bool
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    figures: tuple[Figure, ...]
    requests: Requests
    result: Result
    load: Load
    cards: int
    engine: str
    limits: Limits
    conditions: tuple[Condition, ...]

    @property
    def per_card(self) -> dict[str, float | None]:
        return {
            name: None if value is None or not self.cards else value / self.cards
            for name, value in self.result.throughputs.items()
        }

    @property
    def line(self) -> str:
        """The verdict in one sentence."""
        told = "; ".join(
            f"{one.label} {_shown(one.measured, one.unit)}, published {one.published:g} {one.unit}"
            + (f", ratio {one.ratio:.2f}" if one.ratio is not None else "")
            for one in self.figures
        )
        failed = f"{self.requests.failed} of {self.requests.sent} requests failed"
        return f"{'PASSED' if self.passed else 'FAILED'}: {told or 'the page publishes no figure'}; {failed}"

    def as_dict(self) -> dict[str, Any]:
        """As verdict.json has it."""
        result = self.result
        return {
            "profile": self.profile,
            "engine": self.engine,
            "cards": self.cards,
            "passed": self.passed,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "tolerance_percent": self.limits.tolerance,
            "failed_allowed": self.limits.failed,
            "figures": [asdict(one) for one in self.figures],
            "requests": {
                "asked": self.requests.asked,
                "sent": self.requests.sent,
                "completed": self.requests.completed,
                "failed": self.requests.failed,
                "errors": dict(self.requests.errors),
            },
            "latency_ms": {
                "ttft": result.ttft.as_dict(),
                "tpot": result.tpot.as_dict(),
                "itl": result.itl.as_dict(),
                "e2e": result.e2e.as_dict(),
            },
            "throughput_per_second": {"cluster": result.throughputs, "card": self.per_card},
            "tokens": {"input": result.total_input_tokens, "output": result.total_output_tokens},
            "seconds": result.duration,
            "concurrency": result.concurrency,
            "accept_length": result.accept_length,
            "load": asdict(self.load),
            "conditions": [one.as_dict() for one in self.conditions],
        }


def judge(
    plan: Mapping[str, Any],
    page: Mapping[str, Any],
    result: Result,
    samples: Mapping[str, Any] | None,
    limits: Limits,
) -> Verdict:
    """The verdict on a result.

    plan: as plan.json; page: engine, published (figures) and instances of the page; samples: see
    module_utils.bench_samples, None where each request's times were not stored.
    """
    asked = load(plan["benchmark"]["argv"])
    sent = int(samples["sent"]) if samples else max(asked.requests, result.completed)
    requests = Requests(asked.requests, sent, result.completed, samples["errors"] if samples else {})
    figures = tuple(_figures(page.get("published", {}), result, limits))
    reasons = tuple(_reasons(figures, requests, result, asked, limits))
    return Verdict(
        profile=plan["profile"],
        passed=not reasons,
        reasons=reasons,
        notes=tuple(_notes(page.get("published", {}), figures, requests)),
        figures=figures,
        requests=requests,
        result=result,
        load=asked,
        cards=plan["cards"],
        engine=plan["engine"],
        limits=limits,
        conditions=tuple(conditions(plan, page)),
    )


def _figures(published: Mapping[str, float], result: Result, limits: Limits) -> Iterator[Figure]:
    for name, value in published.items():
        key = _TIMES.get(name, name)
        better_high = key.endswith("throughput")
        if not better_high and not key.endswith("_ms"):
            continue
        measured = result.figure(key) if result.completed else None
        limit = value * (1 - limits.tolerance / 100) if better_high else value * (1 + limits.tolerance / 100)
        passed = measured is not None and _within(measured, limit, more=better_high)
        ratio = None if measured is None or not value else measured / value
        yield Figure(key, _label(key), _unit(key), value, measured, ratio, limit, better_high, passed)


def _within(measured: float, limit: float, *, more: bool) -> bool:
    # A figure on the limit passes, however the limit was rounded.
    return math.isclose(measured, limit) or (measured > limit if more else measured < limit)


def _label(key: str) -> str:
    if key.endswith("throughput"):
        return key.replace("_", " ")
    statistic, _unused, kind = key.removesuffix("_ms").partition("_")
    return f"{statistic} {_LABELS.get(kind, kind)}"


def _unit(key: str) -> str:
    if key.endswith("_ms"):
        return "ms"
    return "requests/s" if key.startswith("request") else "tokens/s"


def _reasons(
    figures: Sequence[Figure], requests: Requests, result: Result, asked: Load, limits: Limits
) -> Iterator[str]:
    if not requests.completed:
        yield f"no request was answered, all {requests.sent} failed"
        return
    if requests.failed > limits.failed:
        yield f"{requests.failed} of {requests.sent} requests failed, {limits.failed} may"
    # A stream that breaks off counts as answered; its tokens are missing all the same.
    if asked.output_len and result.total_output_tokens is not None:
        expected = requests.completed * asked.output_len
        if result.total_output_tokens < expected:
            short = f"{result.total_output_tokens} tokens instead of {expected}"
            yield f"answers broke off: the answered requests have {short}"
    for one in figures:
        if one.measured is None:
            yield f"{one.label} was not measured"
        elif not one.passed:
            side = "less" if one.measured < one.published else "more"
            yield (
                f"{one.label} is {_shown(one.measured, one.unit)}, more than {limits.tolerance} % {side} than the "
                f"published {one.published:g} {one.unit}"
            )


def _notes(published: Mapping[str, float], figures: Sequence[Figure], requests: Requests) -> Iterator[str]:
    if not published:
        yield "the page publishes no figure, so that only failed requests can fail"
    unknown = len(published) - len(figures)
    if unknown:
        yield f"{unknown} of the published figures are none that bench_serving measures"
    if requests.sent < requests.asked:
        yield f"{requests.sent} requests were sent, {requests.asked} were asked for: the dataset has too few texts"


def _shown(value: float | None, unit: str) -> str:
    return "not measured" if value is None else f"{value:.2f} {unit}"
