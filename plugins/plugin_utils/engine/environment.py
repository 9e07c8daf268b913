# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment variables against what is known to read them."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.problem import Problem
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.successors import successor
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.suggest import either, nearest


def check_env(engine: Engine, env: Mapping[str, str], *, where: str, role: str) -> list[Problem]:
    """A warning for each variable that nothing is known to read, with the nearest known ones.

    Never an error: the lists of what reads a variable cannot be complete, and a variable that nothing reads does no
    harm beyond not doing what was hoped for.
    """
    problems = []
    for name in env:
        if name in engine.known_env:
            continue
        if name in engine.env.get(None, frozenset()):
            problems.append(_no_reader(engine, name, where))
        else:
            problems.append(_unknown(engine, name, where, role))
    return problems


def _no_reader(engine: Engine, name: str, where: str) -> Problem:
    return Problem(
        "warning",
        "env-no-known-reader",
        where,
        f"{name} has no known reader, neither in {engine.label} nor below it",
        "it is passed on as it is; removing it should change nothing",
        name,
    )


def _unknown(engine: Engine, name: str, where: str, role: str) -> Problem:
    moved = successor(engine, name)
    near = nearest(name, engine.known_env, cutoff=0.75)
    do = f"did you mean {either(near)}?" if near else "check its spelling; it is passed on as it is"
    if moved is not None:
        do = f"write {moved.instead} instead: {moved.why}" if moved.instead else f"leave it out: {moved.why}"
    return Problem(
        "warning",
        "unknown-env",
        where,
        f"nothing in a {role} service of {engine.label} is known to read the environment variable {name}",
        do,
        name,
    )
