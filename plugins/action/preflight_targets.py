# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide on the controller what each host connects to in a preflight. See modules/preflight_targets.py."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.connections import starting, targets_by_host
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.edges import edges
from ansible_collections.ascend.sglang.plugins.plugin_utils.registered import answers
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import plain


class ActionModule(ActionBase):
    """Run once for all hosts. Connects to none of them."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read what the hosts registered, and say who connects where."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "services": {"type": "list", "elements": "dict", "required": True},
                "addresses": {"type": "dict", "required": True},
                "host_facts": {"type": "str", "required": True},
                "running": {"type": "bool", "default": True},
                "skip": {"type": "list", "elements": "str", "default": []},
            }
        )
        known: Any = plain(arguments["services"])
        addresses: Any = plain(arguments["addresses"])
        services = [Service.from_dict(one) for one in known]
        hosts = dict.fromkeys(one.host for one in services)
        told = answers(variables["hostvars"], hosts, arguments["host_facts"], "facts")
        facts = {host: answer["facts"] for host, answer in told.items()}
        wanted = () if "connections" in arguments["skip"] else edges(services)
        sources = set(hosts) if arguments["running"] else starting(services, facts)
        targets = targets_by_host(wanted, facts, addresses, sources)
        return {**result, "changed": False, "targets": {host: targets.get(host, []) for host in hosts}}
