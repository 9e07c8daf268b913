# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the long tests found out, in tables at the end."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List how each flip was noticed, and what clients noticed of each change."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    told = [(one.nodeid, value) for one in reports for name, value in one.user_properties if name == "flip"]
    if told:
        terminalreporter.section("what became of each flip")
    for nodeid, value in told:
        terminalreporter.write_line(f"{nodeid.partition('[')[2].rstrip(']'):58} {value}")
    noticed = [value for one in reports for name, value in one.user_properties if name == "rolling"]
    if noticed:
        terminalreporter.section("what clients noticed")
    for value in noticed:
        terminalreporter.write_line(value)
