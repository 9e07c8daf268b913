# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments against the grammar of one version: what its parser refuses, and what it should not have to accept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.arguments import (
    Args,
    ArgValue,
    is_list,
    occurrences,
    word,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine, Flag
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.naming import Candidates, full_name
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.problem import Problem
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.successors import successor
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.suggest import either, nearest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.wordtypes import (
    converted,
    expected,
    fault,
    json_fault,
)

# Words that begin with a dash and that argparse still takes for values.
_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")

# More names than this in one message help nobody.
_MANY = 8

_Report = Callable[..., Problem]


def check(engine: Engine, args: Args, *, where: str, role: str, complete: bool = False) -> list[Problem]:
    """Everything that is wrong with the arguments of a service in this version's grammar.

    where: what the problems name as their place. role: the service's role, for the words of the messages.
    complete: the arguments are all that the service will get, so a missing required flag is a problem too.
    """
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for name, value in args.items():
        flag = engine.flag(name)
        if flag is None:
            problems.append(_unknown(engine, name, where))
            continue
        if flag.name in seen:
            problems.append(_twice(flag, seen[flag.name], name, where))
        seen[flag.name] = name
        problems.extend(_flag(engine, flag, name, value, where))
    if complete:
        problems.extend(_missing(engine, args, where, role))
    return problems


def _flag(engine: Engine, flag: Flag, name: str, value: ArgValue, where: str) -> Iterator[Problem]:
    report: _Report = partial(Problem, where=where, flag=f"--{name}")
    if flag.deprecated:
        yield _deprecated(engine, flag, name, report)
    if flag.bare:
        yield from _bare(flag, name, value, report)
        return
    if value is None or isinstance(value, bool):
        yield from _no_value(flag, name, value, report)
        return
    unjson = _unjson(flag, name, value, report)
    if unjson:
        yield unjson
        return
    for given in occurrences(engine, name, value):
        count = _count(flag, name, value, given, report)
        if count:
            yield count
            continue
        for text in given:
            wrong = _word(engine, flag, name, text, report)
            if wrong:
                yield wrong


def _unknown(engine: Engine, name: str, where: str) -> Problem:
    report: _Report = partial(Problem, "error", where=where, flag=f"--{name.lstrip('-')}")
    moved = successor(engine, f"--{name.lstrip('-')}")
    if moved is not None:
        return report(
            "unknown-flag",
            what=f"{engine.label} has no flag --{name.lstrip('-')}: {moved.why}",
            do=f"write {moved.instead} instead" if moved.instead else "leave it out",
        )
    found = full_name(engine, name)
    if isinstance(found, str):
        wording = f"{name!r} is no full flag name of {engine.label}"
        if name.startswith("-") and name.lstrip("-") == found:
            wording = f"{name!r} has dashes in front; flags are named without them here"
        return report("flag-not-in-full", what=wording, do=f"write {found}")
    if found.kind == "ambiguous":
        return report(
            "flag-ambiguous",
            what=f"{name!r} is no full flag name of {engine.label}; {len(found.names)} flags begin so",
            do=f"write the one that is meant: {_some(found.names)}",
        )
    return report("unknown-flag", what=f"{engine.label} has no flag --{name.lstrip('-')}", do=_did_you_mean(found))


def _some(names: Sequence[str]) -> str:
    """The names, or the first of very many."""
    return either(names) if len(names) <= _MANY else f"{', '.join(names[:_MANY])} ... ({len(names)} in all)"


def _did_you_mean(found: Candidates) -> str:
    if not found.names:
        return "remove it; no flag has a name like it"
    return f"did you mean {either(found.names)}? Otherwise remove it"


def _twice(flag: Flag, first: str, second: str, where: str) -> Problem:
    return Problem(
        "error",
        "flag-twice",
        where,
        f"{first} and {second} are two names of one flag, and only the last would count",
        f"keep one of them; its full name is {flag.name}",
        f"--{second}",
    )


def _deprecated(engine: Engine, flag: Flag, name: str, report: _Report) -> Problem:
    instead = f"use {flag.new_flag} instead" if flag.new_flag else "leave it out: it does nothing any more"
    return report("warning", "deprecated-flag", what=f"--{name} is deprecated in {engine.label}", do=instead)


def _bare(flag: Flag, name: str, value: ArgValue, report: _Report) -> Iterator[Problem]:
    if value is True or (value is False and flag.optional and name not in flag.off_names):
        return
    if value is False:
        yield report(
            "error",
            "bare-flag-false",
            what=f"--{name} is a flag without a value: there is no way to say that it is false",
            do=f"leave {name} out",
        )
        return
    also = f", or {name}: false for --no-{name}" if flag.optional and name not in flag.off_names else ""
    yield report(
        "error",
        "bare-flag-value",
        what=f"--{name} is a flag without a value, but was given {_show(value)}",
        do=f"write {name}: true{also}, or leave it out",
    )


def _no_value(flag: Flag, name: str, value: Any, report: _Report) -> Iterator[Problem]:
    if value is True and flag.nargs in ("*", "?"):
        return
    yield report(
        "error",
        "value-missing",
        what=f"--{name} takes {_expects(flag)}, but was given {_show(value)}",
        do=f"give it a value, or leave {name} out",
    )


def _unjson(flag: Flag, name: str, value: ArgValue, report: _Report) -> Problem | None:
    """A mapping for a flag that takes no JSON, or one that JSON cannot say."""
    lora = flag.action == "LoRAPath"
    parts = list(value) if is_list(value) else [value]
    if not flag.json and not lora and any(isinstance(part, Mapping) for part in parts):
        return report(
            "error",
            "wrong-type",
            what=f"--{name} takes {_expects(flag)}, but was given a mapping: it is no JSON flag",
            do="give it a plain value",
        )
    try:
        for part in parts:
            word(part)
    except (TypeError, ValueError) as error:
        return report(
            "error",
            "bad-json",
            what=f"the value of --{name} cannot be written as JSON: {error}",
            do="keep to texts, numbers, true, false, null, lists and mappings in it",
        )
    return None


def _count(flag: Flag, name: str, value: ArgValue, given: list[str], report: _Report) -> Problem | None:
    fits = {None: len(given) == 1, "?": len(given) <= 1, "+": len(given) >= 1, "*": True}
    right = len(given) == flag.nargs if isinstance(flag.nargs, int) else fits.get(flag.nargs, True)
    if right:
        return None
    nested = is_list(value) and any(is_list(each) for each in value)
    hint = " (a list of lists is for flags that may be repeated)" if nested and not flag.repeatable else ""
    return report(
        "error",
        "value-count",
        what=f"--{name} takes {_expects(flag)}, but was given {len(given)} values: {_show(given)}{hint}",
        do="correct the number of values",
    )


def _word(engine: Engine, flag: Flag, name: str, text: str, report: _Report) -> Problem | None:
    if len(text) > 1 and text.startswith("-") and " " not in text and not _NEGATIVE.fullmatch(text):
        return report(
            "error",
            "value-like-flag",
            what=f"the value {text!r} of --{name} begins with a dash, so the parser takes it for a flag",
            do="give a value that does not begin with a dash",
        )
    if flag.json and flag.json != "text":
        wrong = json_fault(text, flag.json)
        if wrong:
            return report(
                "error",
                "bad-json",
                what=f"the value {text!r} of --{name} {wrong}",
                do=f"write it as a mapping ({name}: {{key: value}}) or as JSON text with its quotes",
            )
    refused = fault(flag.type, text)
    if refused:
        split = " A list of values is written as a list." if flag.nargs in ("+", "*") and len(text.split()) > 1 else ""
        return report(
            "error",
            "wrong-type",
            what=f"the value {text!r} of --{name} {refused}",
            do=f"give it {_expects(flag)}.{split}" if split else f"give it {_expects(flag)}",
        )
    if flag.choices is not None and converted(flag.type, text) not in flag.choices:
        return _not_a_choice(engine, flag, name, text, report)
    if flag.known_values and text.upper() not in {known.upper() for known in flag.known_values}:
        near = nearest(text, flag.known_values, count=1)
        return report(
            "warning",
            "unknown-value",
            what=f"{text!r} is no value of --{name} that {engine.label} is known to have",
            do=(f"did you mean {near[0]}? " if near else "") + f"Known: {', '.join(flag.known_values)}",
        )
    return None


def _not_a_choice(engine: Engine, flag: Flag, name: str, text: str, report: _Report) -> Problem:
    choices = [str(choice) for choice in flag.choices or ()]
    near = nearest(text, choices, count=1)
    return report(
        "error",
        "wrong-choice",
        what=f"{text!r} is no value that {engine.label} takes for --{name}",
        do=(f"did you mean {near[0]}? " if near else "") + f"Choose from: {', '.join(choices)}",
    )


def _missing(engine: Engine, args: Args, where: str, role: str) -> Iterator[Problem]:
    for flag in engine.flags:
        if flag.required and not any(name in args for name in flag.names):
            yield Problem(
                "error",
                "required-flag",
                where,
                f"{engine.label} does not start without --{flag.name}, and the {role} service has none",
                f"set {flag.name}",
                flag.option,
            )


def _expects(flag: Flag) -> str:
    one = "JSON" if flag.json and flag.json != "text" else expected(flag.type)
    if flag.choices is not None and len(flag.choices) <= 6:
        one = f"one of {', '.join(str(choice) for choice in flag.choices)}"
    if isinstance(flag.nargs, int):
        return one if flag.nargs == 1 else f"{flag.nargs} values"
    return {
        "?": f"{one} or nothing",
        "+": f"a list of one or more values, each {one}",
        "*": f"a list of values, each {one}",
    }.get(flag.nargs or "", one)


def _show(value: Any) -> str:
    """A value in a message: as YAML and JSON write it, and not too long."""
    try:
        text = word(value) if not isinstance(value, str) else repr(value)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
