# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing of a page is lost in silence: every export, unset, source, sysctl and flag is in a profile or in a note."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import syntax as sh
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.blocks import Block
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.elements import Code
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note

# line, kind (export, unset, source, sysctl, flag), name
Item = tuple[int, str, str]

_IN_TEXT = re.compile(
    r"\b(?P<verb>export|unset|source|sysctl)\s+(?:-w\s+)?(?P<name>[A-Za-z_./][\w./-]*)|(?<![\w-])--(?P<flag>[a-z][\w-]+)"
)


def items(statements: Sequence[sh.Statement]) -> Iterator[Item]:
    """Everything in a script that has to be accounted for."""
    for statement in sh.walk(statements):
        match statement:
            case sh.Declaration(keyword="export"):
                for item, line in zip(statement.items, statement.item_lines, strict=True):
                    yield line, "export", item if isinstance(item, str) else item.name
            case sh.Unset():
                for name in statement.names:
                    yield statement.line, "unset", name
            case sh.Command():
                yield from _of_command(statement)


def _of_command(statement: sh.Command) -> Iterator[Item]:
    words = [(word.line, word.literal or _beginning(word)) for word in statement.words]
    names = [text for _, text in words]
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


def missing(blocks: Sequence[Block], used: Collection[Item], noted: Collection[int]) -> Iterator[Note]:
    """A note for everything in the blocks that is neither in the profile nor on a line with a note of its own."""
    held = set(used)
    for block in blocks:
        left: dict[int, list[str]] = {}
        for item in items(block.script.statements):
            if item not in held and item[0] not in noted:
                left.setdefault(item[0], []).append(show(item))
        for line, what in left.items():
            yield Note(line, ", ".join(what), _why(what, block, held, line), "warning")


def show(item: Item) -> str:
    """An item as it stands on the page."""
    _, kind, name = item
    return f"--{name}" if kind == "flag" else f"{kind} {name}"


def _why(what: Sequence[str], block: Block, held: Collection[Item], line: int) -> str:
    names = {each.split(" ", 1)[-1].removeprefix("--") for each in what}
    later = [at for at, _, name in held if name in names and block.code.line <= at and at != line]
    if later:
        return f"line {min(later)} says it again, and that counts"
    return "no service of this recipe is started with it"


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
