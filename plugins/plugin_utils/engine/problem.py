# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check of arguments, values or environment has to say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, in the user's words.

    level: ``error`` stops a plan from being applied, ``warning`` does not.
    check: the rule's identifier, for tests and for looking it up.
    where: where the value was written, as the caller names it.
    what: what is wrong and why. do: what to change.
    flag: the flag (``--tp-size``) or environment variable concerned, None when it is about none.
    """

    level: Level
    check: str
    where: str
    what: str
    do: str
    flag: str | None = None


def without_repeats(problems: Iterable[Problem]) -> list[Problem]:
    """Keep the first problem about each flag at each place; the first found is the most specific one."""
    kept: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        kept.setdefault((problem.where, problem.flag or problem.what), problem)
    return list(kept.values())
