# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a page leaves open in its shell: ``<your prefill ip1>``, ``'your decode ip'``, ``{D_IP}``, ``PIP1``, ``xxx``.

To a shell ``<…>`` is a redirection. So each placeholder becomes one character that no page has, before the block is
parsed, and its own text again when something is said about it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# Characters of the private use area; a page has at most as many placeholders.
_FIRST, _LAST = 0xE000, 0xE7FF
_PLACEHOLDER = re.compile(
    r"<'?(?P<angle>[A-Za-z][^<>|&;\n$]{0,60}?)'?>(?<!\s>)"
    r"|(?<![$\w])\{(?P<brace>[A-Za-z]\w*|\"[A-Za-z][\w ]*\")\}"
    r"|(?P<your>\b[Yy]our(?:[ _-](?![Yy]our\b)[A-Za-z0-9]+){1,4})"
)


@dataclass(frozen=True)
class Placeholders:
    """The placeholders of a recipe: character -> the page's text."""

    texts: Mapping[str, str]

    def restore(self, text: str) -> str:
        """The text as the page has it."""
        return text.translate({ord(mark): each for mark, each in self.texts.items()})


def protect(text: str, known: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The block with a character for each placeholder, and all placeholders so far (character -> text)."""
    marks = dict(known)
    by_text = {each: mark for mark, each in marks.items()}

    def replace(found: re.Match[str]) -> str:
        whole = found[0]
        if whole not in by_text:
            by_text[whole] = chr(min(_FIRST + len(marks), _LAST))
            marks[by_text[whole]] = whole
        return by_text[whole]

    return _PLACEHOLDER.sub(replace, text), marks


def is_mark(character: str) -> bool:
    """Whether the character stands for a placeholder."""
    return _FIRST <= ord(character) <= _LAST


def bare(text: str) -> str:
    """A placeholder's words alone: ``<your prefill-ip1>`` and ``PREFILL_IP1`` are ``prefill ip1``."""
    words = re.sub(r"[^a-z0-9]+", " ", text.lower()).split()
    return " ".join(word for word in words if word not in ("your", "the", "node", "nodes", "server", "of"))


@dataclass(frozen=True)
class Meaning:
    """What a placeholder asks for. role and place (from 0) where it is the address of a certain host."""

    kind: str
    role: str | None = None
    place: int | None = None


def meaning(text: str) -> Meaning | None:
    """What the placeholder asks for: an ``address``, an ``interface`` or a ``port``; None if nobody can tell."""
    words = bare(text)
    number = re.search(r"(\d+)\D*$", words)
    place = max(int(number[1]) - 1, 0) if number and len(number[1]) < 3 else 0
    if re.search(r"\b(interface|nic|ifname|netif|network card|eth)\b", words):
        return Meaning("interface")
    if re.fullmatch(r"(.* )?port\d*", words):
        return Meaning("port")
    if re.search(r"(ip\d*|address|addr|host\w*)\b", words) or re.fullmatch(r"(prefill|decode)\s?\d*", words):
        for role, pattern in (
            ("prefill", r"\bprefill|^p\d*\s?(ip|host|addr)"),
            ("decode", r"\bdecode|^d\d*\s?(ip|host|addr)"),
            ("router", r"\brouter|\bproxy|\blb\b"),
        ):
            if re.search(pattern, words):
                return Meaning("address", role, place)
        return Meaning("address")
    return None
