# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text copied from the web site: no marks, so headings and shell are told from prose by how they read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.elements import (
    Cell,
    Code,
    Element,
    Heading,
    Prose,
    Table,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.facts import begins_facts
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.titles import is_section

# What stands over a block on the web site: its title, its language, its button.
_MARK = re.compile(r"(command|copy|copy code|bash|shell|sh|terminal|console)", re.IGNORECASE)
_DEPLOYMENT = re.compile(r"(model|server|service)?\s*(deploy|launch|start|serv|run)", re.IGNORECASE)
# fmt: off
_STARTS = frozenset({
    "export", "unset", "source", ".", "echo", "sysctl", "sudo", "python", "python3", "for", "if", "while", "case",
    "fi", "done", "do", "then", "else", "elif", "break", "declare", "nohup", "exec", "set", "ulimit", "env", "cd",
})
# fmt: on
# What no line of prose begins with.
_COMMAND = re.compile(r"(export|unset) \w+|python3? -m |(source|\.) /|sysctl -|echo |# |[A-Za-z_]\w*=")
_ROUTER_OR_BENCHMARK = re.compile(r"-m\s+(sglang_router\.|sglang\.bench)")
_SERVER = re.compile(r"-m\s+sglang\.launch_server")


def plain(lines: Sequence[str]) -> Iterator[Element]:
    """The elements of a copied page."""
    block: list[tuple[int, str]] = []
    marked = False

    def finish() -> Iterator[Code]:
        nonlocal block
        while block and not block[-1][1].strip():
            block.pop()
        if block:
            yield from _blocks(block, marked)
        block = []

    depth = 0
    for place, paragraph in _paragraphs(lines):
        first = paragraph[0]
        open_block = depth > 0
        if not open_block and _is_mark(first):
            yield from finish()
            marked = True
            continue
        if not open_block and _is_heading(lines, place):
            yield from finish()
            marked = False
            yield Heading(place + 1, 0, first.strip())
            continue
        if open_block or _is_shell(first) or (marked and not _is_prose(first)):
            if block:
                block.extend((number, "") for number in range(block[-1][0] + 1, place))
            block.extend((place + offset, text) for offset, text in enumerate(paragraph))
            depth = _depth("\n".join(text for _unused, text in block))
            continue
        yield from finish()
        marked = False
        if all(line.count("\t") >= 1 for line in paragraph):
            rows = (tuple(Cell(cell.strip()) for cell in line.split("\t")) for line in paragraph)
            yield Table(place + 1, tuple(rows))
        else:
            for offset, text in enumerate(paragraph):
                yield Prose(place + offset + 1, text)
    yield from finish()


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines that are not blank, with the place of the first. Marks and headings stand alone.

    Shell under prose begins a run of its own: not every browser copies the blank lines.
    """
    start: int | None = None
    for place, line in enumerate([*lines, ""]):
        blank = not line.strip()
        continued = place > 0 and lines[place - 1].rstrip().endswith("\\")
        alone = not blank and (_is_mark(line) or _is_heading(lines, place))
        turns = start is not None and not continued and _turns(lines[start], line)
        if start is not None and (blank or alone or turns):
            yield start, list(lines[start:place])
            start = None
        if alone:
            yield place, [line]
        elif not blank and start is None:
            start = place


def _turns(first: str, line: str) -> bool:
    """Whether a line cannot belong to the run that the first line begins."""
    return _is_prose(line) if _is_shell(first) else _is_command(line)


def _is_mark(line: str) -> bool:
    return _MARK.fullmatch(line.strip()) is not None


def _is_heading(lines: Sequence[str], place: int) -> bool:
    text = lines[place].strip()
    if "\t" in text or _is_shell(text):
        return False
    if is_section(text):
        return True
    if len(text) > 120 or text.endswith((".", ":")) or begins_facts(text):
        return False
    # A title stands over the facts of its recipe, or over "Model Deployment".
    follower = next((line.strip() for line in lines[place + 1 :] if line.strip()), "")
    return begins_facts(follower) or (_DEPLOYMENT.match(follower) is not None and is_section(follower))


def _is_command(line: str) -> bool:
    return _COMMAND.match(line.strip()) is not None


def _is_shell(line: str) -> bool:
    text = line.strip()
    word = re.split(r"[\s;(]", text, maxsplit=1)[0]
    return (
        text.startswith(("#", "--", "[[", "/usr/bin/python"))
        or word in _STARTS
        or re.match(r"[A-Za-z_]\w*\+?=", text) is not None
    )


def _is_prose(line: str) -> bool:
    return re.match(r"[A-Z][a-z]*\s+[A-Za-z]+", line.strip()) is not None


def _depth(text: str) -> int:
    """How many loops and branches are open at the end of the text."""
    depth = 0
    for line in text.split("\n"):
        words = re.findall(
            r"(?:^|[;&|]|\b(?:do|then|else)\b)\s*(for|while|if|case|done|fi|esac)\b", line.split(" #")[0]
        )
        for word in words if not line.lstrip().startswith("#") else ():
            depth += 1 if word in ("for", "while", "if", "case") else -1
    return max(depth, 0)


def _blocks(block: list[tuple[int, str]], marked: bool) -> Iterator[Code]:
    """The block; without a mark over each, what starts a router or a benchmark begins a block of its own."""
    parts = [block]
    if not marked:
        cut = _cut(block)
        if cut:
            parts = [block[:cut], block[cut:]]
    for part in parts:
        while part and not part[0][1].strip():
            part = part[1:]
        if part:
            yield Code(part[0][0] + 1, "\n".join(text for _unused, text in part).rstrip("\n"))


def _cut(block: list[tuple[int, str]]) -> int | None:
    """Where the shell of another host begins: behind the last server's loop or command, before the router's."""
    server = max((place for place, (_unused, text) in enumerate(block) if _SERVER.search(text)), default=None)
    other = next((place for place, (_unused, text) in enumerate(block) if _ROUTER_OR_BENCHMARK.search(text)), None)
    if server is None or other is None or other < server:
        return None
    for place in range(server, other):
        text = "\n".join(line for _unused, line in block[: place + 1])
        if not block[place][1].rstrip().endswith("\\") and _depth(text) == 0:
            return place + 1
    return None
