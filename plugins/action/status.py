# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make one table on the controller of what the hosts registered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations import on_disk
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.status import Told, page, report
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan_result import write_plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.registered import answers
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import plain


class ActionModule(ActionBase):
    """Run once for all hosts. Connects to none of them."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read what the hosts registered, and write status.json if asked to."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "plan": {"type": "dict", "required": True},
                "facts": {"type": "str", "required": True},
                "statuses": {"type": "str", "required": True},
                "check": {"type": "str", "required": True},
                "problems": {"type": "list", "elements": "str", "default": []},
                "dest": {"type": "path"},
            }
        )
        plan: Any = plain(arguments["plan"])
        planned = dict.fromkeys(one["host"] for one in plan["services"])
        hosts = [host for host in planned if host in variables["ansible_play_hosts_all"]]
        said = {name: answers(variables["hostvars"], hosts, arguments[name]) for name in ("facts", "statuses", "check")}
        told = {host: _told({name: every.get(host, {}) for name, every in said.items()}) for host in hosts}
        facts = {host: one["facts"] for host, one in said["facts"].items() if "facts" in one}
        state = report(plan, told, next(iter(on_disk.routers(facts)), None))
        state.problems.extend(plain(arguments["problems"]))
        answer = state.as_dict(plan)
        if arguments.get("dest"):
            path = Path(arguments["dest"]).absolute()
            text = json.dumps(answer, indent=2, sort_keys=True) + "\n"
            write_plan(path.parent, {path.name: text}, write=True)
        return {**result, "changed": False, "status": answer, "page": page(state, plan)}


def _told(own: dict[str, Any]) -> Told:
    problems = [
        str(own[name].get("msg", "did not answer"))
        for name in ("facts", "statuses", "check")
        if own[name].get("failed") or own[name].get("unreachable")
    ]
    return Told(
        own["statuses"].get("services"),
        own["facts"].get("facts", {}).get("units"),
        own["check"] if "units" in own["check"] else None,
        " ".join(problems[0].split()) if problems else "",
    )
