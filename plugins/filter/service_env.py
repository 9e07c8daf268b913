# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environments of a plan, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: service_env
short_description: The environment of every service, HCCL, Gloo, ZBAL and store variables included
version_added: 0.1.0
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Compiles the inventory and a profile, and returns the variables that each service exports.
positional: hostvars, profile
extends_documentation_fragment:
  - ascend.sglang.compiled
"""

EXAMPLES = r"""
- name: Show the interface that HCCL uses on this host
  ansible.builtin.debug:
    msg: "{{ (groups | ascend.sglang.service_env(hostvars))[inventory_hostname]['sglang-decode'].HCCL_SOCKET_IFNAME }}"
"""

RETURN = r"""
_value:
  description: Host name to unit to variables, all values text.
  type: dict
  sample: {d1: {sglang-decode: {HCCL_SOCKET_IFNAME: bond0}}}
"""

from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.filters import plan_of, service_env_of


def service_env(groups: Any, hostvars: Any = None, profile: str | None = None) -> Any:
    """See DOCUMENTATION."""
    return service_env_of(plan_of("service_env", groups, hostvars, profile))


class FilterModule:
    """The filter ascend.sglang.service_env."""

    def filters(self) -> dict[str, Any]:
        return {"service_env": service_env}
