# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide on the controller which change a rollback undoes."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error_text
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.rollback import change_to_undo, lines
from ansible_collections.ascend.sglang.plugins.plugin_utils.registered import answers


class ActionModule(ActionBase):
    """Run once for all hosts. Connects to none of them."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read what the hosts have kept, and choose."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "history": {"type": "str", "required": True},
                "change": {"type": "str", "default": ""},
            }
        )
        hosts = variables["ansible_play_hosts_all"]
        kept = answers(variables["hostvars"], hosts, arguments["history"], "units")
        history = {host: answer["units"] for host, answer in kept.items()}
        try:
            change = change_to_undo(history, arguments["change"])
        except CompileError as stopped:
            return {**result, "failed": True, "msg": error_text(stopped.findings)}
        return {**result, "changed": False, "change": change, "lines": lines(history, change)}
