# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a benchmark while it runs, and of one that came to nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_REPEAT_SECONDS = 30.0
_SHOWN_LINES = 12

# What bench_serving prints when it cannot begin -> what to do. The first that matches is the reason.
_KNOWN: tuple[tuple[str, str], ...] = (
    (
        r"LocalEntryNotFoundError|couldn't connect to .*huggingface|Max retries exceeded .*huggingface",
        "It wanted a file from a hub and could not reach it. For the dataset `random` name a local file with "
        "sglang_benchmark_dataset; for a tokenizer set sglang_benchmark_args.tokenizer to the model's directory",
    ),
    (
        r"No module named '?sglang",
        "Its Python has no SGLang. Set sglang_python, or sglang_benchmark_host to a host that has it",
    ),
    (
        r"Warmup failed",
        "The cluster did not answer the first request. status.yml says what is wrong with it; the lines below say what "
        "was answered",
    ),
    (
        r"is not ready\. Exiting",
        "The entrance did not list its models within a minute. Is it reachable from this host?",
    ),
    (r"unrecognized arguments|invalid choice|expected .*argument", "Correct sglang_benchmark_args"),
)


class Progress:
    """Lines about a running benchmark: each phase once, and how far it is from time to time."""

    def __init__(self) -> None:
        self._phase = ""
        self._told = 0.0
        self._done = -1

    def line(self, look: Mapping[str, Any], now: float) -> str:
        """What to say of a look (module benchmark_unit) at the time `now`; empty where there is nothing new."""
        phase, done, total = str(look["phase"]), int(look["done"]), int(look["total"])
        if phase == self._phase and (done == self._done or now - self._told < _REPEAT_SECONDS):
            return ""
        first = phase != self._phase
        self._phase, self._told, self._done = phase, now, done
        if phase == "measuring" and total:
            return f"{done} of {total} requests answered"
        return f"the benchmark is {phase}" if first and phase != "ended" else ""


def problem(ended: Mapping[str, Any], found: Mapping[str, Any], limit: float) -> str:
    """Why there is no measurement, completing `the benchmark on r1 …`; empty where there is one.

    ended and found: what the module benchmark_unit tells with the states looked and collected.
    """
    log: Sequence[str] = found["log"]
    reason, status = ended["reason"], ended["status"]
    shown = "\n".join(log[-_SHOWN_LINES:])
    tail = f"\nIts last lines:\n{shown}" if shown else ""
    if reason in ("start", "store"):
        return f"{ended['problem']}."
    if reason == "deadline":
        return f"was ended after {limit:g} s without a result. Set sglang_benchmark_timeout for a longer one.{tail}"
    if reason == "unattended":
        return f"was ended because the controller had not looked at it for too long.{tail}"
    if reason in ("stopped", "lost"):
        return f"was ended from outside.{tail}"
    if status != 0:
        text = "\n".join(log)
        advice = next((f" {what}." for pattern, what in _KNOWN if re.search(pattern, text)), "")
        return f"failed (exit status {status}).{advice}{tail}"
    if found["problem"]:
        return f"wrote a result that cannot be read: {found['problem']}.{tail}"
    if not found["result"]:
        return f"ended well, and wrote no result.{tail}"
    return ""
