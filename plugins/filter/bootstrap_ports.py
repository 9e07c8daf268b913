# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootstrap ports of a plan, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: bootstrap_ports
short_description: The bootstrap port of every prefill instance, by its head
version_added: 0.1.0
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Compiles the inventory and a profile, and returns the port that each prefill instance's rank 0 serves. The router
    tells it to decode with every request.
positional: hostvars, profile
extends_documentation_fragment:
  - ascend.sglang.compiled
"""

EXAMPLES = r"""
- name: Show the bootstrap ports
  ansible.builtin.debug:
    msg: "{{ groups | ascend.sglang.bootstrap_ports(hostvars, 'deepseek-r1-w8a8-2p1d') }}"
"""

RETURN = r"""
_value:
  description: Host name of the head to its port, or to a list of ports where it heads several instances.
  type: dict
  sample: {p1: 8998, p2: 8999}
"""

from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.filters import bootstrap_ports_of, plan_of


def bootstrap_ports(groups: Any, hostvars: Any = None, profile: str | None = None) -> Any:
    """See DOCUMENTATION."""
    return bootstrap_ports_of(plan_of("bootstrap_ports", groups, hostvars, profile))


class FilterModule:
    """The filter ascend.sglang.bootstrap_ports."""

    def filters(self) -> dict[str, Any]:
        return {"bootstrap_ports": bootstrap_ports}
