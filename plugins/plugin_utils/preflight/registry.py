# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks by name: those of the hosts' answers, found in checks/, and those that the compiler makes of a plan."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, nearest
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import checks
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.plan_stage import PLAN_CHECKS
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import Check, Problem, Situation


@dataclass(frozen=True)
class Outcome:
    """What a check said, and of which hosts it would have said it. What it says of several hosts is one problem."""

    check: Check
    hosts: tuple[str, ...]
    problems: tuple[Problem, ...]
    skipped: bool = False


@cache
def host_checks() -> tuple[Check, ...]:
    """Every check in the modules of checks/, module by module, in the order in which they are written there."""
    found = []
    for module in sorted(pkgutil.iter_modules(checks.__path__), key=lambda one: one.name):
        content = vars(importlib.import_module(f"{checks.__name__}.{module.name}"))
        found += [one for one in content.values() if isinstance(one, Check)]
    return tuple(found)


def names() -> tuple[str, ...]:
    """What `sglang_preflight_skip` may name."""
    return tuple(dict.fromkeys([*PLAN_CHECKS, *(one.name for one in host_checks())]))


def explained() -> dict[str, str]:
    """What each check of the hosts' answers is for."""
    return {one.name: one.explains for one in host_checks()}


def run(situation: Situation, skip: Collection[str] = ()) -> tuple[Outcome, ...]:
    """Run every check that is not skipped."""
    return tuple(_run(one, situation, skip) for one in host_checks())


def _run(one: Check, situation: Situation, skip: Collection[str]) -> Outcome:
    if one.name in skip:
        return Outcome(one, one.scope(situation), (), skipped=True)
    alike: dict[Problem, list[str]] = {}
    for problem in one.judge(situation):
        alike.setdefault(replace(problem, hosts=()), []).extend(problem.hosts)
    problems = (replace(problem, hosts=tuple(dict.fromkeys(hosts))) for problem, hosts in alike.items())
    return Outcome(one, one.scope(situation), tuple(problems))


def findings(outcomes: Iterable[Outcome]) -> tuple[Finding, ...]:
    """The problems as findings; what could not be looked at is none."""
    return tuple(
        one.check.finding(problem) for one in outcomes for problem in one.problems if problem.level != "unknown"
    )


def unknown_names(skip: Iterable[str]) -> Iterator[Finding]:
    """An error for each name in `sglang_preflight_skip` that is no check's."""
    known = names()
    for name in dict.fromkeys(skip):
        if name not in known:
            do = nearest(name, known) or f"Checks: {', '.join(known)}"
            yield error("setting-type", "sglang_preflight_skip", f"{name!r} is no check", do)


def without(found: Iterable[Finding], skip: Collection[str]) -> tuple[Finding, ...]:
    """Findings of a plan but for those of skipped checks."""
    return tuple(one for one in found if one.check not in skip)
