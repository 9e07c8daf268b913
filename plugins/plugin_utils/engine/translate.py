# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the spelling of one version to that of another, meaning kept.

Rules are data (see `rules`); this module only applies them. What a version cannot say becomes a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.arguments import (
    Args,
    ArgValue,
    occurrences,
    word,
    words,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.check import check
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine, Flag
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.naming import nearest_flags
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.problem import Problem
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.rules import (
    MovedDefault,
    Pattern,
    Removal,
    Rule,
    Side,
    is_flag,
    is_variable,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.suggest import either

Words = tuple[str, ...] | tuple[tuple[str, ...], ...]
Kind = Literal["arg", "env"]


@dataclass(frozen=True)
class Change:
    """One flag or environment variable that the other version spells differently.

    name: as spelled, with its dashes. before, after: its words; empty for a bare flag, None where it is absent, a
    list of lists for a repeatable flag. A rename is two changes. why: a sentence with the versions.
    """

    kind: Kind
    name: str
    before: Words | None
    after: Words | None
    why: str


@dataclass(frozen=True)
class Translation:
    """A service's arguments and environment as the target version spells them.

    What the target cannot say is still in them, and is a problem.
    """

    args: dict[str, ArgValue]
    env: dict[str, str]
    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()


def translate(args: Args, env: Mapping[str, str], *, source: Engine, target: Engine, role: str) -> Translation:
    """Spell a service of ``source`` as ``target`` does.

    Names that only the target knows are taken as they are: whoever wrote them meant the target. Names that neither
    knows are left to `check`.
    """
    if (source.program, source.version) == (target.program, target.version):
        return Translation(dict(args), dict(env))
    work = _Work(source, target, role, dict(args), dict(env))
    for default in dict.fromkeys((*source.defaults, *target.defaults)):
        work.pin_default(default)
    rules = tuple(dict.fromkeys(chain(source.rules, target.rules, _from_grammar(source), _from_grammar(target))))
    while any(work.apply(rule) for rule in rules):
        pass
    for removal in dict.fromkeys(chain(source.removals, target.removals, _idle(source), _idle(target))):
        work.remove(removal)
    work.report_rest()
    return Translation(work.args, work.env, work.changes(args, env), tuple(work.problems))


@dataclass
class _Work:
    """The state of one translation."""

    source: Engine
    target: Engine
    role: str
    args: dict[str, ArgValue]
    env: dict[str, str]
    problems: list[Problem] = field(default_factory=list)
    touched: dict[str, str] = field(default_factory=dict)
    clashes: set[str] = field(default_factory=set)

    # What the engines know

    def well_said(self, name: str) -> bool:
        """Whether the target has the spelling and does not discourage it."""
        if is_flag(name):
            flag = self.target.flag(name.removeprefix("--"))
            return flag is not None and not flag.deprecated
        return name in self.target.own_env

    def in_source(self, name: str) -> bool:
        if is_flag(name):
            return self.source.flag(name.removeprefix("--")) is not None
        return name in self.source.own_env

    def takes(self, name: str, pattern: Pattern) -> bool:
        """Whether the target has a literal value of the flag among its choices."""
        flag = self.target.flag(name.removeprefix("--"))
        if flag is None or flag.choices is None or not isinstance(pattern, str) or is_variable(pattern):
            return True
        return pattern in {str(choice) for choice in flag.choices}

    # What is said

    def key(self, name: str) -> str | None:
        """The name under which a spelling is given, which may be another name of the same flag."""
        if not is_flag(name):
            return name if name in self.env else None
        bare = name.removeprefix("--")
        if bare in self.args:
            return bare
        flags = [flag for flag in (self.source.flag(bare), self.target.flag(bare)) if flag is not None]
        return next((key for key in self.args if any(key in flag.names for flag in flags)), None)

    def value(self, name: str) -> ArgValue | None:
        key = self.key(name)
        if key is None:
            return None
        return self.args[key] if is_flag(name) else self.env[key]

    def words(self, name: str, value: ArgValue) -> tuple[str, ...] | Words:
        return _words(self.source if self.in_source(name) else self.target, name, value)

    def bind(self, side: Side) -> dict[str, ArgValue] | None:
        """The values of the side's variables where all of the side is said, else None."""
        bound: dict[str, ArgValue] = {}
        for name, pattern in side:
            value = self.value(name)
            if value is None:
                return None
            if is_variable(pattern):
                if bound.setdefault(str(pattern), value) != value:
                    return None
            elif self.words(name, value) != _pattern_words(pattern):
                return None
        return bound

    # What is done

    def apply(self, rule: Rule) -> bool:
        """Use the rule where it helps; whether it did."""
        for way, given, wanted in (("old-to-new", rule.old, rule.new), ("new-to-old", rule.new, rule.old)):
            if way in rule.ways and self._useful(given, wanted):
                bound = self.bind(given)
                if bound is not None:
                    return self._rewrite(given, wanted, bound, rule.why)
        return False

    def _useful(self, given: Side, wanted: Side) -> bool:
        return any(not self.well_said(name) for name, _of_it in given) and all(
            self.well_said(name) and self.takes(name, pattern) for name, pattern in wanted
        )

    def _rewrite(self, given: Side, wanted: Side, bound: Mapping[str, ArgValue], why: str) -> bool:
        values = {name: bound[str(pattern)] if is_variable(pattern) else pattern for name, pattern in wanted}
        for name, value in list(values.items()):
            held = self.value(name)
            if held is None or self.words(name, held) == _words(self.target, name, value):
                continue
            if self.in_source(name):
                return self._clash(given, name, held, value)
            values[name] = held  # only the target has this name, so it was written for the target, and counts
        for name, _of_it in given:
            self.touched.setdefault(name, why)
        for name in values:
            self.touched.setdefault(name, why)
        self._replace([name for name, _of_it in given], values)
        return True

    def _replace(self, names: list[str], values: Mapping[str, ArgValue]) -> None:
        """Put the values where the first of the names stood; a value that stays keeps its place."""
        gone = {key for name in names if is_flag(name) and name not in values and (key := self.key(name)) is not None}
        new = {name.removeprefix("--"): value for name, value in values.items() if is_flag(name)}
        args: dict[str, ArgValue] = {}
        for key, value in self.args.items():
            if key in gone:
                args.update({name: each for name, each in new.items() if self.key(f"--{name}") in (None, name)})
            else:
                args.setdefault(key, value)
        for name, value in new.items():
            if self.key(f"--{name}") is None:
                args.setdefault(name, value)
        self.args = args
        for name in names:
            if not is_flag(name) and name not in values:
                del self.env[name]
        self.env.update({name: word(value) for name, value in values.items() if not is_flag(name)})

    def _clash(self, given: Side, name: str, held: ArgValue, value: ArgValue) -> bool:
        old = ", ".join(each for each, _of_it in given if each != name)
        if old not in self.clashes:
            self.clashes.add(old)
            self.problems.append(
                self._problem(
                    "error",
                    "said-twice",
                    given[0][0],
                    f"{old} means {name} {_show(self.target, name, value)} in {self.target.label}, "
                    f"but {name} {_show(self.target, name, held)} is given too",
                    f"leave one of them out: {old} or {name}",
                )
            )
        return False

    def pin_default(self, default: MovedDefault) -> None:
        """Say what was meant by saying nothing, where saying nothing means another thing now."""
        if self.bind(default.when) is None:
            return
        for (given, meant), (wanted, otherwise) in ((default.old, default.new), (default.new, default.old)):
            absent = self.value(given) is None and self.value(wanted) is None
            moved = self.in_source(given) and not self.well_said(given) and self.well_said(wanted)
            if absent and moved and meant != otherwise and not self.in_source(wanted):
                self.touched.setdefault(wanted, default.why)
                self._replace([], {wanted: meant})

    def remove(self, removal: Removal) -> None:
        """Leave out what the target has not and nobody misses."""
        value = self.value(removal.name)
        if value is None or self.well_said(removal.name):
            return
        words = self.words(removal.name, value)
        if removal.values is not None and (len(words) != 1 or str(words[0]).lower() not in removal.values):
            return
        self.touched.setdefault(removal.name, removal.why)
        self._replace([removal.name], {})

    # What is left

    def report_rest(self) -> None:
        for name, value in self.args.items():
            option = f"--{name}"
            if option in self.clashes or (self.source.flag(name) is None and option not in self.touched):
                continue
            if self.target.flag(name) is None:
                self.problems.append(self._no_flag(name))
            else:
                self.problems.extend(self._no_value(name, value))
        for name in self.env:
            if name in self.source.own_env and name not in self.target.known_env and name not in self.clashes:
                self.problems.append(
                    self._problem(
                        "warning",
                        "env-not-read",
                        name,
                        f"{self.source.label} reads {name}, {self.target.label} does not, and nothing known stands "
                        "in its place: what it asked for will not be done",
                        f"remove it if that is right, or stay with sglang_engine {self.source.version}",
                    )
                )

    def _no_flag(self, name: str) -> Problem:
        near = nearest_flags(self.target, name)
        return self._problem(
            "error",
            "flag-not-in-version",
            f"--{name}",
            f"{self.source.label} has --{name}, {self.target.label} has not, and nothing known says the same",
            (f"see whether {either(near)} does what you need; " if near else "")
            + f"leave {name} out, or stay with sglang_engine {self.source.version}",
        )

    def _no_value(self, name: str, value: ArgValue) -> Iterator[Problem]:
        """A value that the source takes, under whatever name, and the target refuses."""
        where = self.role
        same = self.source.flag(name) is not None
        if same and any(each.level == "error" for each in check(self.source, {name: value}, where=where, role=where)):
            return
        for problem in check(self.target, {name: value}, where=where, role=where):
            if problem.level == "error":
                yield self._problem(
                    "error",
                    "value-not-in-version",
                    f"--{name}",
                    f"{problem.what} ({self.source.label} takes it)",
                    f"{problem.do}; or stay with sglang_engine {self.source.version}",
                )

    def _problem(self, level: Literal["error", "warning"], name: str, flag: str, what: str, do: str) -> Problem:
        return Problem(level, name, self.role, what, do, flag)

    def changes(self, args: Args, env: Mapping[str, str]) -> tuple[Change, ...]:
        """What is different from what was given, in the order in which the rules were used."""
        before = _Work(self.source, self.target, self.role, dict(args), dict(env))
        found = []
        for name, why in self.touched.items():
            old, new = before.value(name), self.value(name)
            was = None if old is None else before.words(name, old)
            now = None if new is None else _words(self.target, name, new)
            if was != now:
                kind: Kind = "arg" if is_flag(name) else "env"
                found.append(Change(kind, _as_spelled(before, self, name), was, now, why))
        return tuple(found)


def _as_spelled(before: _Work, after: _Work, name: str) -> str:
    key = before.key(name) or after.key(name)
    return f"--{key}" if is_flag(name) and key else name


def _words(engine: Engine, name: str, value: ArgValue) -> Words:
    if not is_flag(name):
        return (word(value),)
    key = name.removeprefix("--")
    flag = engine.flag(key)
    if flag is not None and flag.repeatable:
        return tuple(tuple(each) for each in occurrences(engine, key, value))
    return tuple(words(engine, key, value))


def _pattern_words(pattern: Pattern) -> tuple[str, ...]:
    if isinstance(pattern, bool):
        return ()
    return (pattern,) if isinstance(pattern, str) else pattern


def _show(engine: Engine, name: str, value: ArgValue) -> str:
    return " ".join(str(each) for each in _words(engine, name, value)) or "(bare)"


# "--new", "--new=value" in a deprecated flag's hint; anything else there is prose.
_PLAIN_HINT = re.compile(r"(--[a-z0-9-]+)(?:=([\w.-]+))?")


def _from_grammar(engine: Engine) -> Iterator[Rule]:
    """The renames that a grammar itself tells: deprecated flags that name their successor."""
    for flag in engine.flags:
        hint = _PLAIN_HINT.fullmatch(flag.new_flag or "")
        if not flag.deprecated or not hint:
            continue
        pattern = _successor(engine, flag, hint[1], hint[2])
        if pattern is not None:
            old: Pattern = True if flag.bare else "$value"
            why = f"{flag.option} is a deprecated name of {hint[0]}"
            yield Rule(old=((flag.option, old),), new=((hint[1], pattern),), why=why, ways=("old-to-new",))


def _successor(engine: Engine, flag: Flag, option: str, literal: str | None) -> Pattern | None:
    """What the successor is given, or None where the hint does not tell."""
    successor = engine.flag(option.removeprefix("--"))
    if literal is not None:
        return literal if flag.bare else None
    if successor is None or successor.bare != flag.bare:
        return None
    return True if flag.bare else "$value"


def _idle(engine: Engine) -> Iterator[Removal]:
    """Flags that a grammar accepts and that do nothing."""
    for flag in engine.flags:
        if flag.action == "Deprecated":
            yield Removal(flag.option, f"{flag.option} does nothing in {engine.label}")
