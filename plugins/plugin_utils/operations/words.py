# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in sentences for people."""

from __future__ import annotations

from collections.abc import Iterable


def listed(names: Iterable[str]) -> str:
    """`d1, d2 and d3`, each name once; an empty text where there is none."""
    known = list(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(known[:-1]), *known[-1:]]))
