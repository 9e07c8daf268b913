# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a host by the module of this name, and notes the controller's clock around it."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """The action behind ascend.sglang.host_facts: the options are the module's."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module; its host's clock is compared with those of others by this one."""
        result = super().run(tmp, task_vars)
        before = time.time()
        result.update(self._execute_module(module_name="ascend.sglang.host_facts", task_vars=task_vars))
        result["clock"] = {"before": before, "after": time.time()}
        return result
