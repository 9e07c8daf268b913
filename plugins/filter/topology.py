# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instances of a plan, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: topology
short_description: Who is in which instance, and with which rank
version_added: 0.1.0
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Compiles the inventory and a profile, and returns the instances with their nodes by rank.
  - Rank 0 is the head of an instance, the only node that serves requests.
positional: hostvars, profile
extends_documentation_fragment:
  - ascend.sglang.compiled
"""

EXAMPLES = r"""
- name: Show the head of every instance
  ansible.builtin.debug:
    msg: "{{ item.name }}: {{ item.nodes[0] }} at {{ item.url }}"
  loop: "{{ groups | ascend.sglang.topology(hostvars, 'deepseek-r1-w8a8-2p1d') }}"
"""

RETURN = r"""
_value:
  description:
    - Instances in the order prefill, decode, mixed. Each has name, role, instance (from 0), nodes (host names by rank),
      url (of rank 0) and bootstrap_port (null where it has none).
  type: list
  elements: dict
"""

from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.filters import plan_of


def topology(groups: Any, hostvars: Any = None, profile: str | None = None) -> Any:
    """See DOCUMENTATION."""
    return [one.as_dict() for one in plan_of("topology", groups, hostvars, profile).instances]


class FilterModule:
    """The filter ascend.sglang.topology."""

    def filters(self) -> dict[str, Any]:
        return {"topology": topology}
