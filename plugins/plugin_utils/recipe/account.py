# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing of a page is lost in silence: every export, unset, source, sysctl and flag is in a profile or in a note."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import syntax as sh
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.blocks import Block
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.elements import Code
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.recipes import Imported


@dataclass(frozen=True)
class Item:
    """One thing that has to be accounted for.

    kind: export, unset, source, sysctl or flag. command: the line in which its command begins.
    """

    line: int
    kind: str
    name: str
    command: int

    def __str__(self) -> str:
        return f"--{self.name}" if self.kind == "flag" else f"{self.kind} {self.name}"


_IN_TEXT = re.compile(
    r"\b(?P<verb>export|unset|source|sysctl)\s+(?:-w\s+)?(?P<name>[A-Za-z_./][\w./-]*)|(?<![\w-])--(?P<flag>[a-z][\w-]+)"
)


def items(statements: Sequence[sh.Statement]) -> Iterator[Item]:
    """Everything in a script that has to be accounted for."""
    for statement in sh.walk(statements):
        match statement:
            case sh.Declaration(keyword="export"):
                for item, line in zip(statement.items, statement.item_lines, strict=True):
                    yield Item(line, "export", item if isinstance(item, str) else item.name, statement.line)
            case sh.Unset():
                for name in statement.names:
                    yield Item(statement.line, "unset", name, statement.line)
            case sh.Command():
                for line, kind, name in _of_command(statement):
                    yield Item(line, kind, name, statement.line)


def _of_command(statement: sh.Command) -> Iterator[tuple[int, str, str]]:
    words = [(word.line, word.literal or _beginning(word)) for word in statement.words]
    names = [text for _unused, text in words]
    if names[:1] in (["source"], ["."]) and len(words) > 1:
        yield words[1][0], "source", names[1]
        return
    if "sysctl" in names[:2]:
        for line, text in words[1:]:
            if "=" in text:
                yield line, "sysctl", text.partition("=")[0].replace("/", ".")
        return
    for assignment in statement.assignments if words else ():
        yield assignment.line, "export", assignment.name
    for line, text in words:
        if len(text) > 2 and text.startswith("--"):
            yield line, "flag", text[2:].partition("=")[0]


def _beginning(word: sh.WordSyntax) -> str:
    first = word.pieces[0] if word.pieces else None
    return first.text if isinstance(first, sh.Literal) else ""


def missing(blocks: Sequence[Block], done: Imported) -> Iterator[Note]:
    """A note for everything in the blocks that is neither in the profile nor named by a note on its line."""
    left: dict[tuple[int, str], list[str]] = {}
    for block in blocks:
        for item in items(block.script.statements):
            if (item.line, item.kind, item.name) in done.used or _noted(item, done.notes):
                continue
            left.setdefault((item.line, done.asides.get(item.command) or _why(item, block, done)), []).append(str(item))
    for (line, why), what in left.items():
        yield Note(line, ", ".join(what), why, "note" if why in done.asides.values() else "warning")


def _noted(item: Item, notes: Sequence[Note]) -> bool:
    name = re.compile(rf"(?<![\w-]){re.escape(item.name)}(?![\w-])")
    return any(note.line == item.line and name.search(note.what.replace("--", " ")) for note in notes)


def _why(item: Item, block: Block, done: Imported) -> str:
    others = [line for line, _unused, name in done.used if name == item.name and line > item.line >= block.code.line]
    return f"line {min(others)} says it again, and that counts" if others else "nothing is started with it"


def commented(blocks: Sequence[Code]) -> Iterator[Note]:
    """What stands in the comments of shell."""
    for block in blocks:
        for offset, text in enumerate(block.text.split("\n")):
            found = re.match(r"\s*#(.*)", text)
            if found and (what := list(_mentioned(found[1]))):
                yield Note(block.line + offset, ", ".join(what), "it stands in a comment")


def elsewhere(line: int, text: str, why: str) -> Iterator[Note]:
    """What stands in other text, line by line."""
    for offset, each in enumerate(text.split("\n")):
        what = list(_mentioned(each))
        if what:
            yield Note(line + offset, ", ".join(what), why)


def _mentioned(text: str) -> Iterator[str]:
    for found in _IN_TEXT.finditer(text):
        if found["flag"]:
            yield f"--{found['flag']}"
        elif found["verb"] == "source" and "/" not in found["name"]:
            continue
        else:
            yield f"{found['verb']} {found['name']}"
