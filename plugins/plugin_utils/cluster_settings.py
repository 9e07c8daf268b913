# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the whole cluster, out of the variables of its hosts.

A setting may stand in group_vars/all, with a group of the cluster, or on the command line; wherever it stands, the
hosts that have it must agree, because there is one plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import CLUSTER_SETTINGS, Setting, read
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain


@dataclass(frozen=True)
class ClusterSettings:
    """Typed values of the settings with scope cluster and role, by name, defaults included."""

    values: Mapping[str, Plain]

    def text(self, name: str) -> str:
        value = self.values[name]
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        value = self.values[name]
        return value if isinstance(value, int) else 0

    def mapping(self, name: str) -> Mapping[str, Plain]:
        value = self.values[name]
        return value if isinstance(value, dict) else {}

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.values[name]
        return tuple(str(item) for item in value) if isinstance(value, list) else ()


def gather(
    inventory: Inventory, roles: Mapping[str, Iterable[str]], elsewhere: Mapping[str, Plain]
) -> tuple[ClusterSettings, list[Finding]]:
    """The settings of the hosts by role; `elsewhere` holds variables that no host has (of the play, say)."""
    hosts = list(dict.fromkeys(host for members in roles.values() for host in members))
    raw: dict[str, Plain] = {}
    findings: list[Finding] = []
    for setting in CLUSTER_SETTINGS:
        # A role's settings are its hosts' business; another host's value counts only where none of them has one.
        for among in ([*roles.get(setting.role, ())] if setting.role else [], hosts):
            values = _values(inventory, among, setting)
            if values:
                break
        else:
            values = {"": elsewhere[setting.name]} if elsewhere.get(setting.name) is not None else {}
        if values:
            first = next(iter(values))
            raw[setting.name] = values[first]
            other = next((host for host, value in values.items() if value != values[first]), None)
            if other is not None:
                findings.append(_differs(setting, first, other))
            without = next((host for host in roles.get(setting.role or "", ()) if host not in values), None)
            if without is not None and any(host in values for host in roles.get(setting.role or "", ())):
                findings.append(_incomplete(setting, first, without))
    typed, found = read(raw, CLUSTER_SETTINGS, "the inventory")
    return ClusterSettings(typed), [*findings, *found]


def _values(inventory: Inventory, hosts: Iterable[str], setting: Setting) -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    for host in hosts:
        value = inventory.variables.get(host, {}).get(setting.name)
        # An empty value reads as "not set", as everywhere.
        if value is not None and value != "":
            found[host] = value
    return found


def _differs(setting: Setting, first: str, other: str) -> Finding:
    what = f"hosts {first} and {other} have different values, and there is one plan for the whole cluster"
    return error("setting-differs", setting.name, what, "Set it once, in the group_vars of all or on the command line")


def _incomplete(setting: Setting, first: str, without: str) -> Finding:
    what = f"host {first} has it and host {without} has not, and all {setting.role} services get the same"
    return error("setting-differs", setting.name, what, f"Set it for all {setting.role} hosts, in their group's vars")
