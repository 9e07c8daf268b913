# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests noted as a property, as a table behind their results."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def show(
    terminal: pytest.TerminalReporter,
    title: str,
    noted: str,
    line: Callable[[str, str], str] = lambda _nodeid, value: value,
) -> None:
    """A section with a line for each property of this name; none where nothing was noted. line: of test and value."""
    reports = [one for kind in ("passed", "failed") for one in terminal.stats.get(kind, ())]
    lines = [line(one.nodeid, str(value)) for one in reports for name, value in one.user_properties if name == noted]
    if lines:
        terminal.section(title)
    for text in lines:
        terminal.write_line(text)
