# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How spellings changed between versions, as data.

A rule has two sides that mean the same: ``old`` and ``new``. Each side maps spellings (``--flag`` or the name of an
environment variable) to a pattern: a literal word or list of words, ``true`` for a bare flag, or ``$N``, which stands
for whatever value was given and may be used on both sides. A plain rename is written with the two spellings alone.

A rule names no version: it holds between any two whose grammars differ so. Its versions stand in its ``why``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Pattern = str | bool | tuple[str, ...]
Side = tuple[tuple[str, Pattern], ...]

_WAYS = ("old-to-new", "new-to-old")


@dataclass(frozen=True)
class Rule:
    """Two spellings of one meaning.

    why: a sentence on the change. ways: in which directions the rule may be used.
    """

    old: Side
    new: Side
    why: str
    ways: tuple[str, ...] = _WAYS


@dataclass(frozen=True)
class Removal:
    """A spelling that may be left out where a version has it not, without any loss of meaning.

    values: the words for which that is so; None where it is so for all.
    """

    name: str
    why: str
    values: tuple[str, ...] | None = None


@dataclass(frozen=True)
class MovedDefault:
    """A setting that is said by another name now and has another default.

    Where ``when`` holds and the old name is not given, its default is meant, and the new name must say so (and the
    other way round). old, new: name and default.
    """

    when: Side
    old: tuple[str, str]
    new: tuple[str, str]
    why: str


def load_rule(entry: Any) -> Rule:
    """Build a rule from its JSON; raises ValueError in words."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"a rename must be an object, not {entry!r}")
    old, new = _side(entry, "old"), _side(entry, "new")
    only = entry.get("only")
    if only is not None and only not in _WAYS:
        raise ValueError(f"the rename of {_names(old)}: 'only' must be {' or '.join(_WAYS)}, not {only!r}")
    ways = _WAYS if only is None else (only,)
    for way, given, wanted in (("old-to-new", old, new), ("new-to-old", new, old)):
        free = _variables(wanted) - _variables(given)
        if way in ways and free:
            raise ValueError(f"the rename of {_names(old)}: nothing sets {', '.join(sorted(free))} from {way}")
    return Rule(old=old, new=new, why=_why(entry, _names(old)), ways=ways)


def load_removal(entry: Any) -> Removal:
    """Build a removal from its JSON; raises ValueError in words."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise ValueError(f"a removal must be an object with a 'name', not {entry!r}")
    values = entry.get("values")
    return Removal(
        name=entry["name"],
        why=_why(entry, entry["name"]),
        values=None if values is None else tuple(values),
    )


def load_default(entry: Any) -> MovedDefault:
    """Build a moved default from its JSON; raises ValueError in words."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"a default must be an object, not {entry!r}")
    sides = []
    for key in ("old", "new"):
        side = _side(entry, key)
        if len(side) != 1 or not isinstance(side[0][1], str) or is_variable(side[0][1]):
            raise ValueError(f"a default's {key!r} must be one spelling with its default, not {entry.get(key)!r}")
        sides.append((side[0][0], side[0][1]))
    return MovedDefault(when=_side(entry, "when"), old=sides[0], new=sides[1], why=_why(entry, sides[0][0]))


def is_flag(name: str) -> bool:
    """Whether a spelling in a rule is a flag; otherwise it is an environment variable."""
    return name.startswith("--")


def is_variable(pattern: Pattern) -> bool:
    """Whether a pattern stands for any value."""
    return isinstance(pattern, str) and pattern.startswith("$")


def _side(entry: Mapping[str, Any], key: str) -> Side:
    side = entry.get(key)
    if isinstance(side, str):
        return ((side, "$value"),)
    if not isinstance(side, Mapping) or not side:
        raise ValueError(f"{key!r} must be a spelling or an object of spellings, not {side!r}")
    return tuple((name, _pattern(value)) for name, value in side.items())


def _pattern(value: Any) -> Pattern:
    if value is True or isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise ValueError(f"{value!r} is no pattern (a word, a list of words, true or $NAME)")


def _variables(side: Side) -> set[str]:
    return {str(pattern) for _name, pattern in side if is_variable(pattern)}


def _names(side: Side) -> str:
    return ", ".join(name for name, _of_it in side)


def _why(entry: Mapping[str, Any], what: str) -> str:
    why = entry.get("why")
    if not isinstance(why, str) or not why:
        raise ValueError(f"{what}: a 'why' is missing, a sentence for the people who read the plan")
    return why
