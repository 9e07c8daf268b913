# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a host's clock is from the controller's, from two looks at either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def offset(facts: Mapping[str, Any], around: Mapping[str, float]) -> tuple[float, float]:
    """At least and at most, in seconds; positive for a clock that is ahead of the controller's.

    The host began after the controller's `before`, and ended before its `after`: what lies between the two bounds is
    what the way there and back took, however long the look itself.

    facts: the host's clock when its look ended (`time`) and `began` (without it, one reading stands for both); around:
    the controller's clock `before` and `after` it.
    """
    return facts["time"] - around["after"], facts.get("began", facts["time"]) - around["before"]
