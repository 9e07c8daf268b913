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
    """Whether the module would change anything on this host: `changed`, `warnings`, and `error`, why it would fail.

    `reserved` are the ports that it would keep for services.
    """
    validated = ArgumentSpecValidator(argument_spec()).validate(dict(options))
    nothing = {"changed": False, "warnings": [], "reserved": [], "error": ""}
    if validated.error_messages:
        return {**nothing, "error": "; ".join(validated.error_messages)}
    params = validated.validated_parameters
    try:
        wish = tuning.wish_of(params)
        report = tuning_host.apply(machine_of(params), wish, check=True, strict=params["strict"])
    except tuning_host.NotPossibleError as error:
        return {**nothing, "error": f"{STRICT} {error}"}
    except (ValueError, OSError) as error:
        return {**nothing, "error": str(error)}
    return {
        "changed": report.changed,
        "warnings": warnings(report),
        "reserved": sorted(wish.reserved_ports),
        "error": "",
    }
