# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that are kept: a directory each, by profile and by the hash of the plan that was measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

RESULT, SAMPLES, PLAN, RUN, VERDICT, RAW, LOG = (
    *("result.jsonl", "samples.json", "plan.json", "run.json", "verdict.json", "result-details.jsonl.gz", "output.log"),
)
# What a plan says that has no part in what runs.
_NOT_RUN = ("findings", "deviations")
_SHORT = 12
# What a kept run's files must say for it to be judged or compared.
_NEEDED = {
    PLAN: ("profile", "engine", "cards", "instances", "services", "entrances", "benchmark", "deviations"),
    RUN: ("plan_hash", "at", "page"),
}


class HistoryError(ValueError):
    """A directory that holds no run; the message says what is missing."""


@dataclass(frozen=True)
class Run:
    """A run as it was kept. about: plan_hash, at (UTC), page and ended; verdict: as verdict.json, empty before it."""

    path: Path
    plan: Mapping[str, Any]
    about: Mapping[str, Any]
    result: str
    samples: Mapping[str, Any] | None
    verdict: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.about['at']} ({self.about['plan_hash'][:_SHORT]})"


def plan_hash(plan: Mapping[str, Any]) -> str:
    """The same for plans that run the same: everything but what is said about it."""
    run = {name: value for name, value in plan.items() if name not in _NOT_RUN}
    return hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()


def directory(root: Path, plan: Mapping[str, Any], now: datetime) -> Path:
    """A new directory for a run of this plan, made. OSError where it cannot be."""
    parent = root / str(plan["profile"]) / plan_hash(plan)[:_SHORT]
    stamp = now.astimezone(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    for name in (stamp, *(f"{stamp}-{number}" for number in range(2, 1000))):
        try:
            (parent / name).mkdir(parents=True)
        except FileExistsError:
            continue
        return parent / name
    raise OSError(f"{parent} has a thousand runs of one second")


def begin(path: Path, plan: Mapping[str, Any], page: Mapping[str, Any], now: datetime) -> None:
    """Keep what is measured."""
    about = {
        "plan_hash": plan_hash(plan),
        "at": now.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "page": dict(page),
    }
    _write(path / PLAN, plan)
    _write(path / RUN, about)


def keep(path: Path, *, result: str, samples: Mapping[str, Any] | None, log: str) -> None:
    """Keep what came of it."""
    (path / LOG).write_text(log, encoding="utf-8")
    if result:
        (path / RESULT).write_text(result, encoding="utf-8")
    if samples is not None:
        _write(path / SAMPLES, samples)


def read(path: Path) -> Run:
    """A run that was kept. Raises HistoryError."""
    texts = {}
    for name in (PLAN, RUN, RESULT):
        try:
            texts[name] = (path / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            why = getattr(problem, "strerror", None) or problem
            do = "A run is a directory PROFILE/HASH/TIME in sglang_benchmark_dir"
            raise HistoryError(f"{path} holds no run: {name} cannot be read ({why}). {do}") from problem
    try:
        plan, about = json.loads(texts[PLAN]), json.loads(texts[RUN])
        samples = json.loads((path / SAMPLES).read_text(encoding="utf-8")) if (path / SAMPLES).is_file() else None
        verdict = json.loads((path / VERDICT).read_text(encoding="utf-8")) if (path / VERDICT).is_file() else {}
    except (OSError, ValueError) as problem:
        raise HistoryError(f"{path} holds no run: {problem}") from problem
    for name, value in ((PLAN, plan), (RUN, about)):
        lacking = [key for key in _NEEDED[name] if key not in value] if isinstance(value, dict) else ["everything"]
        if lacking:
            raise HistoryError(
                f"{path} holds no run: its {name} is not what a run keeps, it lacks {', '.join(lacking)}"
            )
    if not all(isinstance(value, dict) for value in (plan["benchmark"], about["page"], verdict)):
        raise HistoryError(f"{path} holds no run: it is not one of a benchmark")
    if samples is not None and not isinstance(samples, dict):
        raise HistoryError(f"{path} holds no run: its {SAMPLES} is not what a run keeps")
    return Run(path, plan, about, texts[RESULT], samples, verdict)


def runs(root: Path, profile: str) -> list[Path]:
    """The directories of a profile's runs that have a verdict, in the order of time."""
    found = (root / profile).glob(f"*/*/{VERDICT}")
    return sorted((path.parent for path in found), key=_when)


def runs_before(path: Path, profile: str) -> list[Path]:
    """Those of them that were before the run in this directory."""
    return [one for one in runs(path.parents[2], profile) if _when(one) < _when(path)]


def _when(path: Path) -> tuple[str, int]:
    stamp, _dash, number = path.name.partition("-")
    return stamp, int(number) if number.isdigit() else 1


def write_verdict(path: Path, verdict: Mapping[str, Any]) -> None:
    """Keep the verdict."""
    _write(path / VERDICT, verdict)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
