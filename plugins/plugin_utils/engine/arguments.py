# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From values to the words of a command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine, Flag

Scalar = str | int | float | bool
# A scalar; true for a bare flag; a list of scalars; a mapping for a JSON flag; a list of lists for a repeatable flag.
ArgValue = Scalar | Sequence[Any] | Mapping[str, Any]
# Full flag names without dashes in front -> value, in the order of the command line.
Args = Mapping[str, ArgValue]


def words(engine: Engine, name: str, value: ArgValue) -> list[str]:
    """The words that follow the flag: none for a bare one, one for a scalar, each of a list, JSON for a mapping.

    Where a repeatable flag is given more than once this raises ValueError: use `occurrences`.
    """
    given = occurrences(engine, name, value)
    if len(given) != 1:
        raise ValueError(f"--{name} is given {len(given)} times, so it has {len(given)} lists of words")
    return given[0]


def occurrences(engine: Engine, name: str, value: ArgValue) -> list[list[str]]:
    """The words behind each occurrence of the flag: one list, or several where a repeatable flag repeats."""
    flag = engine.flag(name)
    if not is_list(value):
        return [_words(flag, value)]
    if flag is not None and flag.repeatable:
        if value and all(is_list(each) for each in value):
            return [_words(flag, each) for each in value]
        if flag.nargs in (None, 1):
            # Each occurrence takes one word, so a plain list can only mean one occurrence for each.
            return [_words(flag, each) for each in value]
    return [_words(flag, value)]


def spelled(engine: Engine, name: str, value: ArgValue) -> list[str] | list[list[str]]:
    """The words as a deviation shows them: a list, or for a repeatable flag a list of lists."""
    flag = engine.flag(name)
    return occurrences(engine, name, value) if flag is not None and flag.repeatable else words(engine, name, value)


def option(engine: Engine, name: str, value: ArgValue) -> str:
    """The flag with its dashes; a ``--no-`` form where a flag that has one is given false."""
    flag = engine.flag(name)
    if value is False and flag is not None and flag.optional and name not in flag.off_names:
        return f"--no-{name}"
    return f"--{name}"


def argv(engine: Engine, args: Args) -> list[str]:
    """The arguments as a command line, in the mapping's order. Does not check them: see `check`."""
    line: list[str] = []
    for name, value in args.items():
        for each in occurrences(engine, name, value):
            line.append(option(engine, name, value))
            line.extend(each)
    return line


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list of values and no text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def word(value: Any) -> str:
    """One value as one word. Numbers stand as written (0.81, 1.0, 16); a mapping is its JSON text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) or is_list(value) or value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)


def _words(flag: Flag | None, value: ArgValue) -> list[str]:
    if isinstance(value, bool) and (value or (flag is not None and flag.bare)):
        return []
    if is_list(value) and not (flag is not None and flag.json and flag.nargs is None):
        return [word(each) for each in value]
    return [word(value)]
