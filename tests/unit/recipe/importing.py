# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Importing in tests: pages from tests/pages and pages from a string."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import ROUTER
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import read_catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.importer import Import, import_page

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "tests" / "pages"
ENGINES = read_catalogue()


def imported(text: str, name: str = "page.md", engine: str = "0.5.13.post1") -> Import:
    return import_page(text, name, ENGINES.get(engine), ENGINES.get("0.3.2", ROUTER))


@cache
def page(name: str) -> Import:
    return imported((PAGES / name).read_text(), name)


def block(*lines: str, title: str = "Test-1B BF16 1P IN1K OUT1K 9ms") -> str:
    """A page of one recipe: a title, its facts and one shell block."""
    return "\n".join([f"### {title}", "", "Model: Test-1B", "", "Cards: 1", "", "```bash", *lines, "```", ""])


def only(text: str, **options: Any) -> Any:
    """The one profile of a page."""
    (profile,) = imported(text, **options).profiles
    return profile


def said(result: Any) -> list[tuple[int, str, str]]:
    """Line, level and text of every note."""
    notes = [*result.notes, *(note for each in getattr(result, "profiles", ()) for note in each.notes)]
    return [(note.line, note.level, f"{note.what}: {note.why}") for note in sorted(notes)]
