# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a host by the module of this name, and notes the controller's clock around it."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.vars import load_extra_vars
from ansible_collections.ascend.sglang.plugins.module_utils import tuning_options

_ROLE = "host_tuning_"


class ActionModule(ActionBase):
    """The action behind ascend.sglang.host_facts: the options are the module's."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module; its host's clock is compared with those of others by this one."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        arguments, asked = dict(self._task.args), self._task.args.get("tuning")
        problems: list[str] = []
        if asked is not None:
            if not isinstance(asked, dict):
                return {**result, "failed": True, "msg": f"tuning is {asked!r}; it must be a dictionary of options"}
            arguments["tuning"], problems = self._tuning(asked, variables)
        if problems:
            del arguments["tuning"]
        before = time.time()
        result.update(
            self._execute_module(module_name="ascend.sglang.host_facts", module_args=arguments, task_vars=variables)
        )
        result["clock"] = {"before": before, "after": time.time()}
        if asked is not None:
            result["tuning"] = asked
        if problems and "facts" in result:
            result["facts"]["tuning"] = tuning_options.failure("; ".join(problems), variable=True)
        return result

    def _tuning(self, asked: dict[str, Any], variables: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The options that the role host_tuning would pass on, and what is wrong with its variables.

        The playbook passes `asked` to the role, above the host's variables and below those of the command line.
        """
        names = [name for name in tuning_options.argument_spec() if name != "state" and _ROLE + name in variables]
        options: dict[str, Any] = {}
        problems = []
        for name in names:
            try:
                value = self._templar.template(variables[_ROLE + name])
            except Exception as problem:
                # A variable that is `omit` is none; up to ansible-core 2.18 it comes as a word of its own.
                if type(problem).__name__ != "AnsibleValueOmittedError":
                    problems.append(f"{_ROLE}{name}: its value cannot be evaluated: {problem}")
                continue
            if value is not None and value != variables.get("omit"):
                options[name] = value
        extra = load_extra_vars(self._loader)
        above = {name: value for name, value in options.items() if _ROLE + name in extra}
        return {**options, **asked, **above}, problems
