# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What bench_serving tells of each request, made small: samples that distributions are drawn from.

With --output-details its result has a number for every token, hundreds of megabytes for the documented benchmarks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

# The keys that --output-details adds, a list with an entry for each request.
DETAILS = ("input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors")
# Newer versions add these with --cache-report.
_MORE_DETAILS = ("cached_tokens", "cached_tokens_details")
# Every half percent: enough for a curve, and the ends of a distribution stay what they are.
_STEPS = 200
_MOST_ERRORS = 5
_ERROR_CHARACTERS = 300


def last_result(text: str) -> dict[str, Any] | None:
    """The last line of a result file as an object; None where there is none. ValueError for what is no result."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    result = json.loads(lines[-1])
    if not isinstance(result, dict):
        raise ValueError("a result is a JSON object")
    return result


def without_details(result: dict[str, Any]) -> dict[str, Any]:
    """The result without what it has of each request."""
    return {name: value for name, value in result.items() if name not in (*DETAILS, *_MORE_DETAILS)}


def samples(result: dict[str, Any]) -> dict[str, Any] | None:
    """Distributions, and what failed; None where the result has no details.

    sent: how many requests were sent; ttft_ms, tpot_ms, itl_ms: values at equal steps from the smallest to the largest
    (see quantiles); output_lens: smallest and largest of the answered; errors: text -> how often; short: how many
    answered requests have no text at all.
    """
    if any(name not in result for name in DETAILS):
        return None
    lens, ttfts, itls, errors = (result[name] for name in ("output_lens", "ttfts", "itls", "errors"))
    answered = [number for number, error in enumerate(errors) if not error and lens[number] > 0]
    # As bench_serving defines it: what an answer took after its first token, by its other tokens.
    tpots = [sum(itls[number]) / (lens[number] - 1) for number in answered if lens[number] > 1 and itls[number]]
    told: dict[str, int] = {}
    for error in errors:
        if error:
            text = _last_line(error)
            told[text] = told.get(text, 0) + 1
    most = sorted(told.items(), key=lambda one: -one[1])[:_MOST_ERRORS]
    return {
        "sent": len(errors),
        "ttft_ms": quantiles([ttfts[number] * 1000 for number in answered if ttfts[number] > 0]),
        "tpot_ms": quantiles([value * 1000 for value in tpots]),
        "itl_ms": quantiles([value * 1000 for number in answered for value in itls[number]]),
        "output_lens": [min(lens[number] for number in answered), max(lens[number] for number in answered)]
        if answered
        else [],
        "short": sum(1 for number in answered if not ttfts[number]),
        "errors": dict(most),
    }


def _last_line(error: str) -> str:
    """A traceback's last line says what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else str(error))[:_ERROR_CHARACTERS]


def quantiles(values: Sequence[float]) -> list[float]:
    """The values at equal steps of rank, first the smallest, last the largest; all of them where they are few."""
    ordered = sorted(values)
    if len(ordered) <= _STEPS + 1:
        return [round(value, 4) for value in ordered]
    last = len(ordered) - 1
    return [round(ordered[round(last * step / _STEPS)], 4) for step in range(_STEPS + 1)]
