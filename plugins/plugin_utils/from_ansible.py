# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From Ansible's variables to a plan: what the action plugin and the filters share.

Knows the shape of Ansible's `groups` and `hostvars` and nothing else of Ansible. Reads profiles and engine files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils import cluster_settings, inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import Catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import read_catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import EngineError
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, Finding, error, stop_on_errors
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import HostFacts
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Host, Inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Inputs, Plan, compile_plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import registry
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile_files import Choice, catalogue, choose
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import BY_NAME, ROLES
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain, ValueTypeError, coerce, describe, plain

OWN_PROFILES = Path(__file__).parents[2] / "profiles"
SECRET_SET = "(set)"


@dataclass(frozen=True)
class Compiled:
    """A plan with what it was made from."""

    plan: Plan
    choice: Choice
    settings: ClusterSettings
    roles: Mapping[str, tuple[str, ...]]
    hosts: Mapping[str, Host]


class Variables:
    """The settings among Ansible's variables, host by host, each evaluated once.

    hostvars: host name -> its variables, where asking for one may raise; play: settings that stand in the play rather
    than with any host (its vars, a role's parameters). They hold for every host, as they do for every task.
    """

    def __init__(
        self, groups: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]], play: Mapping[str, Any]
    ) -> None:
        self._hostvars = hostvars
        self._hosts: dict[str, dict[str, Plain]] = {}
        self._secrets: dict[tuple[str, str], Plain] = {}
        self.groups: dict[str, list[str]] = {
            str(name): [str(host) for host in members] for name, members in groups.items()
        }
        self._play = {name: plain(value) for name, value in play.items() if name in BY_NAME}

    @property
    def play(self) -> dict[str, Plain]:
        """The play's settings, secrets as whether they are set."""
        return {name: _secret(name, value) for name, value in self._play.items()}

    def host(self, name: str) -> dict[str, Plain]:
        """Settings of one host, as builtins. Raises CompileError naming a variable that cannot be evaluated."""
        if name not in self._hosts:
            self._hosts[name] = self._read(name)
        return self._hosts[name]

    def _read(self, name: str) -> dict[str, Plain]:
        found: dict[str, Plain] = {}
        variables = self._hostvars[name]
        for key in map(str, variables):
            if key in BY_NAME and key not in self._play:
                found[key] = self._one(name, variables, key)
            elif key.startswith("sglang_"):
                found[key] = None  # no setting: only its name is of interest
        for key, value in {**found, **self._play}.items():
            if key in BY_NAME and BY_NAME[key].secret:
                self._secrets[(name, key)] = value
            found[key] = _secret(key, value)
        if not found.get("sglang_data_address") and "ansible_host" in variables:
            found["ansible_host"] = self._one(name, variables, "ansible_host")
        return found

    def _one(self, host: str, variables: Mapping[str, Any], key: str) -> Plain:
        try:
            return plain(variables[key])
        # Whatever a template raises (Ansible's own errors, Jinja's, a filter's), the user needs its name.
        except Exception as problem:
            what = f"its value cannot be evaluated: {problem}"
            raise CompileError([error("template", f"host {host}, {key}", what, "Correct the variable")]) from problem

    def inventory(self, names: Mapping[str, str]) -> Inventory:
        """All groups, and the variables of the hosts in the named ones."""
        hosts = dict.fromkeys(host for group in names.values() for host in self.groups.get(group, ()))
        return Inventory(self.groups, {host: self.host(host) for host in hosts})

    def require_hosts(self) -> None:
        """Raise CompileError where there is no host at all: the one error that then helps."""
        if not any(self.groups.values()):
            do = "Give one with -i; where Ansible could not read it, its warnings above say why"
            raise CompileError([error("inventory", "the inventory", "it has no host", do)])

    def group_names(self) -> tuple[dict[str, str], list[Finding]]:
        """The role's group names: `sglang_groups`, from wherever it is set."""
        typed, findings = cluster_settings.gather(Inventory({}, {}), {}, {"sglang_groups": self._groups_setting()})
        names, found = inventory.group_names(typed.mapping("sglang_groups"))
        return names, [*findings, *found]

    def _groups_setting(self) -> Plain:
        if "sglang_groups" in self._play:
            return self._play["sglang_groups"]
        usual = [host for role in ROLES for host in self.groups.get(role, ())]
        # The setting may stand with a group that only the setting names. Other hosts are asked only where need be.
        whole = any(
            all(self.groups.get(role) for role in roles) for roles in (("prefill", "decode", "router"), ("mixed",))
        )
        for host in dict.fromkeys([*usual, *([] if whole else self.groups.get("all", ()))]):
            variables = self._hostvars[host]
            if "sglang_groups" in variables:
                value = self._one(host, variables, "sglang_groups")
                if value:
                    return value
        return {}

    def secret_problems(self, hosts: Iterable[str]) -> Iterator[Finding]:
        """What is wrong with secrets, in words that do not tell them. All hosts share one value."""
        for setting in (one for one in BY_NAME.values() if one.secret):
            values = {host: self._secrets.get((host, setting.name)) or "" for host in hosts}
            if not any(values.values()):
                continue
            (first, *_others) = [host for host, value in values.items() if value]
            other = next((host for host, value in values.items() if value != values[first]), None)
            if other is not None:
                what = f"host {other} has {'another value than' if values[other] else 'none, and'} host {first}"
                what += "" if values[other] else " has one"
                yield error("setting-differs", setting.name, what, "Set it once, in the group_vars of all")
            elif not isinstance(values[first], str):
                yield error(
                    "setting-type", setting.name, f"text is needed, not {_kind(values[first])}", setting.meaning
                )
            elif not _PRINTABLE.fullmatch(str(values[first])):
                what = "it has spaces, line feeds or other characters that a header of HTTP cannot have"
                do = "Give it without them: `ansible-vault encrypt_string` takes a line feed at the end along"
                yield error("setting-type", setting.name, what, do)


# What may stand in an Authorization header without being encoded.
_PRINTABLE = re.compile(r"[!-~]+")


def _kind(value: Plain) -> str:
    """The kind of a secret that is no text, without its value."""
    return "a number" if isinstance(value, (int, float)) else describe(value)


def _secret(name: str, value: Plain) -> Plain:
    """A secret's value stays out of the compiler: only whether there is one comes in."""
    return (SECRET_SET if value else "") if name in BY_NAME and BY_NAME[name].secret else value


def compile_from(
    variables: Variables,
    *,
    profile: Plain = None,
    facts: Mapping[str, HostFacts] | None = None,
    found: Sequence[Finding] = (),
) -> Compiled:
    """The plan of Ansible's variables. Raises CompileError.

    profile: a name from the command line; found: findings from before the compilation, reported with the others.
    """
    variables.require_hosts()
    names, of_groups = variables.group_names()
    stop_on_errors(of_groups)
    source = variables.inventory(names)
    everybody = {role: tuple(source.groups.get(group, ())) for role, group in names.items()}
    first, early = cluster_settings.gather(source, everybody, variables.play)
    stop_on_errors([one for one in early if one.check == "setting-type"])
    choice = _choice(first, profile)
    roles, findings = inventory.members(source, names, choice.profile, [first.text("sglang_benchmark_host")])
    settings, more = cluster_settings.gather(source, roles, variables.play)
    everyone = dict.fromkeys(host for hosts in roles.values() for host in hosts)
    skip = settings.texts("sglang_preflight_skip")
    findings = [*found, *of_groups, *findings, *more, *variables.secret_problems(everyone)]
    findings += registry.unknown_names(skip)
    if any(one.check == "setting-type" for one in findings) or not any(roles.values()):
        stop_on_errors(findings)
    plan = _compile(
        Inputs(choice.profile, _engines(settings), source, roles, settings, _has_key(settings), facts or {}), findings
    )
    plan = replace(plan, findings=registry.without(plan.findings, skip))
    cluster, _reported = inventory.cluster(source, roles, facts or {})
    return Compiled(plan, choice, settings, roles, cluster.hosts)


def hosts_from(variables: Variables) -> dict[str, list[str]]:
    """The hosts of each role as the inventory has them, whatever the profile. Raises CompileError without any."""
    variables.require_hosts()
    names, findings = variables.group_names()
    stop_on_errors(findings)
    roles = {role: list(variables.groups.get(group, ())) for role, group in names.items()}
    if not any(roles.values()):
        what = f"none of the groups {', '.join(names.values())} has a host"
        raise CompileError([error("groups", "the inventory", what, "Name your groups in sglang_groups")])
    return roles


def _compile(inputs: Inputs, findings: Sequence[Finding]) -> Plan:
    """Compile even where something is wrong already, so that all problems are reported together.

    `findings` are from before; without an error among them they are the plan's first.
    """
    try:
        plan = compile_plan(inputs)
    except CompileError as stopped:
        raise CompileError([*findings, *stopped.findings]) from stopped
    stop_on_errors(findings)
    both = dict.fromkeys([*findings, *plan.findings])
    return replace(plan, findings=tuple(sorted(both, key=lambda one: one.level != "error")))


def _choice(settings: ClusterSettings, given: Plain) -> Choice:
    named = settings.text("sglang_profile")
    try:
        profile = None if given is None else str(coerce(given, "str"))
    except ValueTypeError as problem:
        raise CompileError(
            [error("profile-name", "-e profile", str(problem), "Give the name of one profile")]
        ) from problem
    if profile and named and profile != named:
        what = f"-e profile={profile} and sglang_profile: {named} name different profiles"
        raise CompileError([error("profile-name", "profile", what, "Leave one of them out")])
    directories = [Path(text).expanduser() for text in settings.texts("sglang_profile_dirs")]
    return choose(catalogue([*directories, OWN_PROFILES]), profile or named)


def _engines(settings: ClusterSettings) -> Catalogue:
    try:
        return read_catalogue([Path(text).expanduser() for text in settings.texts("sglang_engine_dirs")])
    except EngineError as problem:
        do = "Give directories that hold engine files as tools/dump_engine.py prints them"
        raise CompileError([error("engine", "sglang_engine_dirs", str(problem), do)]) from problem


def _has_key(settings: ClusterSettings) -> bool:
    return bool(settings.text("sglang_api_key"))
