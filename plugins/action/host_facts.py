# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a host by the module of this name, and notes the controller's clock around it."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
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
        arguments, tuning = dict(self._task.args), self._task.args.get("tuning")
        if isinstance(tuning, dict):
            # What this look asks for is what the role would: its variables, below what the playbook passes to it.
            arguments["tuning"] = {**self._of_the_role(variables), **tuning}
        before = time.time()
        result.update(
            self._execute_module(module_name="ascend.sglang.host_facts", module_args=arguments, task_vars=variables)
        )
        result["clock"] = {"before": before, "after": time.time()}
        if tuning:
            result["tuning"] = tuning
        return result

    def _of_the_role(self, variables: dict[str, Any]) -> dict[str, Any]:
        """The options that variables of the role host_tuning set for this host."""
        names = [name for name in tuning_options.argument_spec() if name != "state" and _ROLE + name in variables]
        return {name: self._templar.template(variables[_ROLE + name]) for name in names}
