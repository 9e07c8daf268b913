# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge on the controller what the hosts told, together with the plan. See modules/preflight.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible import constants
from ansible_collections.ascend.sglang.plugins.action.plan import ActionModule as PlanAction
from ansible_collections.ascend.sglang.plugins.action.plan import Answers, addresses
from ansible_collections.ascend.sglang.plugins.plugin_utils import registered
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error_text
from ansible_collections.ascend.sglang.plugins.plugin_utils.from_ansible import Compiled
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.settled import unsettled, untuned
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan_result import OF_A_PLAN
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import parsers, registry, report
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.clocks import offset
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import Situation
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

_REPORT = "preflight.json"


class ActionModule(PlanAction):
    """Run once for all hosts. Connects to none of them."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Compile with the hosts' answers, check them, print the report, and fail with the errors alone."""
        variables = task_vars or {}
        result = super(PlanAction, self).run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "host_facts": {"type": "str", "required": True},
                "connections": {"type": "str"},
                "dest": {"type": "path"},
                "previous": {"type": "dict"},
                "fatal": {"type": "bool", "default": True},
            }
        )
        try:
            compiled, again = self._begin(variables)
        except CompileError as stopped:
            self._set_aside(arguments.get("dest"), OF_A_PLAN, "it cannot be compiled")
            return {**result, "failed": True, "msg": error_text(stopped.findings)}
        answers = self._answers(variables, compiled, arguments["host_facts"])
        asked, tried = compiled.plan.services, arguments["connections"]
        changed, unwritten = False, []
        try:
            compiled = again(answers)
            of_plan = compiled.plan.findings
            changed, unwritten = self._written(arguments.get("dest"), compiled)
        except CompileError as stopped:
            # The plan of before serves to check what the hosts told: all problems are reported together.
            of_plan = stopped.findings
            names = [name for name in OF_A_PLAN if name != _REPORT]
            self._set_aside(arguments.get("dest"), names, "it cannot be compiled with what the hosts told")
        situation = replace(
            _situation(compiled, answers, self._registered(variables, tried, answers, "connections")),
            parsers=self._parsers(asked, variables, tried, answers),
        )
        outcomes = registry.run(situation, compiled.settings.texts("sglang_preflight_skip"))
        hosts = list(dict.fromkeys(one.host for one in compiled.plan.services))
        lines = report.lines(outcomes, of_plan, hosts)
        for line in report.text(lines):
            self._display.display(line)
        # One beyond --limit has not been asked, and has nothing to say.
        of_this_run = [host for host in hosts if host in answers]
        content = report.as_dict(lines, of_this_run, registry.explained())
        # What is found differs from run to run, as a log does: that is no change.
        _differs, more = self._put(arguments.get("dest"), {_REPORT: report.as_json(content)})
        unwritten += [] if unwritten else more
        found = [*unwritten, *of_plan, *registry.findings(outcomes)]
        refused = error_text(found)
        if refused:
            failed = {"failed": True, "msg": refused} if arguments["fatal"] else {}
            return {**result, **failed, "changed": changed, "refused": refused, "report": content}
        returned = self._returned(compiled, arguments.get("previous"), variables)
        services = {host: own["all"] for host, own in returned["by_host"].items()}
        limit = compiled.settings.values["sglang_stop_timeout"]
        returned["unsettled"] = unsettled(services, situation.answers, returned["user"], limit)
        returned["untuned"] = untuned(returned["tuning"], answers)
        return {**result, "changed": changed, "refused": "", "report": content, **returned}

    def _registered(self, variables: dict[str, Any], register: str | None, hosts: Answers, key: str) -> Answers:
        """By host what its connections came to, or its parser."""
        if register is None:
            return {}
        return {host: one[key] for host, one in registered.answers(variables["hostvars"], hosts, register, key).items()}

    def _parsers(
        self, asked: Sequence[Service], variables: dict[str, Any], register: str | None, answers: Answers
    ) -> Answers:
        """By host what its installed SGLang said of the services that it was asked about, now or before."""
        facts = {host: answer["facts"] for host, answer in answers.items() if "facts" in answer}
        path = Path(constants.ANSIBLE_HOME) / parsers.FILE
        known = parsers.load(path)
        now = self._registered(variables, register, facts, "parser")
        new = parsers.learnt(asked, facts, now, known)
        if new != known:
            try:
                parsers.save(path, new)
            except OSError as problem:
                self._display.vv(f"{path}: {problem.strerror}: the hosts' SGLang is asked again in the next run")
        return parsers.told(asked, facts, now, known)


def _situation(compiled: Compiled, answers: Answers, tried: Answers) -> Situation:
    profile = compiled.choice.profile
    facts = {host: answer["facts"] for host, answer in answers.items() if "facts" in answer}
    clocks = {host: answers[host]["clock"] for host in facts if "clock" in answers[host]}
    return Situation(
        services=compiled.plan.services,
        answers=facts,
        settings=compiled.settings,
        addresses=addresses(compiled),
        engine=compiled.plan.engine,
        router=profile.router_engine,
        recipe=profile.facts,
        clocks={host: offset(facts[host], around) for host, around in clocks.items()},
        connections={host: tuple(one) for host, one in tried.items()},
    )
