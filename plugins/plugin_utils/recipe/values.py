# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a shell variable or word holds: text that remembers where it came from.

Only so can an address that the shell took from ``P_IP`` be told from any other text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Origin:
    """The variable that a text was assigned to; index: its place in an array."""

    name: str
    index: int | None = None

    def __str__(self) -> str:
        return self.name if self.index is None else f"{self.name}[{self.index}]"


@dataclass(frozen=True)
class Text:
    """Text, and the variable that it was read from."""

    text: str
    origin: Origin | None = None


@dataclass(frozen=True)
class OwnAddress:
    """An address of the host that the script runs on, as it finds it out (``hostname -I``)."""


@dataclass(frozen=True)
class HostVariable:
    """The value that a variable has on the host before the script runs."""

    name: str


@dataclass(frozen=True)
class HostOutput:
    """What a command prints on the host; raw: the command as the page has it."""

    raw: str


Part = Text | OwnAddress | HostVariable | HostOutput
Value = tuple[Part, ...]


def value(text: str, origin: Origin | None = None) -> Value:
    """A value of one text."""
    return (Text(text, origin),) if text else ()


def show(parts: Value) -> str:
    """The value as text for messages and for comparisons with literal text."""
    return "".join(_show(part) for part in parts)


def _show(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, HostOutput):
        return part.raw
    return "<own address>" if isinstance(part, OwnAddress) else f"${part.name}"


def known(parts: Value) -> bool:
    """Whether the page alone says what the value is."""
    return all(isinstance(part, Text) for part in parts)


def joined(values: Iterable[Value], separator: str = "") -> Value:
    """The values one behind the other."""
    found: list[Part] = []
    for number, each in enumerate(values):
        if number and separator:
            found.append(Text(separator))
        found.extend(each)
    return tuple(found)


def named(parts: Value, origin: Origin) -> Value:
    """The value as a variable holds it: literal texts get the variable as their origin, others keep their own."""
    if len(parts) > 1 and all(isinstance(part, Text) and part.origin is None for part in parts):
        return value(show(parts), origin)
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].origin is None:
        return value(parts[0].text, origin)
    return parts


@dataclass(frozen=True)
class Word:
    """One word as the shell passes it. start, end: the place in the block of what it was expanded from, in bytes."""

    value: Value
    line: int
    start: int
    end: int

    @property
    def text(self) -> str:
        return show(self.value)

    @property
    def is_flag(self) -> bool:
        return len(self.text) > 2 and self.text.startswith("--")
