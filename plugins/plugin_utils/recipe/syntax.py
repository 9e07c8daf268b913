# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shell of a recipe as syntax: what the parser makes of it, without anything that depends on the parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Literal:
    """Text as the shell sees it after its quotes are gone."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Expansion:
    """``$name``, ``${name[index]}`` and the forms with an operator.

    index: an arithmetic expression, ``@`` or ``*``; None for a plain variable.
    operator: ``""``, ``keys`` (``${!name[@]}``), ``count`` (``${#name[@]}``), ``slice``, ``default`` (``:-``) or
    ``other-value`` (``:+``).
    operand: the word behind ``:-`` and ``:+``. bounds: the expressions of a slice.
    """

    name: str
    index: str | None = None
    operator: str = ""
    operand: WordSyntax | None = None
    bounds: tuple[str, ...] = ()
    quoted: bool = False


@dataclass(frozen=True)
class Arithmetic:
    """``$(( text ))``."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Substitution:
    """The output of commands: ``$(...)`` or backticks. raw: as the page has it."""

    body: tuple[Statement, ...]
    raw: str
    quoted: bool = False


Piece = Literal | Expansion | Arithmetic | Substitution


@dataclass(frozen=True)
class WordSyntax:
    """One word of a command before the shell expands it. start, end: its place in the block, in bytes."""

    pieces: tuple[Piece, ...]
    line: int
    start: int
    end: int

    @property
    def literal(self) -> str | None:
        """The word's text where nothing in it has to be expanded."""
        texts = [piece.text for piece in self.pieces if isinstance(piece, Literal)]
        return "".join(texts) if len(texts) == len(self.pieces) else None


@dataclass(frozen=True)
class Assignment:
    """``name=value``, ``name=(…)``, ``name[index]=value``; append: ``+=``. value is a tuple for an array."""

    name: str
    value: WordSyntax | tuple[WordSyntax, ...]
    line: int
    index: str | None = None
    append: bool = False


@dataclass(frozen=True)
class Redirect:
    """``>file`` and its kin. target None: a descriptor is copied (``2>&1``)."""

    operator: str
    target: WordSyntax | None


@dataclass(frozen=True)
class Command:
    """A simple command."""

    words: tuple[WordSyntax, ...]
    line: int
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    background: bool = False


@dataclass(frozen=True)
class Declaration:
    """``export``, ``declare``, ``readonly``, ``local``: options, and names with or without a value."""

    keyword: str
    options: tuple[str, ...]
    items: tuple[Assignment | str, ...]
    line: int
    item_lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Unset:
    """``unset name…``."""

    names: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Pipeline:
    """Commands joined by ``|``."""

    commands: tuple[Statement, ...]
    line: int
    background: bool = False


@dataclass(frozen=True)
class Chain:
    """``left && right`` or ``left || right``."""

    left: Statement
    operator: str
    right: Statement
    line: int


@dataclass(frozen=True)
class Negation:
    """``! statement``."""

    body: Statement
    line: int


@dataclass(frozen=True)
class ForEach:
    """``for name in words``."""

    name: str
    words: tuple[WordSyntax, ...]
    body: tuple[Statement, ...]
    line: int


@dataclass(frozen=True)
class ForCount:
    """``for ((start; condition; step))``."""

    start: str
    condition: str
    step: str
    body: tuple[Statement, ...]
    line: int


@dataclass(frozen=True)
class If:
    """``if … elif … else``: branches of (condition, body), then the body of ``else``."""

    branches: tuple[tuple[tuple[Statement, ...], tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]
    line: int


@dataclass(frozen=True)
class Test:
    """``[[ … ]]`` or ``[ … ]``."""

    condition: Condition
    line: int


@dataclass(frozen=True)
class Compare:
    """``left operator right``; operator as written."""

    operator: str
    left: WordSyntax
    right: WordSyntax


@dataclass(frozen=True)
class Unary:
    """``-z word``, ``-n word``; a bare word is ``-n``."""

    operator: str
    operand: WordSyntax


@dataclass(frozen=True)
class Not:
    """``! condition``."""

    condition: Condition


@dataclass(frozen=True)
class Both:
    """Two conditions joined by ``&&`` or ``||``."""

    operator: str
    left: Condition
    right: Condition


Condition = Compare | Unary | Not | Both
Statement = Assignment | Command | Declaration | Unset | Pipeline | Chain | Negation | ForEach | ForCount | If | Test


@dataclass(frozen=True)
class Script:
    """A parsed block.

    dangling: the line of a backslash behind the last word, which continues nothing; None if none. blanks: lines with a
    blank behind their backslash, which a shell would not continue; they are read as continued.
    """

    statements: tuple[Statement, ...]
    source: bytes = field(repr=False)
    dangling: int | None = None
    blanks: tuple[int, ...] = ()

    def text(self, start: int, end: int) -> str:
        """The source between two places, continued lines joined."""
        return re.sub(r"\\\n[ \t]*", " ", self.source[start:end].decode())


def walk(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Every statement, in the order of the text, also inside loops and branches."""
    for statement in statements:
        yield statement
        match statement:
            case ForEach() | ForCount():
                yield from walk(statement.body)
            case If():
                for condition, body in statement.branches:
                    yield from walk(condition)
                    yield from walk(body)
                yield from walk(statement.otherwise)
            case Pipeline():
                yield from walk(statement.commands)
            case Chain():
                yield from walk((statement.left, statement.right))
            case Negation():
                yield from walk((statement.body,))
