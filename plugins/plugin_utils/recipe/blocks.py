# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shell blocks of a recipe as scripts, and which of them run in one shell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import parser
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import placeholders as ph
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import syntax as sh
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.commands import SERVER
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.elements import Code
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.machine import Run, run
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError

# What a block is for: to start something, to prepare the shell for the blocks that follow, or neither.
Kind = Literal["server", "router", "benchmark", "preparation", "aside"]


@dataclass(frozen=True)
class Block:
    """One parsed block. modes: what its servers' --disaggregation-mode says; without one a server is mixed."""

    code: Code
    script: sh.Script
    kind: Kind
    modes: frozenset[str] = frozenset()


# A block with none of these words concerns no recipe, whatever it is written in.
_CONCERNS = re.compile(r"\b(sglang|sglang_router|export|unset|source|sysctl)\b")


_STARTS = re.compile(r"sglang\.launch_server|\bsglang\s+serve\b")
# Lines that name a server and start none: comments, and what looks for processes or ends them.
_NAMES_ONLY = re.compile(r"\s*(#|(sudo\s+)?(pkill|pgrep|kill|killall|ps|grep|tail|pip3?)\b)")


def starts_server(code: Code) -> bool:
    """Whether the text of a block starts a server, in whatever way, before anything is parsed."""
    return any(_STARTS.search(line) and not _NAMES_ONLY.match(line) for line in code.text.split("\n"))


def parse(blocks: Sequence[Code]) -> tuple[tuple[Block, ...], ph.Placeholders, tuple[Note, ...]]:
    """Parse a recipe's blocks. Raises `RecipeError`; a block that cannot concern the recipe is left out and noted."""
    marks: dict[str, str] = {}
    found: list[Block] = []
    notes: list[Note] = []
    for code in blocks:
        text, marks = ph.protect(code.text, marks)
        try:
            script = parser.parse(text, code.line)
        except RecipeError as wrong:
            if parser.PARSER_ERROR is not None or _CONCERNS.search(code.text):
                raise
            notes.append(
                Note(code.line, first_words(code.text), f"not understood, and no part of the recipe: {wrong.what}")
            )
            continue
        found.append(Block(code, script, _kind(script), frozenset(_modes(script.statements))))
    return tuple(found), ph.Placeholders(marks), tuple(notes)


def modules(statements: Sequence[sh.Statement]) -> Iterator[str]:
    """The modules that are started anywhere in a script (``python3 -m module``, ``sglang serve``)."""
    for words in _commands(statements):
        for place, word in enumerate(words[:-1]):
            module = words[place + 1]
            if word == "-m" and module:
                yield module
            elif word == "sglang" and module == "serve":
                yield SERVER


def _modes(statements: Sequence[sh.Statement]) -> Iterator[str]:
    for words in _commands(statements):
        if SERVER in words or "serve" in words:
            flag = "--disaggregation-mode"
            given = [words[place + 1] for place, word in enumerate(words[:-1]) if word == flag]
            given += [word.partition("=")[2] for word in words if word and word.startswith(f"{flag}=")]
            yield str(given[-1]) if given else "mixed"


def _commands(statements: Sequence[sh.Statement]) -> Iterator[list[str | None]]:
    for statement in sh.walk(statements):
        if isinstance(statement, sh.Command):
            yield [word.literal for word in statement.words]


def _kind(script: sh.Script) -> Kind:
    started = set(modules(script.statements))
    if SERVER in started:
        return "server"
    if any(module.startswith("sglang_router") for module in started):
        return "router"
    if any(module.startswith("sglang.bench") for module in started):
        return "benchmark"
    for statement in sh.walk(script.statements):
        words = statement.words if isinstance(statement, sh.Command) else ()
        if isinstance(statement, (sh.Declaration, sh.Unset, sh.Assignment)) or (
            words and words[0].literal in ("source", ".", "sysctl")
        ):
            return "preparation"
    return "aside"


def run_all(blocks: Sequence[Block]) -> tuple[list[tuple[Block, Run]], list[Note]]:
    """Run the blocks, each in a shell of its own after the preparations that belong to it.

    A block that only sets variables is run again in front of the next block that starts something, and in front of
    every server's block if no block has started anything yet. Of servers' blocks, others see the plain variables.
    """
    runs: list[tuple[Block, Run]] = []
    notes: list[Note] = []
    lasting: list[Block] = []
    pending: list[Block] = []
    before: list[sh.Script] = []
    for block in blocks:
        if block.script.dangling is not None:
            notes.append(Note(block.script.dangling, "\\", "nothing follows this backslash"))
        for line in block.script.blanks:
            why = "a blank stands behind the backslash: no shell continues the line, but it is read as continued"
            notes.append(Note(line, "\\ ", why, "warning"))
        if block.kind == "preparation":
            pending.append(block)
            continue
        if block.kind == "server" and not any(each.kind == "server" for each, _unused in runs):
            lasting, pending = pending, []
        preparations = [*(lasting if block.kind == "server" else []), *pending]
        if block.kind == "aside":
            preparations = []
        else:
            pending = []
        for each in preparations:
            why = f"it is taken to run in the same shell as the block in line {block.code.line}"
            notes.append(Note(each.code.line, "a block that starts nothing", why))
        scripts = [*(each.script for each in preparations), block.script]
        try:
            runs.append((block, run(scripts, before)))
        except RecipeError as wrong:
            if block.kind != "aside" or starts_server(block.code):
                raise
            notes.append(Note(wrong.line, wrong.what, "the block starts and sets nothing that a recipe has", "warning"))
            continue
        before = [*before, *(each.script for each in preparations), block.script]
    for each in pending:
        runs.append((each, run([each.script], before)))
        notes.append(Note(each.code.line, "a block that starts nothing", "no block that starts something follows it"))
    return runs, notes


def first_words(text: str) -> str:
    """The beginning of a block, for messages."""
    line = next((line.strip() for line in text.split("\n") if line.strip() and not re.match(r"\s*#", line)), "")
    return line if len(line) <= 60 else line[:57] + "..."
