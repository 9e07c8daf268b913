# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugin makes of a plan: files on the controller, and views that roles take as options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Host
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Profile


def write_plan(directory: Path, files: Mapping[str, str], *, write: bool) -> bool:
    """Make the files what they should be; whether any of them was not. Writes only if asked to.

    What was set aside goes: it said less than what is written.
    """
    stale = {
        name: text
        for name, text in files.items()
        if not (directory / name).is_file() or (directory / name).read_text(encoding="utf-8") != text
    }
    if write and stale:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in stale.items():
            (directory / name).write_text(text, encoding="utf-8")
    if write:
        for name in files:
            (directory / f"{name}{_OUTDATED}").unlink(missing_ok=True)
    return bool(stale)


# What a run writes that says something of the inventory and the settings as they are.
OF_A_PLAN = ("plan.json", "plan.md", "plan.html", "preflight.json")
_OUTDATED = ".outdated"


def set_aside(directory: Path, names: Iterable[str], *, write: bool) -> list[str]:
    """Give an earlier run's files names that nobody takes for a plan's; the names of those that were there.

    They are not deleted: they may be all that says what runs on the hosts.
    """
    there = [name for name in names if (directory / name).is_file()]
    if write:
        for name in there:
            (directory / name).replace(directory / f"{name}{_OUTDATED}")
    return there


def by_host(plan: Plan) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Host -> role -> its services; and under `all` every service of the host."""
    result: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for one in plan.services:
        own = result.setdefault(one.host, {})
        service = one.as_dict()
        own.setdefault(one.role, []).append(service)
        own.setdefault("all", []).append(service)
    return result


def needed_paths(plan: Plan, settings: ClusterSettings) -> list[str]:
    """The directories that some service names on its command line."""
    words = {str(word) for one in plan.services for word in one.argv}
    paths = (settings.text("sglang_model_path"), settings.text("sglang_draft_model_path"))
    return [path for path in paths if path in words]


def names_to_resolve(plan: Plan, hosts: Mapping[str, Host]) -> dict[str, list[str]]:
    """Host -> its data address where that is a name, which only its own resolver can turn into an address."""
    return {
        one.host: [hosts[one.host].address.text] if hosts[one.host].address.kind == "name" else []
        for one in plan.services
    }


# Groups with fixed names, so that plays need not know the inventory's.
GROUP = "ascend_sglang"


def placements(plan: Plan) -> list[dict[str, Any]]:
    """Each host of the plan with the fixed groups that it belongs in."""
    groups: dict[str, list[str]] = {}
    for one in plan.services:
        own = groups.setdefault(one.host, [GROUP])
        own += [f"{GROUP}_{one.role}"]
        own += [f"{GROUP}_engines"] if one.npus else []
    for one in plan.entrances:
        groups[one.host].append(f"{GROUP}_entrance")
    return [{"host": host, "groups": list(dict.fromkeys(own))} for host, own in groups.items()]


def role_placements(roles: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """The same for hosts of which only the inventory is known."""
    groups: dict[str, list[str]] = {}
    for role, hosts in roles.items():
        for host in hosts:
            groups.setdefault(host, [GROUP]).append(f"{GROUP}_{role}")
    return [{"host": host, "groups": own} for host, own in groups.items()]


def tuning_by_host(plan: Plan, profile: Profile, settings: ClusterSettings) -> dict[str, dict[str, Any]]:
    """Host with servers on NPUs -> what its tuning is to be, as options of ascend.sglang.host_tuning.

    `recipe` is the profile's; `reserved_ports` are every port that its services listen on, and every range as first
    and last, to be kept for them. Empty where hosts are not tuned (sglang_host_tuning).
    """
    if not settings.values["sglang_host_tuning"]:
        return {}
    recipe = {"governor": profile.governor, "sysctl": dict(profile.sysctl)}
    ports: dict[str, list[int | list[int]]] = {}
    for one in plan.services:
        ports.setdefault(one.host, []).extend([*one.ports.values(), *map(list, one.port_ranges.values())])
    return {one.host: {"recipe": recipe, "reserved_ports": ports[one.host]} for one in plan.services if one.npus}


def entrances_by_host(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Host -> the entrances on it."""
    result: dict[str, list[dict[str, Any]]] = {}
    for one in plan.entrances:
        result.setdefault(one.host, []).append({"unit": one.unit, "url": one.url})
    return result


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What the hosts' own facts changed in the plan, one line a change: `d1 sglang-decode env X: a -> b`."""
    old = {(one["host"], one["unit"]): one for one in before["services"]}
    lines = []
    for service in after["services"]:
        was = old.get((service["host"], service["unit"]))
        if was is None:
            lines.append(f"{service['host']} {service['unit']}: is new")
            continue
        for key in ("argv", "env", "unset", "source", "ports", "npus"):
            if service[key] != was[key]:
                lines += [
                    f"{service['host']} {service['unit']} {line}" for line in _change(key, was[key], service[key])
                ]
    return lines


def _change(key: str, before: Any, after: Any) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
        return [f"{key} {name}: {before.get(name, '(absent)')} -> {after.get(name, '(absent)')}" for name in names]
    if isinstance(before, list) and isinstance(after, list):
        gone = [str(item) for item in before if item not in after]
        new = [str(item) for item in after if item not in before]
        return [f"{key}: {' '.join(gone) or '(nothing)'} -> {' '.join(new) or '(nothing)'}"]
    return [f"{key}: {before} -> {after}"]
