# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands: from arguments as values to the words of a command line, and to the two sides of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Side
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine import arguments
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.placeholders import Context
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import PageSpelling
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import SECRET_API_KEY, Word
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain


def grow(value: Plain, by: int) -> Plain:
    """A number raised by `by`, or a text with the number at its end raised."""
    if not by:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value + by
    if isinstance(value, str):
        stem = value.rstrip("0123456789")
        return f"{stem}{int(value[len(stem) :]) + by}" if stem != value else value
    return value


def filled(values: Mapping[str, Plain], fill: Context, growth: Mapping[str, int], index: int) -> dict[str, Plain]:
    """The values with placeholders filled and per-instance numbers grown for the instance `index`."""
    return {name: grow(fill.fill(value), growth.get(name, 0) * index) for name, value in values.items()}


def page_side(
    args: Mapping[str, Plain], spellings: Mapping[str, PageSpelling], engine: Engine, rank: int = 0
) -> dict[str, Side]:
    """Filled page arguments as the page's shell passes them: by the page's own flag name, in the page's words."""
    result: dict[str, Side] = {}
    for name, value in args.items():
        spelling = spellings.get(name, PageSpelling())
        option = f"--{spelling.flag}" if spelling.flag else arguments.option(engine, name, _value(value))
        words = arguments.spelled(engine, name, _value(grow(value, spelling.per_rank * rank)))
        result[option] = words if spelling.words is None else list(spelling.words)
    return result


def planned_side(args: Mapping[str, Plain], engine: Engine) -> dict[str, Side]:
    """Planned arguments by flag, in words; a secret by its name."""
    return {
        arguments.option(engine, name, _value(value)): [dict(SECRET_API_KEY)]
        if value == SECRET_API_KEY
        else arguments.spelled(engine, name, _value(value))
        for name, value in args.items()
    }


def argv(side: Mapping[str, Side]) -> list[Word]:
    """The command line of a planned side, flag by flag; a flag with several lists of words stands once for each."""
    line: list[Word] = []
    for option, words in side.items():
        for once in words if words and isinstance(words[0], list) else [words]:
            line += [option, *once]
    return line


def put_after(args: dict[str, Plain], anchor: str, name: str, value: Plain) -> None:
    """Set a flag; a new one goes behind `anchor`, where a reader of the page would look for it."""
    if name in args or anchor not in args:
        args[name] = value
        return
    tail = list(args.items())[list(args).index(anchor) + 1 :]
    for key, _old in tail:
        del args[key]
    args[name] = value
    args.update(tail)


def _value(value: Plain) -> Any:
    return value
