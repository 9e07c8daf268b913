# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the filter plugins share: a plan of Ansible's `groups` and `hostvars`, and views of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error_text, errors
from ansible_collections.ascend.sglang.plugins.plugin_utils.from_ansible import Variables, compile_from
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_variables import HostVariables
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import describe, plain


def plan_of(name: str, groups: Any, hostvars: Any, profile: str | None) -> Plan:
    """The plan; ValueError with the filter's name and the errors where there is none or it has errors.

    Ansible turns the ValueError of a filter into an error of the task.
    """
    if not isinstance(groups, Mapping) or not isinstance(hostvars, Mapping):
        given = f"{type(groups).__name__} and {type(hostvars).__name__}"
        raise TypeError(f"ascend.sglang.{name}: expected `groups | ascend.sglang.{name}(hostvars)`, not {given}")
    _require_hosts(name, groups, hostvars)
    # Ansible's hostvars have raw_get; a mapping that somebody built has not.
    hosts = HostVariables(hostvars, getattr(hostvars, "_loader", None)) if hasattr(hostvars, "raw_get") else hostvars
    try:
        # A profile that is given is the one that is asked about, whatever the hosts' setting says.
        plan = compile_from(Variables(groups, hosts, {} if profile is None else {"sglang_profile": profile})).plan
    except CompileError as stopped:
        raise ValueError(f"ascend.sglang.{name}: {stopped}") from stopped
    if errors(plan.findings):
        raise ValueError(f"ascend.sglang.{name}: {error_text(plan.findings)}")
    return plan


def _require_hosts(name: str, groups: Mapping[Any, Any], hostvars: Mapping[Any, Any]) -> None:
    """TypeError where the arguments are mappings, and not those of an inventory."""
    for group, members in groups.items():
        if not isinstance(members, Sequence) or isinstance(members, (str, bytes)):
            raise TypeError(
                f"ascend.sglang.{name}: group {group} must be a list of hosts, not {describe(plain(members))}"
            )
        for host in members:
            # Asking Ansible's own hostvars for a host's variables takes a while, and they are a mapping.
            if host not in hostvars or not (hasattr(hostvars, "raw_get") or isinstance(hostvars[host], Mapping)):
                raise TypeError(f"ascend.sglang.{name}: hostvars has no variables of {host}, which is in group {group}")


def node_ranks_of(plan: Plan) -> dict[str, dict[str, Any]]:
    """Host -> role -> instance and rank; a list of them where the host has several services of the role."""
    result: dict[str, dict[str, Any]] = {}
    for one in plan.services:
        if one.npus is not None:
            _add(result.setdefault(one.host, {}), one.role, {"instance": one.instance, "rank": one.rank})
    return result


def bootstrap_ports_of(plan: Plan) -> dict[str, Any]:
    """Head of each prefill instance -> its bootstrap port; a list where it heads several."""
    result: dict[str, Any] = {}
    for one in plan.instances:
        if one.bootstrap_port is not None:
            _add(result, one.nodes[0], one.bootstrap_port)
    return result


def service_env_of(plan: Plan) -> dict[str, dict[str, dict[str, str]]]:
    """Host -> unit -> what it exports."""
    result: dict[str, dict[str, dict[str, str]]] = {}
    for one in plan.services:
        result.setdefault(one.host, {})[one.unit] = dict(one.env)
    return result


def _add(where: dict[str, Any], key: str, value: Any) -> None:
    """One value stands alone; several become a list."""
    if key not in where:
        where[key] = value
    elif isinstance(where[key], list):
        where[key].append(value)
    else:
        where[key] = [where[key], value]
