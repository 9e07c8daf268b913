# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide on the controller what each host tries in a preflight. See modules/preflight_targets.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import parsers
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
        """Read what the hosts registered, and say who connects where, and whose SGLang is asked what."""
        variables = task_vars or {}
        result = super().run(tmp, variables)
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "services": {"type": "list", "elements": "dict", "required": True},
                "addresses": {"type": "dict", "required": True},
                "host_facts": {"type": "str", "required": True},
                "running": {"type": "bool", "default": True},
                "skip": {"type": "list", "elements": "str", "default": []},
                "parser_seconds": {"type": "int", "default": 0},
                "user": {"type": "str", "default": "root"},
            }
        )
        planned: Any = plain(arguments["services"])
        addresses: Any = plain(arguments["addresses"])
        services = [Service.from_dict(one) for one in planned]
        hosts = dict.fromkeys(one.host for one in services)
        told = answers(variables["hostvars"], hosts, arguments["host_facts"], "facts")
        facts = {host: answer["facts"] for host, answer in told.items()}
        wanted = () if "connections" in arguments["skip"] else edges(services)
        sources = set(hosts) if arguments["running"] else starting(services, facts)
        targets = targets_by_host(wanted, facts, addresses, sources)
        seconds = 0 if parsers.CHECK in arguments["skip"] else arguments["parser_seconds"]
        known = parsers.load(Path(constants.ANSIBLE_HOME) / parsers.FILE) if seconds else {}
        asked = parsers.questions(services, facts, arguments["user"], seconds, known)
        return {
            **result,
            "changed": False,
            "targets": {host: targets.get(host, []) for host in hosts},
            "parsers": {host: asked.get(host, {}) for host in hosts},
            "busy": [host for host in hosts if targets.get(host) or host in asked],
        }
