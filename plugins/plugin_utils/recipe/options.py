# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command's words as options, each under its full name in one version's grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.naming import full_name, nearest_flags
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.suggest import either
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.commands import Launch
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import Text, Word

# What a word processor makes of quotation marks.
_TYPOGRAPHIC = "\u201c\u201d\u201e\u2018\u2019\u201a"


@dataclass(frozen=True)
class Option:
    """One flag and its words.

    name: the full name. written: as the page has it, without dashes. torn: the JSON that the page means, where the
    shell tears it apart or takes its quotes away; words are then what the shell passes.
    """

    name: str
    written: str
    words: tuple[Word, ...]
    line: int
    torn: dict[str, Any] | list[Any] | None = None


def parse(launch: Launch, engine: Engine | None) -> tuple[tuple[Option, ...], tuple[Note, ...]]:
    """The options of a launch, in order. engine: None for a program whose grammar is not known (the benchmark).

    Raises `RecipeError` for words that belong to no flag. A flag that is given twice counts where it stands last,
    unless it adds up.
    """
    found: dict[str, Option] = {}
    every: list[Option] = []
    notes: list[Note] = []
    for flag, words in _groups(launch):
        option, said = _option(launch, engine, flag, words)
        notes.extend(said)
        spec = engine.flag(option.name) if engine else None
        if spec is not None and spec.repeatable:
            every.append(option)
            continue
        if option.name in found:
            before = found.pop(option.name)
            what = f"--{before.written} {' '.join(word.text for word in before.words)}".strip()
            notes.append(
                Note(before.line, what, f"line {option.line} gives it again, and the last one counts", "warning")
            )
        found[option.name] = option
        every.append(option)
    kept = [option for option in every if found.get(option.name, option) is option]
    return tuple(kept), tuple(notes)


def _groups(launch: Launch) -> Iterator[tuple[Word, list[Word]]]:
    flag: Word | None = None
    words: list[Word] = []
    for word in launch.words:
        if word.is_flag:
            if flag is not None:
                yield flag, words
            flag, words = word, []
            name, sign, _rest = word.text.partition("=")
            if sign:
                flag = Word((Text(name),), word.line, word.start, word.end)
                value = _after(word, len(name) + 1)
                words = [Word(value, word.line, word.start + len(name) + 1, word.end)]
        elif re.match(r"-[A-Za-z]", word.text) and not (words and words[0].text.startswith("{")):
            raise RecipeError(
                word.line, f"{word.text} is no flag of {launch.module}: its flags begin with two dashes", "Correct it"
            )
        elif flag is None:
            raise RecipeError(word.line, f"{word.text!r} belongs to no flag of {launch.module}", "Correct the command")
        else:
            words.append(word)
    if flag is not None:
        yield flag, words


def _after(word: Word, count: int) -> tuple[Any, ...]:
    first = word.value[0]
    rest = first.text[count:] if isinstance(first, Text) else ""
    return (*((Text(rest),) if rest else ()), *word.value[1:])


def _option(
    launch: Launch, engine: Engine | None, flag: Word, words: Sequence[Word]
) -> tuple[Option, tuple[Note, ...]]:
    written = flag.text.removeprefix("--")
    name, notes = _name(engine, written, flag.line)
    if len(words) > 1 and not words[0].value and words[0].start == words[0].end:
        shown = " ".join(word.text for word in words[1:])
        why = "a blank stands behind the equals sign; it is taken for the flag's value"
        notes = (*notes, Note(flag.line, f"--{written}= {shown}", why, "warning"))
        words = words[1:]
    if any(mark in word.text for word in words for mark in _TYPOGRAPHIC):
        shown = " ".join(word.text for word in words)
        why = "these quotation marks are none to a shell: they are part of the value"
        notes = (*notes, Note(flag.line, f"--{written} {shown}", why, "warning"))
    torn = _torn(launch, words)
    if torn is None:
        _check_count(engine, name, written, words, flag.line)
    return Option(name, written, tuple(words), flag.line, torn), notes


def _name(engine: Engine | None, written: str, line: int) -> tuple[str, tuple[Note, ...]]:
    if engine is None:
        return written, ()
    found = full_name(engine, written)
    if isinstance(found, str):
        return found, ()
    fallback = re.sub(r"[^a-z0-9]+", "-", written.lower()).strip("-")
    if found.kind == "ambiguous":
        why = f"{engine.label} has several flags that begin so: {', '.join(f'--{each}' for each in found.names)}"
    else:
        near = nearest_flags(engine, written)
        hint = f"; did you mean {either([f'--{each}' for each in near])}?" if near else "."
        why = f"{engine.label} has no such flag{hint} The profile has it as it stands"
    return fallback, (Note(line, f"--{written}", why, "warning"),)


def _torn(launch: Launch, words: Sequence[Word]) -> dict[str, Any] | list[Any] | None:
    """The JSON that stands unquoted on the page, or in a variable that does."""
    if not words:
        return None
    source = launch.script.text(words[0].start, words[-1].end)
    passed = [word.text for word in words]
    for text in (source, " ".join(passed)):
        if not text.startswith(("{", "[")) or passed == [text]:
            continue
        try:
            meant = json.loads(text)
        except ValueError:
            continue
        if isinstance(meant, (dict, list)):
            return meant
    if re.match(r"\{\s*[\"']", source):
        raise RecipeError(words[0].line, f"{source} stands unquoted and is no JSON", "Correct it in a copy of the page")
    return None


def _check_count(engine: Engine | None, name: str, written: str, words: Sequence[Word], line: int) -> None:
    flag = engine.flag(name) if engine else None
    if flag is None:
        return
    shown = " ".join(word.text for word in words)
    if flag.bare:
        if words:
            raise RecipeError(line, f"--{written} takes no value, but {shown!r} follows it", "Correct the command")
        return
    least, most = _bounds(flag.nargs)
    if len(words) < least:
        raise RecipeError(line, f"--{written} needs a value and has none", "Correct the command")
    if most is not None and len(words) > most:
        extra = " ".join(word.text for word in words[most:])
        raise RecipeError(line, f"{extra!r} behind --{written} belongs to no flag", "Correct the command")


def _bounds(nargs: int | str | None) -> tuple[int, int | None]:
    """The least and the most words behind a flag; None where there is no most."""
    if isinstance(nargs, int):
        return nargs, nargs
    return {"+": (1, None), "*": (0, None), "?": (0, 1)}.get(nargs or "", (1, 1))


def typed(text: str, kind: str | None) -> int | float | str:
    """A word as the profile holds it: a number where the flag takes one and Python writes it the same way.

    kind: the flag's type in the engine's grammar; ``number`` for a program without one.
    """
    if kind in ("int", "human_readable_int", "float", "number") and re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    if kind in ("float", "number") and re.fullmatch(r"-?\d+\.\d+", text) and repr(float(text)) == text:
        return float(text)
    return text


def argument(option: Option, words: Sequence[str], engine: Engine | None) -> Any:
    """The option's value in a profile, from its words with placeholders in them."""
    if option.torn is not None:
        return option.torn if isinstance(option.torn, dict) else json.dumps(option.torn)
    flag = engine.flag(option.name) if engine else None
    kind = flag.type if flag else "number"
    if not words:
        return True
    if flag is not None and flag.nargs in ("+", "*"):
        return [typed(word, kind) for word in words]
    if len(words) > 1:
        return [typed(word, kind) for word in words]
    text = words[0]
    if text.startswith("{"):
        try:
            meant = json.loads(text)
        except ValueError:
            return text
        # A mapping says the same as its text only where it is written back in the same way.
        if isinstance(meant, dict) and json.dumps(meant) == text:
            return meant
    return typed(text, kind)
