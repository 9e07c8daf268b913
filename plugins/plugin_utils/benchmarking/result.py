# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result file of sglang.bench_serving, as values. Of every version: newer ones only add keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeGuard

# What a result must have to be one; everything else may be missing. Figures may be null: not measured.
_COUNTS = ("completed", "duration")
_FIGURES = ("output_throughput", "mean_ttft_ms", "mean_tpot_ms", "mean_itl_ms")


class ResultError(ValueError):
    """It is no result of bench_serving; the message says why."""


@dataclass(frozen=True)
class Spread:
    """How one kind of time spreads over requests (or tokens), in ms; None where the version does not tell it."""

    mean: float | None = None
    median: float | None = None
    std: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None

    def as_dict(self) -> dict[str, float | None]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Result:
    """One run. duration: seconds; throughputs: requests or tokens a second of the whole cluster; accept_length: tokens
    accepted a step of speculative decoding, where the server tells it."""

    completed: int
    duration: float
    ttft: Spread
    tpot: Spread
    itl: Spread
    e2e: Spread
    request_throughput: float | None
    input_throughput: float | None
    output_throughput: float | None
    total_throughput: float | None
    total_input_tokens: int | None
    total_output_tokens: int | None
    concurrency: float | None
    accept_length: float | None
    raw: Mapping[str, Any]

    @property
    def throughputs(self) -> dict[str, float | None]:
        return {
            "request": self.request_throughput,
            "input": self.input_throughput,
            "output": self.output_throughput,
            "total": self.total_throughput,
        }

    def figure(self, key: str) -> float | None:
        """A figure by its key in the result file."""
        return _number(self.raw, key)


def parse(text: str) -> Result:
    """The last line of a result file. Raises ResultError."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ResultError("the result file is empty")
    try:
        raw = json.loads(lines[-1])
    except ValueError as problem:
        raise ResultError(f"its last line is no JSON: {problem}") from problem
    if not isinstance(raw, dict):
        raise ResultError("its last line is no JSON object")
    missing = [key for key in (*_COUNTS, *_FIGURES) if key not in raw]
    if missing:
        raise ResultError(f"its last line has no {', '.join(missing)}")
    wrong = [key for key in _COUNTS if not _is_number(raw[key])]
    wrong += [key for key in _FIGURES if raw[key] is not None and not _is_number(raw[key])]
    if wrong:
        raise ResultError(f"its {wrong[0]} is no number: {raw[wrong[0]]!r}")
    if not math.isfinite(raw["completed"]) or raw["completed"] < 0:
        raise ResultError(f"its completed is no count: {raw['completed']!r}")
    completed = int(raw["completed"])

    def spread(name: str) -> Spread:
        # Without one answered request the tool has zeros and NaN, which are no times.
        if not completed:
            return Spread()
        return Spread(**{field.name: _number(raw, f"{field.name}_{name}_ms") for field in fields(Spread)})

    return Result(
        completed=completed,
        duration=_number(raw, "duration") or 0.0,
        ttft=spread("ttft"),
        tpot=spread("tpot"),
        itl=spread("itl"),
        e2e=spread("e2e_latency"),
        request_throughput=_number(raw, "request_throughput"),
        input_throughput=_number(raw, "input_throughput"),
        output_throughput=_number(raw, "output_throughput"),
        total_throughput=_number(raw, "total_throughput"),
        total_input_tokens=_count(raw, "total_input_tokens"),
        total_output_tokens=_count(raw, "total_output_tokens"),
        concurrency=_number(raw, "concurrency"),
        accept_length=_number(raw, "accept_length"),
        raw=raw,
    )


def _number(raw: Mapping[str, Any], key: str) -> float | None:
    """A finite number, or None: the file is Python's JSON, with NaN and Infinity in it."""
    value = raw.get(key)
    return float(value) if _is_number(value) and math.isfinite(value) else None


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _count(raw: Mapping[str, Any], key: str) -> int | None:
    value = _number(raw, key)
    return None if value is None else int(value)
