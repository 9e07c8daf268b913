# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a shell, and the words that it makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import arithmetic, braces
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import syntax as sh
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import (
    HostOutput,
    HostVariable,
    Origin,
    OwnAddress,
    Part,
    Text,
    Value,
    Word,
    joined,
    known,
    named,
    show,
    value,
)

# Commands that print the host's own addresses or names.
OWN_ADDRESS = frozenset({"hostname", "ip", "ifconfig"})
# No array of hosts and no loop of a recipe comes near it.
MOST = 1000
REMOVE = "Remove it in a copy of the page if the recipe does not need it"


@dataclass(frozen=True)
class Exported:
    """An exported variable's value, and the line that gave it."""

    value: Value
    line: int


class Scope:
    """Variables, arrays and exports of one shell, and the expansion of words with them.

    unset: names that the script unset and did not set again -> the line. notes: what an expansion had to decide.
    """

    def __init__(self) -> None:
        self.variables: dict[str, Value] = {}
        self.arrays: dict[str, list[Value]] = {}
        self.exported: dict[str, Exported] = {}
        self.unset: dict[str, int] = {}
        self.notes: list[Note] = []

    # Setting

    def assign(self, statement: sh.Assignment) -> None:
        """``name=value`` in any of its forms."""
        name = statement.name
        if isinstance(statement.value, tuple):
            start = len(self.arrays.get(name, [])) if statement.append else 0
            words = [word.value for each in statement.value for word in self.fields(each)]
            new = [named(each, Origin(name, start + place)) for place, each in enumerate(words)]
            self.arrays[name] = [*self.arrays.get(name, []), *new] if statement.append else new
            self.variables.pop(name, None)
            return
        given = self.value(statement.value)
        if statement.index is not None:
            place = self.number(statement.index, statement.line)
            array = self.arrays.setdefault(name, [])
            if place < 0 or place >= MOST:
                raise RecipeError(
                    statement.line, f"{name}[{place}] is no place in an array of hosts", "Correct the index"
                )
            array.extend([()] * (place + 1 - len(array)))
            array[place] = named(given, Origin(name, place))
            return
        if statement.append:
            given = joined([self.read(name, statement.line), given])
        self.arrays.pop(name, None)
        self.variables[name] = named(given, Origin(name))
        if name in self.exported:
            self.exported[name] = Exported(given, statement.line)

    def declare(self, statement: sh.Declaration) -> None:
        """``export`` and the other declarations."""
        options = "".join(option.lstrip("-") for option in statement.options)
        refused = set(options) - set("axirgp") if statement.keyword != "export" else set(options) - set("np")
        if refused:
            raise RecipeError(
                statement.line,
                f"{statement.keyword} -{options} is no declaration that recipes are imported from",
                REMOVE,
            )
        exports = "x" in options or (statement.keyword == "export" and "n" not in options)
        for item, line in zip(statement.items, statement.item_lines, strict=True):
            name = item if isinstance(item, str) else item.name
            if not isinstance(item, str):
                self.assign(item)
            if not exports:
                if statement.keyword == "export":
                    self.exported.pop(name, None)
                continue
            if name in self.variables:
                self.exported[name] = Exported(self.variables[name], line)
                self.unset.pop(name, None)
            elif name in self.arrays:
                raise RecipeError(line, f"{name} is an array, and an array cannot be exported", "Export its parts")

    def step(self, text: str, line: int) -> None:
        """``i++``, ``i=0``, ``i+=2``: an assignment written as arithmetic."""
        found = re.fullmatch(r"(\w+)\s*(\+\+|--|[-+*/]?=)\s*(.*)|(\+\+|--)(\w+)", text.strip())
        if not found:
            raise RecipeError(line, f"{text!r} is no step of a loop that recipes are imported from", REMOVE)
        name = found[1] or found[5]
        sign = found[2] or found[4]
        if sign in ("++", "--"):
            new = self.number(f"{name} {sign[0]} 1", line)
        elif sign == "=":
            new = self.number(found[3], line)
        else:
            new = self.number(f"{name} {sign[0]} ({found[3]})", line)
        self.variables[name] = value(str(new))

    def forget(self, statement: sh.Unset) -> None:
        """``unset``."""
        for name in statement.names:
            self.variables.pop(name, None)
            self.arrays.pop(name, None)
            self.exported.pop(name, None)
            self.unset[name] = statement.line

    def plain_variables(self, statements: Sequence[sh.Statement]) -> None:
        """Take over what another host's script sets, exports apart."""
        for statement in statements:
            if isinstance(statement, sh.Assignment):
                self.assign(statement)
            elif isinstance(statement, sh.Declaration):
                for item in statement.items:
                    if isinstance(item, sh.Assignment):
                        self.assign(item)

    # Reading

    def number(self, text: str, line: int) -> int:
        """The value of an arithmetic expression."""

        def lookup(name: str, index: str | None) -> str:
            if index == "#":
                return str(len(self.arrays.get(name, [])) if name in self.arrays else int(name in self.variables))
            return show(self.element(name, index, line) if index is not None else self.read(name, line))

        try:
            return arithmetic.evaluate(text, lookup)
        except arithmetic.NoArithmeticError as fault:
            raise RecipeError(line, str(fault), "Correct the expression in a copy of the page") from None

    def read(self, name: str, line: int) -> Value:
        """A variable; one that nobody set is what the host has."""
        if name in self.arrays:
            return self.arrays[name][0] if self.arrays[name] else ()
        if name in self.variables:
            return self.variables[name]
        if name == "HOSTNAME":
            return (OwnAddress(),)
        # Bash counts an unset name as empty; here the host's own environment may have it.
        return () if name in self.unset else (HostVariable(name),)

    def element(self, name: str, index: str, line: int) -> Value:
        """An element of an array."""
        place = self.number(index, line)
        if name not in self.arrays:
            if place == 0 and name in self.variables:
                return self.variables[name]
            raise RecipeError(line, f"{name}[{index}] is used, but the page sets no array {name}", "Add the array")
        array = self.arrays[name]
        if not -len(array) <= place < len(array):
            raise RecipeError(
                line, f"{name}[{place}] is used, but {name} has {len(array)} elements", "Correct the array or the index"
            )
        return array[place]

    def value(self, word: sh.WordSyntax) -> Value:
        """The word as an assignment or a condition takes it: never split."""
        return joined([self.piece(piece, word.line) for piece in word.pieces])

    def piece(self, piece: sh.Piece, line: int) -> Value:
        match piece:
            case sh.Literal():
                return value(piece.text)
            case sh.Arithmetic():
                return value(str(self.number(piece.text, line)))
            case sh.Substitution():
                return self.substitute(piece, line)
            case sh.Expansion():
                if piece.operator != "count" and piece.index in ("@", "*"):
                    return joined(self.many(piece, line), " ")
                return self.expansion(piece, line)

    def expansion(self, piece: sh.Expansion, line: int) -> Value:
        if piece.operator == "count" and piece.index in ("@", "*"):
            return value(str(len(self.many(piece, line))))
        if piece.operator == "count":
            text = self.element(piece.name, piece.index, line) if piece.index else self.read(piece.name, line)
            if not known(text):
                raise RecipeError(line, f"how long ${piece.name} is depends on the host", "Write the number instead")
            return value(str(len(show(text))))
        if piece.operator in ("default", "other-value"):
            return self.conditional(piece, line)
        if piece.index is not None:
            return self.element(piece.name, piece.index, line)
        return self.read(piece.name, line)

    def conditional(self, piece: sh.Expansion, line: int) -> Value:
        operand = self.value(piece.operand) if piece.operand else ()
        present = self.read(piece.name, line)
        theirs = any(isinstance(part, HostVariable) for part in present)
        if piece.operator == "default":
            if theirs and not operand:
                return present  # ${PATH:-}: what the host has, or nothing, as everywhere
            if theirs:
                self.notes.append(
                    Note(
                        line, f"${{{piece.name}:-{show(operand)}}}", "the page does not set it, so its default is taken"
                    )
                )
            return operand if theirs or not present else present
        # ${NAME:+:$NAME} with a variable of the host: joined as if it had a value, the usual case for search paths.
        return operand if theirs or present else ()

    def many(self, piece: sh.Expansion, line: int) -> list[Value]:
        if piece.name not in self.arrays and piece.name not in self.variables:
            raise RecipeError(line, f"{piece.name} is used as an array, but the page never sets it", "Add the array")
        items = self.arrays.get(piece.name, [self.variables.get(piece.name, ())])
        if piece.operator == "keys":
            return [value(str(place)) for place in range(len(items))]
        if piece.operator == "slice":
            start = self.number(piece.bounds[0], line)
            length = self.number(piece.bounds[1], line) if len(piece.bounds) > 1 else len(items)
            return items[start : start + length]
        return list(items)

    def substitute(self, piece: sh.Substitution, line: int) -> Value:
        first: sh.Statement | None = piece.body[0] if len(piece.body) == 1 else None
        while isinstance(first, sh.Pipeline):
            first = first.commands[0]
        if isinstance(first, sh.Command) and first.words:
            name = first.words[0].literal
            if name in OWN_ADDRESS:
                return (OwnAddress(),)
            if name == "pwd":
                return (HostVariable("PWD"),)
            if name == "seq" and first is piece.body[0]:
                bounds = [self.number(word.text, line) for each in first.words[1:] for word in self.fields(each)]
                if 1 <= len(bounds) <= 3:
                    start, step, end = {1: (1, 1, bounds[0]), 2: (bounds[0], 1, bounds[-1])}.get(
                        len(bounds), (bounds[0], bounds[1] if len(bounds) == 3 else 1, bounds[-1])
                    )
                    return value(" ".join(str(each) for each in range(start, end + (1 if step > 0 else -1), step or 1)))
            if name == "echo" and first is piece.body[0]:
                return joined([word.value for each in first.words[1:] for word in self.fields(each)], " ")
        # Not known, which matters only where a service gets it.
        return (HostOutput(piece.raw),)

    def fields(self, word: sh.WordSyntax) -> Iterator[Word]:
        """The words that the command gets: braces expanded, unquoted values split at blanks."""
        for pieces in braces.expand(word.pieces):
            for parts in self.split(pieces, word.line):
                yield Word(parts, word.line, word.start, word.end)

    def split(self, pieces: Sequence[sh.Piece], line: int) -> Iterator[Value]:
        current: list[Part] = []
        there = False
        for piece in pieces:
            if isinstance(piece, sh.Expansion) and (piece.index in ("@", "*") or piece.operator in ("keys", "slice")):
                chunks = self.many(piece, line) if piece.operator != "count" else [self.expansion(piece, line)]
                if piece.quoted and piece.index == "*":
                    chunks = [joined(chunks, " ")]
                elif not piece.quoted:
                    chunks = [part for chunk in chunks for part in _split(chunk)[0]]
            else:
                whole = self.piece(piece, line)
                if isinstance(piece, sh.Literal) or piece.quoted:
                    chunks = [whole]
                    there = there or piece.quoted
                else:
                    chunks, before, after = _split(whole)
                    if before and current:
                        yield tuple(current)
                        current = []
                    if after:
                        chunks = [*chunks, ()]
            for number, chunk in enumerate(chunks):
                if number:
                    yield tuple(current)
                    current = []
                current.extend(chunk)
        if current or there:
            yield tuple(current)


def _split(parts: Value) -> tuple[list[Value], bool, bool]:
    """An unquoted value at its blanks; whether it began and ended with one."""
    pieces: list[list[Part]] = [[]]
    for part in parts:
        if not isinstance(part, Text):
            pieces[-1].append(part)
            continue
        for number, text in enumerate(re.split(r"[ \t\n]+", part.text)):
            if number:
                pieces.append([])
            if text:
                pieces[-1].append(Text(text, part.origin))
    before = len(pieces) > 1 and not pieces[0]
    after = len(pieces) > 1 and not pieces[-1]
    return [tuple(piece) for piece in pieces if piece], before, after
