# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a spelling that a version does not have."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.rules import (
    Pattern,
    Side,
    is_flag,
    is_variable,
)


@dataclass(frozen=True)
class Successor:
    """Advice on a spelling: the words that say the same in this version (empty: leave it out), and why."""

    instead: str
    why: str


def successor(engine: Engine, name: str) -> Successor | None:
    """What to write in this version for a spelling (``--flag`` or variable) of another one; None if that is unknown."""
    for rule in engine.rules:
        for way, given, wanted in (("old-to-new", rule.old, rule.new), ("new-to-old", rule.new, rule.old)):
            if way not in rule.ways or len(given) > 1 or given[0][0] != name or _literal(given[0][1]):
                continue  # advice that depends on the value, or on another flag, would mislead
            if all(_known(engine, each) for each, _of_it in wanted):
                return Successor(_spelled(wanted), rule.why)
    for removal in engine.removals:
        if removal.name == name:
            return Successor("", removal.why)
    return None


def _literal(pattern: Pattern) -> bool:
    return pattern is not True and not is_variable(pattern)


def _known(engine: Engine, name: str) -> bool:
    return engine.flag(name.removeprefix("--")) is not None if is_flag(name) else name in engine.own_env


def _spelled(side: Side) -> str:
    return " ".join(_one(name, pattern) for name, pattern in side)


def _one(name: str, pattern: Pattern) -> str:
    if pattern is True or pattern == "$value":
        return name
    value = " ".join(pattern) if isinstance(pattern, tuple) else str(pattern).removeprefix("$")
    return f"{name} {value}" if is_flag(name) else f"{name}={value} in the environment"
