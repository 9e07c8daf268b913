# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How spellings changed between versions, as data.

A rule has two sides that mean the same: ``old`` and ``new``. Each side maps spellings (``--flag`` or the name of an
environment variable) to a pattern: a literal word or list of words, ``true`` for a bare flag, or ``$N``, which stands
for whatever value was given and may be used on both sides.
A removal names what a version no longer has and that may be left out without any loss of meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Pattern = str | bool | tuple[str, ...]
Side = tuple[tuple[str, Pattern], ...]


@dataclass(frozen=True)
class Rule:
    """Two spellings of one meaning.

    why: a sentence on the change, with its versions. one_way: only ``old`` may become ``new``.
    """

    old: Side
    new: Side
    why: str
    one_way: bool = False


@dataclass(frozen=True)
class Removal:
    """A spelling that may be left out where a version has it not; only for ``values`` where these are given."""

    name: str
    why: str
    values: tuple[str, ...] | None = None


def load_rule(entry: Any) -> Rule:
    """Build a rule from its JSON; raises ValueError in words."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"a rename must be an object, not {entry!r}")
    old, new = _side(entry, "old"), _side(entry, "new")
    free = _variables(new) - _variables(old)
    if free:
        raise ValueError(f"the rename of {_names(old)}: its old side does not set {', '.join(sorted(free))}")
    one_way = bool(entry.get("one_way"))
    if not one_way and _variables(old) != _variables(new):
        raise ValueError(f"the rename of {_names(old)} loses a value on the way back: set one_way")
    return Rule(old=old, new=new, why=str(entry.get("why", "")), one_way=one_way)


def load_removal(entry: Any) -> Removal:
    """Build a removal from its JSON; raises ValueError in words."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise ValueError(f"a removal must be an object with a 'name', not {entry!r}")
    values = entry.get("values")
    return Removal(name=entry["name"], why=str(entry.get("why", "")), values=None if values is None else tuple(values))


def is_flag(name: str) -> bool:
    """Whether a spelling in a rule is a flag; otherwise it is an environment variable."""
    return name.startswith("--")


def is_variable(pattern: Pattern) -> bool:
    """Whether a pattern stands for any value."""
    return isinstance(pattern, str) and pattern.startswith("$")


def _side(entry: Mapping[str, Any], key: str) -> Side:
    side = entry.get(key)
    if isinstance(side, str):
        # The usual case, a plain rename: the value stays.
        return ((side, "$value"),)
    if not isinstance(side, Mapping) or not side:
        raise ValueError(f"a rename's {key!r} must be a spelling or an object, not {side!r}")
    return tuple((name, _pattern(value)) for name, value in side.items())


def _pattern(value: Any) -> Pattern:
    if value is True or isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise ValueError(f"{value!r} is no pattern of a rename (a word, a list of words, true or $NAME)")


def _variables(side: Side) -> set[str]:
    return {str(pattern) for _name, pattern in side if is_variable(pattern)}


def _names(side: Side) -> str:
    return ", ".join(name for name, _pattern_of_it in side)
