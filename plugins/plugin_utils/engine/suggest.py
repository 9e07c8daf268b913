# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nearest names, for "did you mean"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def nearest(name: str, known: Iterable[str], *, count: int = 3, cutoff: float = 0.6) -> list[str]:
    """The known names most like ``name``, best first; none when nothing is near.

    Case does not count, and words may stand in another order (``size-tp`` is near ``tp-size``).
    """
    wanted = _plain(name)
    scored = ((_likeness(wanted, _plain(each), cutoff), each) for each in known)
    near = sorted((pair for pair in scored if pair[0] >= cutoff), key=lambda pair: (-pair[0], pair[1]))
    return [each for _score, each in near[:count]]


def either(names: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _plain(name: str) -> str:
    return name.lower().lstrip("-").replace("_", "-")


def _likeness(first: str, second: str, cutoff: float) -> float:
    matcher = difflib.SequenceMatcher(None, first, second)
    # Upper bounds, much cheaper than the ratio; the order of words does not touch them.
    if matcher.real_quick_ratio() < cutoff or matcher.quick_ratio() < cutoff:
        return 0.0
    reordered = difflib.SequenceMatcher(None, _sorted_words(first), _sorted_words(second)).ratio()
    return max(matcher.ratio(), reordered - 0.05)


def _sorted_words(name: str) -> str:
    return "-".join(sorted(name.split("-")))
