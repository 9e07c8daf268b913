# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brace expansion, which tears unquoted JSON: ``{"a":1,"b":2}`` becomes two words, ``{1..4}`` four."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.syntax import Literal, Piece

# One character of a word that may have a meaning to the shell, or a piece that has none (quoted, or an expansion).
_Atom = str | Piece


def expand(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    """The words that one word becomes; the word itself where it has no braces to expand."""
    for atoms in _expand(_atoms(pieces)):
        yield tuple(_pieces(atoms))


def _atoms(pieces: Sequence[Piece]) -> list[_Atom]:
    found: list[_Atom] = []
    for piece in pieces:
        if isinstance(piece, Literal) and not piece.quoted:
            found.extend(piece.text)
        else:
            found.append(piece)
    return found


def _pieces(atoms: Sequence[_Atom]) -> Iterator[Piece]:
    text = ""
    for atom in atoms:
        if isinstance(atom, str):
            text += atom
            continue
        if text:
            yield Literal(text)
            text = ""
        yield atom
    if text:
        yield Literal(text)


def _expand(atoms: list[_Atom]) -> Iterator[list[_Atom]]:
    for start, atom in enumerate(atoms):
        if atom != "{":
            continue
        end, commas = _group(atoms, start)
        if end is None:
            continue
        choices = _choices(atoms, start, end, commas)
        if choices is None:
            continue
        head, tail = atoms[:start], atoms[end + 1 :]
        for choice in choices:
            for middle in _expand(choice):
                for rest in _expand(tail):
                    yield [*head, *middle, *rest]
        return
    yield atoms


def _group(atoms: list[_Atom], start: int) -> tuple[int | None, list[int]]:
    """Where the brace at `start` closes, and the commas between that are its own."""
    depth = 0
    commas: list[int] = []
    for place in range(start, len(atoms)):
        if atoms[place] == "{":
            depth += 1
        elif atoms[place] == "}":
            depth -= 1
            if depth == 0:
                return place, commas
        elif atoms[place] == "," and depth == 1:
            commas.append(place)
    return None, []


def _choices(atoms: list[_Atom], start: int, end: int, commas: list[int]) -> list[list[_Atom]] | None:
    if commas:
        bounds = [start, *commas, end]
        return [atoms[left + 1 : right] for left, right in pairwise(bounds)]
    inside = atoms[start + 1 : end]
    texts = [atom for atom in inside if isinstance(atom, str)]
    numbers = re.fullmatch(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?", "".join(texts))
    if len(texts) != len(inside) or not numbers:
        return None
    first, last, step = int(numbers[1]), int(numbers[2]), abs(int(numbers[3] or 1)) or 1
    series = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [list(str(number)) for number in series]
