# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of an import, for people: what the profiles have differently than the page, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.importer import Import
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note


def render(page: str, result: Import) -> str:
    """The report as Markdown. page: the page's name, as the lines of the report begin with it."""
    lines = [f"# Import of {page}", "", f"Written for SGLang {result.engine}.", ""]
    for each in result.profiles:
        lines += [f"## {each.name}", "", f"{each.title} (line {each.line})", "", *_lines(page, each.notes), ""]
    if result.notes:
        lines += ["## The rest of the page", "", *_lines(page, result.notes), ""]
    return "\n".join(lines).rstrip() + "\n"


def _lines(page: str, found: Sequence[Note]) -> list[str]:
    if not found:
        return ["Everything is in the profile as it stands on the page."]
    return [
        f"* {'**look at this** ' if note.level == 'warning' else ''}{page}:{note.line}: `{note.what}`: {note.why}"
        for note in found
    ]


def notes(result: Import) -> list[dict[str, Any]]:
    """Every note as data, with the profile that it is about (None for the rest of the page)."""
    return [
        {"profile": profile, "line": note.line, "level": note.level, "what": note.what, "why": note.why}
        for profile, note in _all(result)
    ]


def summary(page: str, result: Import) -> list[str]:
    """One line for each profile, then each warning."""
    lines = [f"{each.name}: {_topology(each.data)}" for each in result.profiles]
    lines += [f"{page}:{note.line}: {note.what}: {note.why}" for _at, note in _all(result) if note.level == "warning"]
    return lines


def _all(result: Import) -> Iterator[tuple[str | None, Note]]:
    for each in result.profiles:
        yield from ((each.name, note) for note in each.notes)
    yield from ((None, note) for note in result.notes)


def _topology(data: Any) -> str:
    parts = []
    for role, body in data["roles"].items():
        if role == "router":
            parts.append("a router")
            continue
        of = "" if body["nodes"] == 1 else f" of {body['nodes']} nodes"
        parts.append(f"{body['instances']} {role}{of}")
    return ", ".join(parts)
