#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections from a host to others, tried and closed."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_connect
short_description: Try the connections that a host's services will make
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Connects from this host's own data address to ports of other hosts, to all at the same time, and closes the
    connections. At a throw-away listener, which M(ascend.sglang.host_facts) starts, it reads who that is and says who
    came; to anything else it sends nothing.
  - A connection that fails is a result, not a failure of the module. Nothing is changed.
options:
  name:
    description: This host's name in the inventory.
    type: str
    required: true
  source:
    description: Its own data address, from which connections come; an address or a name.
    type: str
    required: true
  targets:
    description: What to connect to.
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: Name of the other host in the inventory.
        type: str
        required: true
      address:
        description: Its data address, or a name.
        type: str
        required: true
      port:
        description: The port.
        type: int
        required: true
      greets:
        description: Whether a throw-away listener waits there.
        type: bool
        required: true
  token:
    description: What tells this run's visitors from those of another, as the listeners were told.
    type: str
    default: ""
  release:
    description:
      - Whether this host's throw-away listeners are ended first, because nobody will come to them any more.
    type: bool
    default: false
  seconds:
    description: How long one connection may take.
    type: float
    default: 3.0
  parser:
    description:
      - Options of M(ascend.sglang.engine_parser), which is run after the connections; empty, it is not. Saves a task of
        its own, on every host.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: It does the same in check mode.
  diff_mode:
    support: none
    description: It changes nothing.
  platform:
    support: full
    description: Linux.
    platforms: posix
"""

EXAMPLES = r"""
- name: Try the connections that this host's services will make
  ascend.sglang.preflight_connect:
    name: "{{ inventory_hostname }}"
    source: "{{ compiled.addresses[inventory_hostname] }}"
    targets: "{{ targets.targets[inventory_hostname] }}"
"""

RETURN = r"""
connections:
  description: One entry for each target, in their order.
  returned: always
  type: list
  elements: dict
  contains:
    host:
      description: The target's name.
      type: str
      returned: always
    port:
      description: The target's port.
      type: int
      returned: always
    outcome:
      description:
        - V(ok), V(rejected), V(refused), V(timeout), V(unreachable), V(source) (the own address is not there), V(name)
          (it cannot be resolved), V(silent) (taken, and not by the listener), V(stranger) (by another's), V(error).
      type: str
      returned: always
    detail:
      description: What the system said, or which host answered.
      type: str
      returned: always
    route:
      description: The own address that the kernel would choose for the target; empty where there is no route.
      type: str
      returned: always
parser:
  description: What M(ascend.sglang.engine_parser) returned, C(answers) and C(error).
  returned: with O(parser)
  type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import throwaway


def argument_spec() -> dict[str, Any]:
    """The options, as DOCUMENTATION describes them."""
    return {
        "name": {"type": "str", "required": True},
        "source": {"type": "str", "required": True},
        "targets": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": {
                "host": {"type": "str", "required": True},
                "address": {"type": "str", "required": True},
                "port": {"type": "int", "required": True},
                "greets": {"type": "bool", "required": True},
            },
        },
        "token": {"type": "str", "default": "", "no_log": False},
        "release": {"type": "bool", "default": False},
        "seconds": {"type": "float", "default": 3.0},
        # The action plugin of this name sees to it.
        "parser": {"type": "dict", "default": {}},
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    wanted = [throwaway.Target(one["host"], one["address"], one["port"], one["greets"]) for one in params["targets"]]
    if params["release"]:
        throwaway.release()
    tried = throwaway.connect(params["name"], params["source"], wanted, params["seconds"], params["token"])
    module.exit_json(changed=False, connections=tried)


if __name__ == "__main__":
    main()
