# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks of a plan, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_ranks
short_description: The rank of every host in its instance
version_added: 0.1.0
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Compiles the inventory and a profile, and returns each host's instance and rank for each of its roles.
positional: hostvars, profile
extends_documentation_fragment:
  - ascend.sglang.compiled
"""

EXAMPLES = r"""
- name: Show this host's rank
  ansible.builtin.debug:
    msg: "{{ (groups | ascend.sglang.node_ranks(hostvars))[inventory_hostname] }}"
"""

RETURN = r"""
_value:
  description: Host name to role to C(instance) and C(rank), both from 0. Routers are left out.
  type: dict
  sample: {d1: {decode: {instance: 0, rank: 0}}, d2: {decode: {instance: 0, rank: 1}}}
"""

from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.filters import node_ranks_of, plan_of


def node_ranks(groups: Any, hostvars: Any = None, profile: str | None = None) -> Any:
    """See DOCUMENTATION."""
    return node_ranks_of(plan_of("node_ranks", groups, hostvars, profile))


class FilterModule:
    """The filter ascend.sglang.node_ranks."""

    def filters(self) -> dict[str, Any]:
        return {"node_ranks": node_ranks}
