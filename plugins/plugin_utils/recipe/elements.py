# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page as a sequence of headings, shell blocks, tables and prose, whatever it was written or copied as."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser

# Fences of these languages, and fences of none, hold shell.
_SHELL = frozenset(
    {"", "bash", "shell", "sh", "console", "terminal", "zsh", "shell-session", "text", "txt", "plaintext"}
)


@dataclass(frozen=True)
class Heading:
    """A heading; level from 1. In text copied from a web site every heading has the level 0."""

    line: int
    level: int
    text: str


@dataclass(frozen=True)
class Code:
    """A block. line: of its first line. shell: False for a block of another language. label: what stands over it."""

    line: int
    text: str
    shell: bool = True
    label: str | None = None


@dataclass(frozen=True)
class Cell:
    """A table's cell; link: the anchor that it leads to on the same page."""

    text: str
    link: str | None = None


@dataclass(frozen=True)
class Table:
    """A table, its head among the rows."""

    line: int
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Prose:
    """A line of anything else."""

    line: int
    text: str


Element = Heading | Code | Table | Prose


def clean(page: str) -> list[str]:
    """The lines of a page without what browsers and editors add to them."""
    text = page.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return re.sub("[\u200b\u200c\u200d\u2060\0-\b\v\f\x0e-\x1f]", "", text).replace("\u00a0", " ").split("\n")


def is_markdown(lines: Sequence[str]) -> bool:
    """Whether the page has fenced blocks or those of HTML; text copied from a web site has none."""
    return any(_BLOCK.match(line) for line in lines)


# The beginning of a block: fenced, in a quotation too, or HTML's.
_BLOCK = re.compile(r"[\s>]*(```|~~~)|\s*<pre\b", re.IGNORECASE)
# "> " of a quotation.
_QUOTE = re.compile(r"\s*(>\s?)+")


def markdown(lines: Sequence[str]) -> Iterator[Element]:
    """The elements of Markdown or MDX."""
    place = _front_matter_end(lines)
    for number in range(place):
        yield Prose(number + 1, lines[number])
    lines = _unquoted(lines)
    while place < len(lines):
        line = lines[place]
        fence = re.match(r"(\s*)(`{3,}|~{3,})(.*)$", line)
        if fence and not (fence[2][0] == "`" and "`" in fence[3]):
            code, place = _fenced(lines, place, fence)
            yield code
        elif found := re.match(r"\s*(<!--|\{/\*)", line):
            place = _comment_end(lines, place, "-->" if found[1] == "<!--" else "*/}")
        elif found := re.match(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$", line):
            yield Heading(place + 1, len(found[1]), _plain(found[2]))
            place += 1
        elif found := re.match(r"\s*<h([1-6])\b[^>]*>(.*?)</h\1>", line, re.IGNORECASE):
            yield Heading(place + 1, int(found[1]), _plain(found[2]))
            place += 1
        elif re.match(r"\s*<pre\b", line, re.IGNORECASE):
            code, place = _pre(lines, place)
            yield code
        elif underline := _underline(lines, place):
            yield Heading(place + 1, underline, _plain(line))
            place += 2
        elif re.match(r"\s*<table\b", line, re.IGNORECASE):
            table, place = _html_table(lines, place)
            yield table
        elif (
            line.count("|") >= 2
            and place + 1 < len(lines)
            and re.fullmatch(r"\s*\|?[\s:|-]*-[\s:|-]*", lines[place + 1])
        ):
            end = place
            while end < len(lines) and "|" in lines[end]:
                end += 1
            rows = [_cells(lines[each]) for each in range(place, end) if each != place + 1]
            yield Table(place + 1, tuple(rows))
            place = end
        else:
            yield Prose(place + 1, line)
            place += 1


def _front_matter_end(lines: Sequence[str]) -> int:
    """The place behind the front matter; 0 without one."""
    if not lines or lines[0].strip() != "---":
        return 0
    return next((place + 1 for place in range(1, len(lines)) if lines[place].strip() == "---"), 0)


def _unquoted(lines: Sequence[str]) -> list[str]:
    """The lines with blocks in quotations (``> ```bash``) as other blocks."""
    found = list(lines)
    fence: re.Match[str] | None = None
    quoted = False
    for place, line in enumerate(lines):
        if fence is None:
            fence = re.match(r"([\s>]*)(`{3,}(?!.*`)|~{3,})", line)
            quoted = fence is not None and ">" in fence[1]
            if quoted:
                found[place] = _QUOTE.sub("", line, count=1)
            continue
        if quoted:
            # A line without the mark ends a quotation, and the block with it.
            found[place] = _QUOTE.sub("", line, count=1) if _QUOTE.match(line) else fence[2]
        if re.fullmatch(rf"\s*{re.escape(fence[2][0])}{{{len(fence[2])},}}\s*", found[place]):
            fence = None
    return found


def _underline(lines: Sequence[str], place: int) -> int:
    """The level of a heading that is underlined with === or ---; 0 where the line is none."""
    line = lines[place]
    after = lines[place + 1] if place + 1 < len(lines) else ""
    found = re.fullmatch(r" {0,3}(={3,}|-{3,})\s*", after)
    alone = place == 0 or not lines[place - 1].strip()
    if not found or not alone or not re.match(r" {0,3}\w", line) or "|" in line:
        return 0
    return 1 if found[1][0] == "=" else 2


def _pre(lines: Sequence[str], start: int) -> tuple[Code, int]:
    """A block of HTML: its text without tags and entities."""
    end = next((place for place in range(start, len(lines)) if "</pre" in lines[place].lower()), len(lines) - 1)
    text = "\n".join(lines[start : end + 1])
    body = re.sub(r"</pre\b.*", "", re.sub(r"^\s*<pre\b[^>]*>", "", text, flags=re.IGNORECASE), flags=re.DOTALL)
    plain = html.unescape(re.sub(r"</?(code|span|div|br|a|b|i|em|strong)\b[^<>]*>", "", body, flags=re.IGNORECASE))
    return Code(start + 1, plain), end + 1


def _fenced(lines: Sequence[str], start: int, fence: re.Match[str]) -> tuple[Code, int]:
    closing = re.compile(rf"\s*{re.escape(fence[2][0])}{{{len(fence[2])},}}\s*$")
    end = next((place for place in range(start + 1, len(lines)) if closing.match(lines[place])), len(lines))
    indent = len(fence[1])
    body = [line[indent:] if not line[:indent].strip() else line for line in lines[start + 1 : end]]
    words = re.sub(r"^\{code(-block)?\}", "", fence[3].strip()).split()
    language = words[0].lower().strip("{}.") if words else ""
    if language in ("console", "shell-session"):
        body = [re.sub(r"^\s*[$#] (?=\S)", "", line) if line.lstrip().startswith("$ ") else line for line in body]
    return Code(start + 2, "\n".join(body), language in _SHELL or language == "command"), end + 1


def bold(line: str) -> str | None:
    """The text of a line that is bold as a whole, as pages label the blocks under it; the title of an MDX tab."""
    found = re.fullmatch(r"\s*(?:[-*+]|\d+[.)])?\s*\*\*([^*]+)\*\*:?\s*", line) or re.match(
        r"""\s*<(?:Tab|Accordion)\s+title=["']([^"']+)["']""", line
    )
    return _plain(found[1]).rstrip(":").strip() if found else None


def title_of(lines: Sequence[str]) -> str | None:
    """The page's own title: of its front matter, or its first heading of level 1."""
    if lines and lines[0].strip() == "---":
        for line in lines[1:]:
            if line.strip() == "---":
                break
            if found := re.fullmatch(r"""title:\s*["']?(.*?)["']?\s*""", line):
                return found[1] or None
    return next((_plain(line[2:]) for line in lines if line.startswith("# ")), None)


def _comment_end(lines: Sequence[str], start: int, mark: str) -> int:
    for place in range(start, len(lines)):
        if mark in lines[place]:
            return place + 1
    return len(lines)


def _cells(line: str) -> tuple[Cell, ...]:
    body = line.strip().removeprefix("|")
    body = body[:-1] if body.endswith("|") and not body.endswith("\\|") else body
    return tuple(_cell(text.replace("\\|", "|")) for text in re.split(r"(?<!\\)\|", body))


def _cell(text: str) -> Cell:
    link = re.search(r"\]\([^)#]*#([^)]+)\)", text)
    return Cell(_plain(text), link[1] if link else None)


def _plain(text: str) -> str:
    """Text without emphasis, code marks, links, tags and an anchor of its own."""
    text = re.sub(r"\s*\{#[^}]*\}\s*$", "", text)
    text = re.sub(r"<[^<>]*>", "", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*\*|__|`", "", text)
    return re.sub(r"\s+", " ", html.unescape(text)).strip()


class _TableReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[Cell]] = []
        self.text: str | None = None
        self.link: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.end_cell()
            self.text, self.link = "", None
        elif tag == "a" and self.text is not None:
            target = dict(attrs).get("href") or ""
            self.link = target.partition("#")[2] or None
        elif tag == "br" and self.text is not None:
            self.text += " "

    def handle_data(self, data: str) -> None:
        if self.text is not None:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self.end_cell()

    def end_cell(self) -> None:
        if self.text is not None:
            if not self.rows:
                self.rows.append([])
            cell = _cell(re.sub(r"\s+", " ", self.text).strip())
            self.rows[-1].append(Cell(cell.text, self.link or cell.link))
        self.text = None


def _html_table(lines: Sequence[str], start: int) -> tuple[Table, int]:
    end = next((place for place in range(start, len(lines)) if "</table" in lines[place].lower()), len(lines) - 1)
    reader = _TableReader()
    reader.feed("\n".join(lines[start : end + 1]))
    reader.close()
    return Table(start + 1, tuple(tuple(row) for row in reader.rows if row)), end + 1
