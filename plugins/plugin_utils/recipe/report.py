# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of an import, for people: what the profiles have differently than the page, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.importer import Import
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note


def render(page: str, result: Import) -> str:
    """The report as Markdown. page: the page's name, as the lines of the report begin with it."""
    lines = [f"# Import of {page}", "", f"Written for SGLang {result.engine}.", ""]
    for each in result.profiles:
        lines += [f"## {each.name}", "", f"{each.title} (line {each.line})", "", *_notes(page, each.notes), ""]
    if result.notes:
        lines += ["## The rest of the page", "", *_notes(page, result.notes), ""]
    return "\n".join(lines).rstrip() + "\n"


def _notes(page: str, notes: Sequence[Note]) -> list[str]:
    if not notes:
        return ["Everything is in the profile as it stands on the page."]
    return [
        f"* {'**look at this** ' if note.level == 'warning' else ''}{page}:{note.line}: `{note.what}`: {note.why}"
        for note in notes
    ]
