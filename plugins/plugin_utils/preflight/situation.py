# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What checks judge, and what they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.edges import Edge, edges
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

V = TypeVar("V")
Level = Literal["error", "warning", "unknown"]
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """What a check has to say of some hosts.

    level: `unknown` where it could not look, which stops nothing; where: what of the hosts, or empty; do: what to do,
    where it is more than the check's remedy.
    """

    level: Level
    hosts: tuple[str, ...]
    what: str
    do: str = ""
    where: str = ""


def error(hosts: str | Iterable[str], what: str, do: str = "", where: str = "") -> Problem:
    """A fault: with it the services would not start, or not work."""
    return Problem("error", _names(hosts), what, do, where)


def warning(hosts: str | Iterable[str], what: str, do: str = "", where: str = "") -> Problem:
    """Something that may be a fault, or become one."""
    return Problem("warning", _names(hosts), what, do, where)


def unknown(hosts: str | Iterable[str], what: str) -> Problem:
    """The check could not look there, for a reason that is no fault or is another check's."""
    return Problem("unknown", _names(hosts), what)


def _names(hosts: str | Iterable[str]) -> tuple[str, ...]:
    return (hosts,) if isinstance(hosts, str) else tuple(hosts)


@dataclass(frozen=True)
class Situation:
    """A plan, and what its hosts answered.

    answers: facts by host as ascend.sglang.host_facts returns them, of the hosts that answered; clocks: by host how far
    its clock is from the controller's, in seconds, at least and at most; connections: by host what its connections came
    to; parsers: by host what ascend.sglang.engine_parser returned; recipe: the profile's table; engine, router: the
    versions that the plan is spelled for.
    """

    services: tuple[Service, ...]
    answers: Mapping[str, Facts]
    settings: ClusterSettings
    addresses: Mapping[str, str]
    engine: str
    router: str
    recipe: Mapping[str, str] = field(default_factory=dict)
    clocks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    connections: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    parsers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of the plan that answered."""
        return tuple(name for name in dict.fromkeys(one.host for one in self.services) if name in self.answers)

    @cached_property
    def own(self) -> Mapping[str, tuple[Service, ...]]:
        """The services of each host that answered."""
        found: dict[str, list[Service]] = {name: [] for name in self.hosts}
        for one in self.services:
            if one.host in found:
                found[one.host].append(one)
        return {name: tuple(services) for name, services in found.items()}

    @cached_property
    def engines(self) -> tuple[str, ...]:
        """The hosts that answered and run a server on NPUs."""
        return tuple(name for name in self.hosts if any(one.npus is not None for one in self.own[name]))

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        return edges(self.services)

    def alone(self, hosts: Iterable[str]) -> Iterator[Problem]:
        """That one host of several of the plan cannot be compared, since it alone answered."""
        names = list(dict.fromkeys(hosts))
        there = [name for name in names if name in self.answers]
        if len(there) == 1 and len(names) > 1:
            others = silent(name for name in names if name not in self.answers)
            yield unknown(there, f"nothing to compare it with: {others}")

    @cached_property
    def planned(self) -> tuple[str, ...]:
        """The hosts of the plan, whether they answered or not."""
        return tuple(dict.fromkeys(one.host for one in self.services))

    @cached_property
    def planned_engines(self) -> tuple[str, ...]:
        """The hosts with servers on NPUs, whether they answered or not."""
        return tuple(dict.fromkeys(one.host for one in self.services if one.npus is not None))

    def looked(self, host: str) -> Facts:
        """What the preflight's own questions brought from a host; empty where they were not asked."""
        facts: Facts = self.answers[host].get("preflight") or {}
        return facts

    def npus(self, host: str) -> tuple[int, ...]:
        """Numbers of the NPUs that the services of a host use."""
        spans = (one.npus for one in self.own[host] if one.npus is not None)
        return tuple(sorted({number for first, last in spans for number in range(first, last + 1)}))


def after(words: Sequence[Any], flag: str) -> str:
    """The word after a flag of a command line, or an empty text."""
    place = words.index(flag) + 1 if flag in words else len(words)
    return str(words[place]) if place < len(words) else ""


Judge = Callable[[Situation], Iterator[Problem]]


@dataclass(frozen=True)
class Check:
    """A check of what hosts answered. explains: what it looks at and why; remedy: what to do where it finds a fault."""

    name: str
    explains: str
    remedy: str
    judge: Judge
    scope: Callable[[Situation], tuple[str, ...]]

    def finding(self, problem: Problem) -> Finding:
        """A problem as the compiler words its own."""
        hosts = f"host{'s' if len(problem.hosts) > 1 else ''} {spans(problem.hosts)}"
        where = f"{hosts}, {problem.where}" if problem.where else hosts
        level: Literal["error", "warning"] = "error" if problem.level == "error" else "warning"
        return Finding(level, self.name, where, problem.what, problem.do or self.remedy)


def all_hosts(situation: Situation) -> tuple[str, ...]:
    """The scope of a check that looks at every host."""
    return situation.hosts


def engine_hosts(situation: Situation) -> tuple[str, ...]:
    """The scope of a check that looks at hosts with servers on NPUs."""
    return situation.engines


def check(
    name: str, *, explains: str, remedy: str, scope: Callable[[Situation], tuple[str, ...]] = all_hosts
) -> Callable[[Judge], Check]:
    """Make a check of a function that yields problems. It is run for being in a module of checks/."""
    return lambda judge: Check(name, explains, remedy, judge, scope)


def odd_ones(hosts: Mapping[V, Sequence[str]]) -> tuple[V | None, list[tuple[V, Sequence[str]]]]:
    """Hosts by value: the value that most of them have (of equals the first), and the others."""
    usual = max(hosts, key=lambda value: len(hosts[value]), default=None)
    return usual, [(value, names) for value, names in hosts.items() if value != usual]


def some(names: Iterable[str], most: int = 6) -> str:
    """Hosts in a message: the first few of many."""
    known = list(names)
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


def silent(names: Iterable[str]) -> str:
    """That hosts told nothing, and why that may be."""
    known = list(names)
    return f"{some(known)} {'was' if len(known) == 1 else 'were'} not asked (--limit), or gave no answer"


_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)


def spans(names: Iterable[str]) -> str:
    """`p1 to p24, d3`: hosts in a message, each of them, where those that are numbered in a row are many."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _follows(name: str, other: str) -> bool:
    one, two = _NUMBERED.fullmatch(name), _NUMBERED.fullmatch(other)
    if one is None or two is None or (one[1], one[3]) != (two[1], two[3]):
        return False
    return two[2] == str(int(one[2]) + 1).zfill(len(one[2]))


def numbers(values: Iterable[int]) -> str:
    """`0-3, 8`: numbers as spans."""
    spans: list[list[int]] = []
    for value in sorted(set(values)):
        if spans and value == spans[-1][1] + 1:
            spans[-1][1] = value
        else:
            spans.append([value, value])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
