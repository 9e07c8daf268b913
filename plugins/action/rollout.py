# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide on the controller which services restart together, and in which order."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.vars import load_extra_vars
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error_text
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations import on_disk, selection
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.limit import Limit, beyond_limit
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.restarts import lines, restarts
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.rollback import services_after
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.rollout import (
    Running,
    announce,
    as_dicts,
    change_of,
    strangers,
    waves,
    workers,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.registered import answers
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import plain


class ActionModule(ActionBase):
    """Run once for all hosts. Connects to none of them."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read what the hosts registered, add what must restart with it, and put it in order."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "services": {"type": "list", "elements": "dict"},
                "register": {"type": "str"},
                "facts": {"type": "str", "required": True},
                "roles": {"type": "list", "elements": "str", "default": []},
                "history": {"type": "str"},
                "instances": {"type": "list", "elements": "str", "default": []},
            },
            mutually_exclusive=[("services", "history")],
            required_by={"services": ["register"], "history": ["register"]},
        )
        facts = {host: told["facts"] for host, told in self._answers(variables, arguments["facts"], "facts").items()}
        try:
            services, units = self._change(variables, arguments, facts)
        except CompileError as stopped:
            return {**result, "failed": True, "msg": error_text(stopped.findings)}
        also = restarts(services, units)
        problems = beyond_limit(services, units, also)
        if problems:
            return {**result, "failed": True, "msg": error_text(problems)}
        routers = on_disk.routers(facts)
        now = Running(on_disk.urls(facts), any(told["supported"] for told in routers))
        for finding in strangers((one for told in routers for one in told["workers"]), services, now):
            self._display.warning(str(finding))
        found = waves(services, units, also, now)
        limit = Limit(services, units, on_disk.ready(facts))
        ready = limit.whole
        said = lines(services, units, also)
        wanted = workers(one for own in ready.values() for one in own)
        return {
            **result,
            "changed": False,
            "restarts": also,
            "whole": ready,
            "left_out": limit.lines(),
            "unasked": limit.unasked,
            "advice": limit.advice(),
            "lines": said,
            "waves": as_dicts(found, limit, now),
            "order": announce(found),
            "change": change_of(services),
            "workers": wanted,
            "unproven": list(ready) if said else on_disk.unproven(facts, ready, wanted),
        }

    def _change(
        self, variables: dict[str, Any], arguments: dict[str, Any], facts: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The services, and what would become of them: by the plan or the hosts' history, or by the selection."""
        if arguments.get("register"):
            # A host outside of --limit has not been asked; one that needed no second look stays as it is.
            checked = self._answers(variables, arguments["register"], "units")
            units = on_disk.states(facts, [], "") | {host: told["units"] for host, told in checked.items()}
            if arguments.get("history"):
                kept = self._answers(variables, arguments["history"], "units")
                return services_after({host: told["units"] for host, told in kept.items()}), units
            planned: Any = plain(arguments["services"])
            return planned, units
        problems = selection.misspelt(load_extra_vars(self._loader))
        if problems:
            raise CompileError(problems)
        named = {
            option: selection.names(arguments[option], option) if option in self._task.args else []
            for option in selection.VARIABLES
        }
        services = on_disk.services(facts)
        chosen = on_disk.chosen(services, **named)
        return services, on_disk.states(facts, chosen, "a restart was asked for")

    def _answers(self, variables: dict[str, Any], register: str, key: str) -> dict[str, Any]:
        """Host -> what it registered, of those whose answer has this key."""
        return answers(variables["hostvars"], variables["ansible_play_hosts_all"], register, key)
