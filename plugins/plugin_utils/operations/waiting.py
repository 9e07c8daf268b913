# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for services: what is told meanwhile, when it ends, and how hosts that wait together hear of a death."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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


_PROGRESS = ("starting", "waiting", "loading", "loaded", "capturing", "warming", "ready")
_MOST_LINES = 20
_FRESH_SECONDS = 1.0

CLEAR = "\033[J"
"""Erases from the cursor to the end of the screen."""


@dataclass(frozen=True)
class Board:
    """The hosts that wait together, as one table that is drawn in place. Each worker leaves its host's part in a
    directory; the first of those that still wait draws.
    """

    directory: Path

    def put(self, host: str, statuses: Sequence[Mapping[str, Any]], seconds: float, *, done: bool) -> None:
        """Leave this host's part. The file appears whole."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = {
            "host": host,
            "done": done,
            "services": [{"unit": one["unit"], "phase": one["phase"], "seconds": seconds} for one in statuses],
        }
        before = self._read(self._path(host)) or {"services": []}
        since = {one["unit"]: one["seconds"] for one in before["services"] if one["phase"] == "ready"}
        for one in part["services"]:  # type: ignore[attr-defined]
            if one["phase"] == "ready":
                one["seconds"] = since.get(one["unit"], seconds)
        descriptor, name = tempfile.mkstemp(dir=self.directory, prefix=".")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(part, stream)
        os.replace(name, self._path(host))

    def parts(self) -> list[dict[str, Any]]:
        """Every host's part, by name."""
        found = [self._read(path) for path in self.directory.glob("board-*.json")]
        return sorted((one for one in found if one is not None), key=lambda one: str(one["host"]))

    def wait(self, hosts: Collection[str]) -> list[str]:
        """Those of these hosts that are waited for by now, and not ready yet."""
        return [str(one["host"]) for one in self.parts() if one["host"] in hosts and not one["done"]]

    def draws(self, host: str, now: float) -> bool:
        """Whether this host's worker draws: the first that waits, unless one has just left the screen to Ansible."""
        waiting = [one["host"] for one in self.parts() if not one["done"]]
        return waiting[:1] == [host] and now - self._left() > _FRESH_SECONDS

    def leave(self) -> None:
        """The screen is Ansible's for a moment: a result is about to be printed."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.directory / "left").touch()

    def _left(self) -> float:
        try:
            return (self.directory / "left").stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def lines(self, columns: int) -> list[str]:
        """The table: who is ready first, the slowest last."""
        rows = [(one["host"], *service.values()) for one in self.parts() for service in one["services"]]
        rows.sort(key=lambda row: (-_reached(row[2]), row[3], row[0]))
        ready = sum(1 for row in rows if row[2] == "ready")
        shown = rows[-_MOST_LINES:]
        width = max((len(row[0]) for row in shown), default=0)
        units = max((len(row[1]) for row in shown), default=0)
        lines = [f"{ready} of {len(rows)} services are ready"]
        lines += [
            f"  {host:{width}}  {unit:{units}}  {phase} ({duration(seconds)})" for host, unit, phase, seconds in shown
        ]
        return [line[:columns] for line in lines]

    def drawing(self, columns: int) -> str:
        """What a terminal is sent: the table, and the cursor back to its begin, so that what comes next replaces it."""
        lines = self.lines(columns)
        return CLEAR + "\n".join(lines) + f"\n\033[{len(lines)}A\r"

    def _path(self, host: str) -> Path:
        return self.directory / f"board-{hashlib.sha256(host.encode()).hexdigest()[:16]}.json"

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None


def _reached(phase: str) -> float:
    """How far a phase is, for sorting only."""
    kind = _kind(phase)
    step = float(_PROGRESS.index(kind)) if kind in _PROGRESS else -1.0
    count = re.search(r"(\d+)/(\d+)", phase)
    return step + (int(count[1]) / (int(count[2]) + 1) if count else 0.0)


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


def heads(services: Iterable[Mapping[str, Any]], host: str) -> set[str]:
    """The other hosts with rank 0 of an instance of which this host has a rank, as the services' guards know them."""
    follows = [(one.get("guard") or {}).get("follows") or {} for one in services]
    return {str(one["host"]) for one in follows if one.get("what") == "head"} - {host}


def short_death(host: str, status: Mapping[str, Any]) -> str:
    """One line for the other hosts."""
    if status["phase"] in ("stopped", "not installed"):
        return f"{status['unit']} on {host} is {status['phase']}"
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
