# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of a plan, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: services
short_description: Every process of the cluster with its command line and environment
version_added: 0.1.0
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Compiles the inventory and a profile, and returns the services as C(plan.json) has them.
positional: hostvars, profile
extends_documentation_fragment:
  - ascend.sglang.compiled
"""

EXAMPLES = r"""
- name: Show what would run on this host
  ansible.builtin.debug:
    msg: "{{ groups | ascend.sglang.services(hostvars) | selectattr('host', 'eq', inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description:
    - Services in the order in which they start. Each has host, unit, role, instance, rank, nnodes, module, argv, env,
      unset, source, url, ports, port_ranges and npus.
  type: list
  elements: dict
"""

from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.filters import plan_of


def services(groups: Any, hostvars: Any = None, profile: str | None = None) -> Any:
    """See DOCUMENTATION."""
    return [one.as_dict() for one in plan_of("services", groups, hostvars, profile).services]


class FilterModule:
    """The filter ascend.sglang.services."""

    def filters(self) -> dict[str, Any]:
        return {"services": services}
