# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""However a page was written or copied, its profiles are the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from .importing import PAGES, imported

MARKDOWN = (PAGES / "deepseek-r1.md").read_text()
COPIED = (PAGES / "kimi-k2.6.txt").read_text()
KEYS = "Model|Hardware|Cards|Deploy Mode|Quantization|Dataset|Format|TPOT"


def without_command(page: str) -> str:
    return re.sub(r"^Command\n\n", "", page, flags=re.MULTILINE)


def dense(page: str) -> str:
    """As some browsers copy: no blank lines."""
    return re.sub(r"\n\n+", "\n", page)


def lines(pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> Callable[[str], str]:
    return lambda page: re.sub(pattern, replacement, page, flags=re.MULTILINE)


def capitals(page: str) -> str:
    sections = "Model Deployment|Benchmark|Optimal Configuration|Low Latency|High Throughput"
    return re.sub(rf"^(#* ?)({sections})$", lambda found: found[1] + found[2].upper(), page, flags=re.MULTILINE)


def split_facts(separator: str) -> Callable[[re.Match[str]], str]:
    return lambda found: re.sub(rf" ({KEYS}): ", rf"{separator}\1: ", found[0])


COPIES = {
    "no Command": without_command,
    "bash": lines(r"^Command$", "bash"),
    "button": lines(r"^Command$", "Copy"),
    "capitals": lambda page: capitals(without_command(page)),
    "a fact a line": lines(r"^Model: .*$", split_facts("\n")),
    "a fact a paragraph": lambda page: lines(r"^Model: .*$", split_facts("\n\n"))(without_command(page)),
    "table only": lines(r"^Model: .*\n\n", ""),
    "table only, no Command": lambda page: lines(r"^Model: .*\n\n", "")(without_command(page)),
    "Windows": lambda page: page.replace("\n", "\r\n"),
    "tabs": lambda page: page.replace("    --", "\t--"),
    "hard blanks": lines(r"^ {4}", "\u00a0" * 4),
    "anchors of headings": lines(r"^(Kimi-K2.6 W4A8.*|Model Deployment|Benchmark)$", "\u200b\n\\1"),
    "no blank lines": dense,
    "no blank lines, no Command": lambda page: dense(without_command(page)),
}


def table_under_title(found: re.Match[str]) -> str:
    pairs = re.findall(r"\*\*(\w[\w ]*)\*\*: (.*)", found[0])
    head, row = (" | ".join(each) for each in zip(*pairs, strict=True))
    return f"| {head} |\n|{'---|' * len(pairs)}\n| {row} |\n\n"


def html_under_title(found: re.Match[str]) -> str:
    pairs = re.findall(r"\*\*(\w[\w ]*)\*\*: (.*)", found[0])
    return "<table>\n" + "".join(f"<tr><td>{key}</td><td>{text}</td></tr>\n" for key, text in pairs) + "</table>\n\n"


def as_text(page: str, *, command: bool) -> str:
    """What a browser makes of Markdown."""
    found: list[str] = []
    code = False
    for line in page.split("\n"):
        if line.startswith("```"):
            code = not code
            found += (["Command", ""] if command else [""]) if code else []
        elif code:
            found.append(line)
        elif not re.match(r"[<>]|\|[ |-]*$", line):
            plain = re.sub(r"^#+ |\*\*|`", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line))
            cells = [cell.strip() for cell in plain.strip("|").split("|")]
            found.append("\t".join(cells) if plain.startswith("|") else plain)
    return "\n".join(found)


FACTS = r"(^\*\*\w[\w ]*\*\*: .*\n\n)+"
WRITTEN = {
    "plain fences": lines(r"^```(\w+) Command theme=\{null\}", r"```\1"),
    "no language": lines(r"^```(\w+) Command theme=\{null\}", "```"),
    "tildes": lines(r"^```(\w*).*$", r"~~~\1"),
    "capitals": capitals,
    "plain facts": lines(r"^\*\*(\w[\w ]*)\*\*: ", r"\1: "),
    "bullets": lines(r"^\*\*(\w[\w ]*)\*\*: ", r"- **\1:** "),
    "table only": lines(r"^\*\*(\w[\w ]*)\*\*: .*\n\n", ""),
    "table under the title": lines(FACTS, table_under_title),
    "HTML under the title": lines(FACTS, html_under_title),
    "copied": lambda page: as_text(page, command=True),
    "copied, no Command": lambda page: as_text(page, command=False),
    "copied, no blank lines": lambda page: dense(as_text(page, command=True)),
    "copied, no blank lines, no Command": lambda page: dense(as_text(page, command=False)),
}


@pytest.mark.parametrize("how", COPIES)
def test_copied_page(how: str) -> None:
    changed = COPIES[how](COPIED)
    assert changed != COPIED
    assert profiles(changed) == profiles(COPIED)


@pytest.mark.parametrize("how", WRITTEN)
def test_written_page(how: str) -> None:
    changed = WRITTEN[how](MARKDOWN)
    assert changed != MARKDOWN
    assert profiles(changed) == profiles(MARKDOWN)


@cache
def profiles(page: str) -> dict[str, object]:
    return {profile.name: profile.data for profile in imported(page).profiles}
