# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How lists of CPUs are written."""

from __future__ import annotations

import re
from collections.abc import Iterable


def number(cpu: str) -> int:
    """The number of ``cpu12``."""
    return int(re.sub(r"\D", "", cpu))


def format_cpus(cpus: Iterable[str]) -> str:
    """``cpu0-63, cpu70`` for a report: 192 CPUs with one answer are one line."""
    runs: list[list[int]] = []
    for cpu in sorted(number(name) for name in cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ", ".join(f"cpu{first}" if first == last else f"cpu{first}-{last}" for first, last in runs)
