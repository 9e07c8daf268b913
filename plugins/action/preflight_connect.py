# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the code behind the module of this name on a host, without a module's start where that can be saved.

A module's start takes several times as long as what this one does, on each host.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.module_utils import throwaway


class ActionModule(ActionBase):
    """The action behind ascend.sglang.preflight_connect: the options are the module's."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send the code to the host's Python; start the module where the connection or the Python is not known to."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "name": {"type": "str", "required": True},
                "source": {"type": "str", "required": True},
                "targets": {"type": "list", "elements": "dict", "default": []},
                "token": {"type": "str", "default": "", "no_log": False},
                "release": {"type": "bool", "default": False},
                "seconds": {"type": "float", "default": 3.0},
                "parser": {"type": "dict", "default": {}},
            }
        )
        parser = arguments.pop("parser")
        result.update(self._connect(arguments, variables))
        if parser and not result.get("failed"):
            told = self._execute_module("ascend.sglang.engine_parser", module_args=parser, task_vars=variables)
            known = {"answers": told.get("answers", {}), "error": told.get("error", told.get("msg", ""))}
            result["parser"] = known
        return result

    def _connect(self, arguments: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        python = self._python(variables)
        if python is None or not self._is_pipelining_enabled("new"):
            return self._execute_module("ascend.sglang.preflight_connect", module_args=arguments, task_vars=variables)
        code = f"{Path(throwaway.__file__).read_text(encoding='utf-8')}\n\nmain({json.dumps(arguments)!r})\n"
        answer = self._low_level_execute_command(f"{shlex.quote(python)} -", in_data=code.encode())
        if answer["rc"] != 0:
            return {"failed": True, "msg": f"cannot try connections: {answer['stderr'] or answer['stdout']}"}
        return {"changed": False, "connections": json.loads(answer["stdout"].splitlines()[-1])}

    def _python(self, variables: dict[str, Any]) -> str | None:
        """The host's Python for modules, where it is set or has been found by a module before."""
        given = str(self._templar.template(variables.get("ansible_python_interpreter") or ""))
        found = (variables.get("ansible_facts") or {}).get("discovered_interpreter_python")
        python = given if given.startswith("/") else found
        return str(python) if python else None
