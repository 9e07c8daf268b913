# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an import has to say about a page: notes that go into the report, and the error that ends the import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["note", "warning"]


@dataclass(frozen=True, order=True)
class Note:
    """One thing of the page that is not, or not literally, in a profile.

    line: the line of the page, from 1. what: what stands there. why: why the profile has it differently or not at all.
    level: a ``note`` is how it should be; a ``warning`` is something to look at before the profile is used.
    """

    line: int
    what: str
    why: str
    level: Level = "note"


class RecipeError(Exception):
    """A construct that the importer does not know, or a recipe that contradicts itself beyond repair.

    line: the line of the page, from 1. do: what the user can do about it.
    """

    def __init__(self, line: int, what: str, do: str) -> None:
        super().__init__(f"line {line}: {what}. {do}")
        self.line = line
        self.what = what
        self.do = do
