# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the module host_tuning, and a look at what it would do with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.ascend.sglang.plugins.module_utils import tuning, tuning_host
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_machine import Machine
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_rivals import RESERVED_PORTS

_CONCERNS = {"governor": "str", "swappiness": "int", "numa_balancing": "int", "sched_migration_cost_ns": "int"}

STRICT = "host_tuning is strict, and this host cannot have all that was asked for; nothing was changed."


def argument_spec() -> dict[str, Any]:
    """The options, as the module's DOCUMENTATION describes them."""
    spec: dict[str, Any] = {
        "state": {"type": "str", "choices": ["present", "restored", "probed"], "default": "present"},
        "recipe": {"type": "dict", "default": {}},
        "sysctl": {"type": "dict", "default": {}},
        "transparent_hugepage": {"type": "str", "choices": ["always", "madvise", "never"], "default": "madvise"},
        "transparent_hugepage_enabled": {"type": "bool", "default": False},
        "reserved_ports": {"type": "list", "elements": "raw", "default": []},
        "reserved_ports_enabled": {"type": "bool", "default": True},
        "strict": {"type": "bool", "default": False},
        "root": {"type": "path", "default": "/"},
        "sys_path": {"type": "str", "default": "/sys"},
        "proc_sys_path": {"type": "str", "default": "/proc/sys"},
    }
    for name, kind in _CONCERNS.items():
        spec[name] = {"type": kind}
        spec[f"{name}_enabled"] = {"type": "bool", "default": True}
    return spec


def machine_of(params: Mapping[str, Any]) -> Machine:
    """Where the module looks and writes."""
    return Machine(params["root"], params["sys_path"], params["proc_sys_path"])


def warnings(report: tuning_host.Report) -> list[str]:
    """What could not be had, and what would win over the module's files."""
    return [*tuning_host.sentences(report.missed), *map(str, report.rivals)]


def look(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the module would do with these options (without `state`) on this host.

    Returned are `changed`, whether anything; `warnings`; `reserved`, the ports that it keeps for services; `error`, why
    it would fail, or empty; and `variable`, whether that is for a value, not for the host.
    """
    spec = argument_spec()
    del spec["state"]
    validated = ArgumentSpecValidator(spec).validate(dict(options))
    if validated.error_messages:
        return failure("; ".join(validated.error_messages), variable=True)
    params = validated.validated_parameters
    try:
        wish = tuning.wish_of(params)
    except ValueError as error:
        return failure(str(error), variable=True)
    try:
        report = tuning_host.apply(machine_of(params), wish, check=True, strict=params["strict"])
    except tuning_host.NotPossibleError as error:
        return failure(f"{STRICT} {error}", variable=False)
    except (ValueError, OSError) as error:
        return failure(str(error), variable=False)
    kept = not any(one.setting == RESERVED_PORTS for one in report.missed)
    return {
        "changed": report.changed,
        "warnings": warnings(report),
        "reserved": sorted(wish.reserved_ports) if kept else [],
        "error": "",
        "variable": False,
    }


def failure(why: str, *, variable: bool) -> dict[str, Any]:
    """A look that shows that the module would fail."""
    return {"changed": False, "warnings": [], "reserved": [], "error": why, "variable": variable}
