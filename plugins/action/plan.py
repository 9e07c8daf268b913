# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compile the plan on the controller: arguments in, one call of the compiler, errors out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.plugins.action import ActionBase
from ansible.utils.vars import load_extra_vars
from ansible_collections.ascend.sglang.plugins.plugin_utils import inventory_shapes
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import (
    CompileError,
    Finding,
    error,
    error_text,
    errors,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.from_ansible import (
    Compiled,
    Variables,
    compile_from,
    hosts_from,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import HostFacts, from_module, unreachable
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_variables import HostVariables, of_the_play
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan_page import page, summary
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan_result import (
    OF_A_PLAN,
    by_host,
    differences,
    entrances_by_host,
    names_to_resolve,
    needed_paths,
    placements,
    role_placements,
    set_aside,
    tuning_by_host,
    write_plan,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.edges import edges
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.questions import questions
from ansible_collections.ascend.sglang.plugins.plugin_utils.registered import answers
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import plain

Answers = Mapping[str, Any]


def addresses(compiled: Compiled) -> dict[str, str]:
    """The data addresses of a plan's hosts."""
    return {name: host.address.text for name, host in compiled.hosts.items()}


def _with_shapes(found: Sequence[Finding], variables: dict[str, Any]) -> list[Finding]:
    """Where hosts or groups are missing, why: a file of the inventory that Ansible could not take."""
    if not any(one.check in ("inventory", "groups") for one in found):
        return list(found)
    sources = [str(one) for one in variables.get("ansible_inventory_sources") or ()]
    shapes = list(inventory_shapes.problems(sources))
    return [*shapes, *(one for one in found if not shapes or one.check != "inventory")]


class ActionModule(ActionBase):
    """Run once for all hosts. Connects to none of them."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Compile, write the plan if asked to, and fail with the errors alone."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "dest": {"type": "path"},
                "write": {"type": "bool", "default": True},
                "scope": {"type": "str", "choices": ["plan", "summary", "hosts"], "default": "plan"},
                "host_facts": {"type": "str"},
                "previous": {"type": "dict"},
            }
        )
        if arguments["scope"] == "hosts":
            return {**result, **self._hosts(variables)}
        try:
            compiled = self._compile(variables, arguments.get("host_facts"))
        except CompileError as stopped:
            found = _with_shapes(stopped.findings, variables)
            self._warn(found)
            self._set_aside(arguments.get("dest"), OF_A_PLAN, "it cannot be compiled")
            return {**result, "failed": True, "msg": error_text(found)}
        self._warn(compiled.plan.findings)
        # A plan with errors is where this run ends: no later task writes it.
        now = arguments["write"] or errors(compiled.plan.findings)
        try:
            changed, unwritten = self._written(arguments.get("dest") if now else None, compiled)
        except CompileError as stopped:
            return {**result, "failed": True, "msg": error_text(stopped.findings)}
        if unwritten:
            return {**result, "failed": True, "msg": error_text([*unwritten, *compiled.plan.findings])}
        if errors(compiled.plan.findings):
            return {**result, "failed": True, "changed": changed, "msg": error_text(compiled.plan.findings)}
        result["changed"] = changed
        if arguments["scope"] == "summary":
            return {**result, "note": compiled.choice.note, "summary": summary(compiled.plan, compiled.choice.note)}
        return {**result, **self._returned(compiled, arguments.get("previous"), variables)}

    def _written(self, dest: str | None, compiled: Compiled) -> tuple[bool, list[Finding]]:
        """Whether files are not what they should be, which they are then unless in check mode; and why that failed."""
        if not dest:
            return False, []
        # What draws it takes a while to load, and most runs draw nothing.
        from ansible_collections.ascend.sglang.plugins.plugin_utils.report import plan_page

        plan, note = compiled.plan, compiled.choice.note
        files = {"plan.json": plan.as_json(), "plan.md": page(plan, note)}
        try:
            files["plan.html"] = plan_page.html(plan, note)
        except CompileError as undrawn:
            # The page is for looking at; a plan does not need the libraries that draw it.
            for one in undrawn.findings:
                self._display.warning(f"plan.html is not written: {one}")
            self._set_aside(dest, ["plan.html"], "its page cannot be drawn")
        return self._put(dest, files)

    def _put(self, dest: str | None, files: Mapping[str, str]) -> tuple[bool, list[Finding]]:
        """Files in a directory, as above."""
        if not dest:
            return False, []
        # Relative to where the user stands, not to the playbook.
        directory = Path(dest).absolute()
        try:
            return write_plan(directory, files, write=not self._task.check_mode), []
        except (OSError, UnicodeDecodeError) as problem:
            return False, [_unwritten(directory, problem)]

    def _set_aside(self, dest: str | None, names: Sequence[str], why: str) -> None:
        """Let nobody take an earlier run's files for this one's."""
        if not dest:
            return
        directory = Path(dest).absolute()
        try:
            there = set_aside(directory, names, write=not self._task.check_mode)
        except OSError as problem:
            self._display.warning(
                f"{directory} has the plan of an earlier run, which is not that of the settings as they are "
                f"({why}), and it cannot be set aside: {problem.strerror}"
            )
            return
        if there:
            done = "would be" if self._task.check_mode else "is now"
            renamed = ", ".join(f"{name} ({done} {name}.outdated)" for name in there)
            self._display.warning(f"{directory}: {renamed} of an earlier run is not the plan of what is set now: {why}")

    def _hosts(self, variables: dict[str, Any]) -> dict[str, Any]:
        try:
            roles = hosts_from(self._variables(variables))
        except CompileError as stopped:
            return {"failed": True, "msg": error_text(_with_shapes(stopped.findings, variables))}
        return {"changed": False, "hosts": roles, "placements": role_placements(roles)}

    def _variables(self, variables: dict[str, Any]) -> Variables:
        hosts = HostVariables(variables["hostvars"], self._loader)
        return Variables(variables["groups"], hosts, of_the_play(variables, hosts, self._templar))

    def _compile(self, variables: dict[str, Any], register: str | None) -> Compiled:
        compiled, again = self._begin(variables)
        return compiled if register is None else again(self._answers(variables, compiled, register))

    def _begin(self, variables: dict[str, Any]) -> tuple[Compiled, Callable[[Answers], Compiled]]:
        """The plan without the hosts' answers, and what compiles it again with them."""
        extra = load_extra_vars(self._loader)
        profile = plain(self._templar.template(extra["profile"])) if "profile" in extra else None
        source = self._variables(variables)
        compiled = compile_from(source, profile=profile)
        return compiled, partial(self._again, source, profile, compiled)

    def _answers(self, variables: dict[str, Any], compiled: Compiled, register: str) -> Answers:
        """By host what it registered. A host outside of --limit has registered nothing."""
        hosts = dict.fromkeys(one.host for one in compiled.plan.services)
        return answers(variables["hostvars"], hosts, register)

    def _again(self, source: Variables, profile: Any, compiled: Compiled, told: Answers) -> Compiled:
        pages = [path for role in compiled.choice.profile.roles.values() for path in role.source]
        facts: dict[str, HostFacts] = {}
        silent: list[Finding] = []
        for host, answer in told.items():
            if "facts" in answer:
                facts[host] = from_module(answer["facts"], pages)
            elif answer.get("unreachable") or answer.get("failed"):
                silent.append(unreachable(host, str(answer.get("msg", "")), failed=bool(answer.get("failed"))))
        return compile_from(source, profile=profile, facts=facts, found=silent)

    def _questions(self, compiled: Compiled, asked: Collection[str]) -> dict[str, Any]:
        """What the preflight asks each host."""
        services = compiled.plan.services
        forks = int(context.CLIARGS.get("forks") or constants.DEFAULT_FORKS)
        token = uuid.uuid4().hex
        return questions(services, edges(services), addresses(compiled), compiled.settings, asked, forks, token)

    def _returned(
        self, compiled: Compiled, previous: dict[str, Any] | None, variables: dict[str, Any]
    ) -> dict[str, Any]:
        plan = compiled.plan.as_dict()
        # --limit limits who is asked.
        asked = set(variables.get("ansible_play_hosts_all") or compiled.hosts)
        return {
            "plan": plan,
            "note": compiled.choice.note,
            "summary": summary(compiled.plan, compiled.choice.note),
            "hosts": {role: list(hosts) for role, hosts in compiled.roles.items() if hosts},
            "placements": placements(compiled.plan),
            "by_host": by_host(compiled.plan),
            "entrances": entrances_by_host(compiled.plan),
            "differences": differences(previous, plan) if previous else [],
            "settings": {name: value for name, value in compiled.settings.values.items() if name != "sglang_api_key"},
            "user": None if compiled.settings.text("sglang_user") == "root" else compiled.settings.text("sglang_user"),
            "paths": needed_paths(compiled.plan, compiled.settings),
            "resolve": names_to_resolve(compiled.plan, compiled.hosts),
            "addresses": addresses(compiled),
            "questions": self._questions(compiled, asked),
            "page": {
                "engine": compiled.choice.profile.engine,
                "published": dict(compiled.choice.profile.published),
                "facts": dict(compiled.choice.profile.facts),
                "instances": {role: one.instances for role, one in compiled.choice.profile.roles.items()},
            },
            "tuning": tuning_by_host(compiled.plan, compiled.choice.profile, compiled.settings),
        }

    def _warn(self, findings: Any) -> None:
        for one in findings:
            if one.level == "warning":
                self._display.warning(str(one))


def _unwritten(directory: Path, problem: OSError | UnicodeDecodeError) -> Finding:
    why = problem.strerror if isinstance(problem, OSError) else str(problem)
    do = "Name a directory that you may write, or leave sglang_plan_dir out"
    return error("plan-directory", f"sglang_plan_dir, {directory}", f"the plan cannot be written there: {why}", do)
