# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs take their best of several, since a machine is never quiet; what was measured is printed at the end."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from on_hosts import tables


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Prints a line at the end."""
    return lambda line: record_property("measured", line)


@pytest.fixture
def best(note: Callable[[str], None]) -> Callable[..., float]:
    """The shortest of several runs, in seconds, noted under a name."""

    def measure(name: str, work: Callable[[], object], runs: int = 3) -> float:
        seconds = []
        for _run in range(runs):
            start = time.monotonic()
            work()
            seconds.append(time.monotonic() - start)
        note(f"{name}: {min(seconds):.2f} s")
        return min(seconds)

    return measure


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was measured."""
    tables.show(terminalreporter, "measured", "measured")
