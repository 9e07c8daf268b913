# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small cluster on example addresses, compiled without Ansible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils import cluster_settings, inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import read_catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, Finding, stop_on_errors
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import HostFacts
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Inputs, Plan, compile_plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Profile
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile_files import catalogue, choose
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

ROOT = Path(__file__).parents[3]
PROFILES = catalogue([ROOT / "profiles"])
ENGINES = read_catalogue()

# The pages' own placeholder paths, and the interface that the recorded launches were made with.
SETTINGS: dict[str, Any] = {
    "sglang_model_path": "/path/to/model-weights",
    "sglang_draft_model_path": "/path/to/draft-model-weights",
    "sglang_interface": "bond0",
}
NUMBERS = {"prefill": 11, "decode": 21, "mixed": 21, "router": 91}
# Room for many more hosts: 198.18.0.0/15 is for benchmarks.
NETWORKS = {"prefill": 0, "decode": 64, "mixed": 128, "router": 192}


@cache
def profile(name: str) -> Profile:
    return choose(PROFILES, name).profile


def groups_for(wanted: Profile, instances: Mapping[str, int] | None = None) -> dict[str, list[str]]:
    """As many hosts as the profile needs: p1 p2 … d1 d2 … r1, or m1 m2 …"""
    counts = {role: (instances or {}).get(role, body.instances) * body.nodes for role, body in wanted.roles.items()}
    return {role: [f"{role[0]}{number + 1}" for number in range(count)] for role, count in counts.items()}


def variables_for(groups: Mapping[str, Sequence[str]], **settings: Any) -> dict[str, dict[str, Any]]:
    """Each host with a data address of its own, the first ten of a role in 192.0.2.0/24, and the settings."""
    hosts: dict[str, dict[str, Any]] = {}
    for role, members in groups.items():
        for index, host in enumerate(members):
            address = f"192.0.2.{NUMBERS[role] + index}"
            if index >= 10:
                address = f"198.18.{NETWORKS[role] + index // 256}.{index % 256}"
            hosts.setdefault(host, {**SETTINGS, "sglang_data_address": address, **settings})
    return hosts


def compiled(
    wanted: Profile,
    groups: Mapping[str, Sequence[str]],
    hosts: Mapping[str, Mapping[str, Any]],
    facts: Mapping[str, HostFacts] | None = None,
    *,
    api_key: bool = False,
) -> Plan:
    """The plan, by the same passes as the action plugin. Raises CompileError."""
    source = Inventory(groups, hosts)
    names, found = inventory.group_names(next(iter(hosts.values())).get("sglang_groups", {}))
    roles, more = inventory.members(source, names, wanted)
    settings, again = cluster_settings.gather(source, roles, {})
    found = [*found, *more, *again]
    try:
        plan = compile_plan(Inputs(wanted, ENGINES, source, roles, settings, api_key, facts or {}))
    except CompileError as stopped:
        raise CompileError([*found, *stopped.findings]) from stopped
    stop_on_errors(found)
    return replace(plan, findings=tuple(dict.fromkeys([*found, *plan.findings])))


def plan_of(name: str, **settings: Any) -> Plan:
    """The plan of a profile on exactly the hosts that it needs."""
    wanted = profile(name)
    groups = groups_for(wanted, settings.get("sglang_instances"))
    return compiled(wanted, groups, variables_for(groups, **settings))


def planned(
    name: str,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    hosts: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Mapping[str, HostFacts] | None = None,
    api_key: bool = False,
    **settings: Any,
) -> Plan:
    """The plan of a profile on other groups, with other variables of some hosts (null takes a variable away)."""
    wanted = profile(name)
    members = groups if groups is not None else groups_for(wanted, settings.get("sglang_instances"))
    variables = variables_for({role: members.get(role, ()) for role in NUMBERS}, **settings)
    for host, own in (hosts or {}).items():
        both = {**variables.get(host, {}), **own}
        variables[host] = {key: value for key, value in both.items() if value is not None}
    return compiled(wanted, members, variables, facts, api_key=api_key)


def errors_of(name: str, **changes: Any) -> list[str]:
    """What `planned` says is wrong, whether or not a plan comes out."""
    try:
        found: Sequence[Finding] = planned(name, **changes).findings
    except CompileError as stopped:
        found = stopped.findings
    return [str(one) for one in found if one.level == "error"]


def warnings_of(name: str, **changes: Any) -> list[str]:
    return [str(one) for one in planned(name, **changes).findings if one.level == "warning"]


def service(plan: Plan, role: str, instance: int = 0, rank: int = 0) -> Service:
    return next(one for one in plan.services if (one.role, one.instance, one.rank) == (role, instance, rank))


def flags(one: Any) -> dict[str, list[Any]]:
    """Words behind each flag of a service or benchmark, in order; those of a repeated flag behind one another."""
    found: dict[str, list[Any]] = {}
    for word in one.argv[3:]:
        if isinstance(word, str) and word.startswith("--"):
            name = word
            found.setdefault(name, [])
        else:
            found[name].append(word)
    return found


def reasons(plan: Plan, role: str, instance: int = 0, rank: int = 0) -> dict[str, str]:
    """Flag or variable -> why it is not the page's."""
    return {
        one.name: one.reason for one in plan.deviations if (one.role, one.instance, one.rank) == (role, instance, rank)
    }
