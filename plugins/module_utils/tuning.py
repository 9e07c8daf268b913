# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wanted of a host, what that means for each of its knobs, and what is remembered for the way back. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.ascend.sglang.plugins.module_utils import tuning_ports, tuning_sysctl
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_rivals import (
    GOVERNOR,
    RESERVED_PORTS,
    TRANSPARENT_HUGEPAGE,
    same,
)

# The concerns with a variable and a switch of their own -> the sysctl behind them.
NAMED_SYSCTLS = {
    "swappiness": "vm.swappiness",
    "numa_balancing": "kernel.numa_balancing",
    "sched_migration_cost_ns": "kernel.sched_migration_cost_ns",
}
# What the kernel takes: swappiness up to 200 since Linux 5.8 (100 before), numa_balancing is a mask of two bits.
_LIMITS = {"vm.swappiness": 200, "kernel.numa_balancing": 3, "kernel.sched_migration_cost_ns": 2**32 - 1}

# Which of the role's files makes a value last.
BY_SYSCTL_FILE = "sysctl.d"
BY_BOOT_SCRIPT = "boot script"

RECORD_VERSION = 1


class Wish(NamedTuple):
    """What is wanted; a concern that is absent is left alone."""

    governor: str | None
    sysctl: dict[str, str]
    transparent_hugepage: str | None
    reserved_ports: frozenset[int]


class Knob(NamedTuple):
    """One value of this host, as it was found."""

    name: str  # for people, and the record: vm.swappiness, "governor cpu0"
    setting: str  # the concern that it belongs to: vm.swappiness, governor
    path: str
    value: str | None  # None: not there, or not readable
    obstacle: str  # why it cannot be set, whatever the value; empty when it can
    offered: str | None  # the values that it takes, as the kernel lists them; None: it does not say
    lasts_by: str
    exists: bool = True


class Decision(NamedTuple):
    """What to do about a knob: keep, set or skip."""

    knob: Knob
    wanted: str
    action: str
    why: str


class Record(NamedTuple):
    """What was there before the role changed anything, and the ports that it added to the reserved ones."""

    before: dict[str, str]
    added_ports: frozenset[int]


def _mapping(value: Any, where: str) -> dict[str, Any]:
    """A mapping of sysctls, their names with dots."""
    if not isinstance(value or {}, Mapping):
        raise ValueError(f"{where} is {value!r}; it must be a mapping of sysctls to values, like vm.swappiness: 0")
    found: dict[str, Any] = {}
    for given, text in (value or {}).items():
        name = tuning_sysctl.canonical(str(given))
        if name in found and str(found[name]) != str(text):
            raise ValueError(f"{where} has {name} in two spellings, with {found[name]} and {text}; give one of the two")
        found[name] = text
    return found


def _sysctls(params: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, str]:
    """The recipe's sysctls under the user's own; null, or the switch of a concern, leaves one alone."""
    own = _mapping(params.get("sysctl"), "sysctl")
    for option, name in NAMED_SYSCTLS.items():
        value = params.get(option)
        if value is None:
            continue
        if name in own and str(own[name]) != str(value):
            raise ValueError(f"{option} is {value}, but sysctl has {name}: {own[name]}; give one of the two")
        own[name] = value
    merged = {**_mapping(recipe.get("sysctl"), "recipe.sysctl"), **own}
    off = {name for option, name in NAMED_SYSCTLS.items() if not params.get(f"{option}_enabled", True)}
    return {
        name: _checked(name, value) for name, value in merged.items() if value not in (None, "") and name not in off
    }


def _checked(name: str, value: Any) -> str:
    tuning_sysctl.relative_path(name)
    text = tuning_sysctl.value_of(name, value)
    limit = _LIMITS.get(name)
    if limit is not None and not (text.isdigit() and int(text) <= limit):
        raise ValueError(f"{name} is {value!r}; it must be a whole number from 0 to {limit}")
    if name == RESERVED_PORTS:
        raise ValueError(
            f"{name} is not set through sysctl: list the ports in reserved_ports, which keeps others' ports"
        )
    return text


def wish_of(params: Mapping[str, Any]) -> Wish:
    """The module's options as a wish.

    :raises ValueError: in words, for a value that cannot be meant.
    """
    recipe = params.get("recipe") or {}
    unknown = sorted(map(str, set(recipe) - {"governor", "sysctl"}))
    if unknown:
        raise ValueError(f"recipe has {', '.join(unknown)}; it may have governor and sysctl")
    governor = params.get("governor") or recipe.get("governor")
    if governor and not re.fullmatch(r"[a-z_]+", str(governor)):
        raise ValueError(f"governor is {governor!r}; it must be the name of one, like performance")
    return Wish(
        governor=str(governor) if governor and params.get("governor_enabled", True) else None,
        sysctl=_sysctls(params, recipe),
        transparent_hugepage=params.get("transparent_hugepage") if params.get("transparent_hugepage_enabled") else None,
        reserved_ports=_reserved(params) if params.get("reserved_ports_enabled") else frozenset(),
    )


def _reserved(params: Mapping[str, Any]) -> frozenset[int]:
    try:
        return tuning_ports.ports_of(params.get("reserved_ports") or [])
    except ValueError as error:
        raise ValueError(f"reserved_ports: {error}") from error


def wanted_value(wish: Wish, knob: Knob, record: Record) -> tuple[str | None, frozenset[int]]:
    """(the value that the wish has for a knob; None: it is not wanted, what of it is the role's own: ports only)."""
    if knob.setting == GOVERNOR:
        return wish.governor, frozenset()
    if knob.setting == TRANSPARENT_HUGEPAGE:
        return wish.transparent_hugepage, frozenset()
    if knob.setting != RESERVED_PORTS:
        return wish.sysctl.get(knob.setting), frozenset()
    if not wish.reserved_ports:
        return None, frozenset()
    text, ours = tuning_ports.merge(tuning_ports.parse(knob.value or ""), record.added_ports, wish.reserved_ports)
    return text, tuning_ports.parse(ours)


def decide(knob: Knob, wanted: str) -> Decision:
    """Keep a value that is right already, skip what cannot be had, and say why; else set it."""
    if knob.value is None:
        return Decision(knob, wanted, "skip", knob.obstacle or "it cannot be read")
    if same(knob.setting, knob.value, wanted):
        return Decision(knob, wanted, "keep", "")
    offered = (knob.offered or "").split()
    if offered and wanted not in offered:
        return Decision(knob, wanted, "skip", f"{wanted} is not on offer there, only {', '.join(offered)}")
    if knob.obstacle:
        return Decision(knob, wanted, "skip", knob.obstacle)
    return Decision(knob, wanted, "set", "")


def remembered(record: Record, decisions: Iterable[Decision], added_ports: frozenset[int]) -> Record:
    """The record with what these decisions will cover; what it has already stays as it is."""
    before = dict(record.before)
    for decision in decisions:
        knob = decision.knob
        if decision.action != "skip" and knob.value is not None and knob.setting != RESERVED_PORTS:
            before.setdefault(knob.name, knob.value)
    return Record(before, added_ports)


def _remembered_value(name: str, value: Any) -> str:
    """What is written back was read by this role once: anything else is not its own.

    :raises ValueError: a name of no setting, a value that is no text.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"the value of {name} is {value!r}, and no text")
    if name != TRANSPARENT_HUGEPAGE and not re.fullmatch(GOVERNOR + r" cpu[0-9]+", name):
        tuning_sysctl.relative_path(name)
    return str(value)


def read_record(path: str, text: str | None) -> Record:
    """The record from its file; an empty one where there is none.

    :raises ValueError: a file that is not such a record; guessing would lose the host's own values.
    """
    if text is None:
        return Record({}, frozenset())
    try:
        data = json.loads(text)
        if data["version"] != RECORD_VERSION:
            raise ValueError(f"its version is {data['version']}")
        before = {name: _remembered_value(name, value) for name, value in data["before"].items()}
        return Record(before, tuning_ports.parse(data["added_ports"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}, the record of this host's own values, cannot be used: {error!r}. Repair it, or remove it if "
            "those values are not needed any more; it is then written again from the values of now."
        ) from error


def record_text(record: Record) -> str | None:
    """The content of the record's file; None where there is nothing to remember."""
    if not record.before and not record.added_ports:
        return None
    data = {
        "version": RECORD_VERSION,
        "before": dict(sorted(record.before.items())),
        "added_ports": tuning_ports.format_ports(record.added_ports),
    }
    return json.dumps(data, indent=2) + "\n"
