# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for services: what is told meanwhile, when it ends, and how hosts that wait together hear of a death."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_FIRST_PAUSE = 0.5
LONGEST_PAUSE = 5.0
_PAUSE_GROWTH = 1.5

_COUNT_SECONDS = 30.0
"""A line for "loading 70/163 shards" at most this often; another phase is told at once."""

_SILENCE_SECONDS = 120.0
"""A sign of life at least this often."""


def pauses() -> Iterator[float]:
    """Seconds between two looks, longer and longer."""
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * _PAUSE_GROWTH, LONGEST_PAUSE)


def duration(seconds: float) -> str:
    """For people: 42 s, 12 min 5 s."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@dataclass
class Progress:
    """Decides which of the many states of a wait are worth a line."""

    told: dict[str, tuple[str, float]] = field(default_factory=dict)

    def line(self, unit: str, phase: str, seconds: float) -> str | None:
        """A line for this state, or None when it is none."""
        last, at = self.told.get(unit, ("", 0.0))
        kind, last_kind = _kind(phase), _kind(last)
        patience = _SILENCE_SECONDS if phase == last else _COUNT_SECONDS
        if kind == last_kind and seconds - at < patience:
            return None
        self.told[unit] = (phase, seconds)
        return f"{unit}: {phase} ({duration(seconds)})"


def _kind(phase: str) -> str:
    """A phase without its details: their first words differ."""
    return phase.partition(" ")[0]


@dataclass(frozen=True)
class Rendezvous:
    """A directory on the controller in which the workers of hosts that wait together leave word of a death."""

    directory: Path

    def report(self, host: str, message: str) -> None:
        """Tell the others. The file appears whole."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.directory, prefix=".")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump({"host": host, "message": message}, stream)
        os.replace(name, self.directory / f"{len(self.reports()):04d}-{os.getpid()}.json")

    def reports(self) -> list[tuple[str, str]]:
        """Pairs of host and message, the earliest first."""
        found = []
        for path in sorted(self.directory.glob("[!.]*.json")):
            report = json.loads(path.read_text(encoding="utf-8"))
            found.append((str(report["host"]), str(report["message"])))
        return found

    def elsewhere(self, host: str) -> tuple[str, str] | None:
        """The first death on another host."""
        return next((report for report in self.reports() if report[0] != host), None)


def short_death(host: str, status: Mapping[str, Any]) -> str:
    """One line for the other hosts."""
    return f"{status['unit']} on {host} died ({status['ending']})"


def death(host: str, status: Mapping[str, Any]) -> str:
    """The whole story of a unit that died."""
    cause = str(status["cause"]) or "Its log names no cause that is known here."
    lines = "\n".join("  " + str(line) for line in status["log"]) or "  (none)"
    return (
        f"{short_death(host, status)}. {cause}\n"
        f"Last lines of its log (on {host}: journalctl -u {status['unit']}):\n{lines}"
    )


def too_late(host: str, pending: Sequence[Mapping[str, Any]], limit: float) -> str:
    """Why the limit was not enough, as far as it can be seen."""
    parts = []
    for status in pending:
        last = str(status["log"][-1]) if status["log"] else "(none)"
        health = f"; {status['health']}" if status["health"] else ""
        parts.append(
            f"{status['unit']} on {host} is not ready after {duration(limit)}: {status['phase']} "
            f"(unit {status['active']}, {status['sub']}{health}). Last line of its log: {last}"
        )
    return (
        "\n".join(parts) + "\nIt was left running and may still become ready. Raise the limit (sglang_ready_timeout, "
        f"now {int(limit)} s) when it only needs longer; the first load from a slow disk does."
    )
