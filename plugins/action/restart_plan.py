# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide on the controller which services restart together."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import error_text
from ansible_collections.ascend.sglang.plugins.plugin_utils.restarts import (
    beyond_limit,
    halts,
    lines,
    restarts,
    whole,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import plain


class ActionModule(ActionBase):
    """Run once for all hosts. Connects to none of them."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read what the hosts registered, and add what must restart with it."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "services": {"type": "list", "elements": "dict", "required": True},
                "register": {"type": "str", "required": True},
            }
        )
        services: Any = plain(arguments["services"])
        units: dict[str, Any] = {}
        for host in dict.fromkeys(one["host"] for one in services):
            answer: Any = plain(variables["hostvars"][host].get(arguments["register"]) or {})
            # A host outside of --limit has not been asked.
            if "units" in answer:
                units[host] = answer["units"]
        also = restarts(services, units)
        problems = beyond_limit(services, units, also)
        if problems:
            return {**result, "failed": True, "msg": error_text(problems)}
        return {
            **result,
            "changed": False,
            "restarts": also,
            "halts": halts(services, units, also),
            "whole": whole(services, units),
            "lines": lines(services, units, also),
        }
