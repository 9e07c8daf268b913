# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the long tests found out, in tables at the end."""

from __future__ import annotations

import pytest
from on_hosts import tables


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List how each flip was noticed, and what clients noticed of each change."""
    tables.show(terminalreporter, "what became of each flip", "flip", _flip)
    tables.show(terminalreporter, "what clients noticed", "rolling")


def _flip(nodeid: str, value: str) -> str:
    return f"{nodeid.partition('[')[2].rstrip(']'):58} {value}"
