#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed SGLang's own parser, asked about command lines."""

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_parser
short_description: Ask the installed SGLang whether it takes the command lines of a plan
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Lets the services' python import the parser of the SGLang that is installed for it (C(sglang.srt.server_args)), as
    the services' user and in the environment of the first of them, and asks it about each flag of each server. Only the
    command line is parsed; no model is looked at and nothing is started.
  - Importing SGLang takes half a minute on a busy host. It runs in a unit of its own that can write nowhere but into a
    C(/tmp) of its own and that systemd ends after O(seconds). Nothing on the host is changed.
  - A parser that cannot be asked is a result, not a failure of the module.
options:
  python:
    description: Path of the python that runs the services.
    type: path
    required: true
  services:
    description: Services of a plan on this host. Those that are no server are left out.
    type: list
    elements: dict
    required: true
  user:
    description: Account that runs the servers.
    type: str
    default: root
  npu_group:
    description: Whether an account other than root gets the group of the NPU devices, as its units do.
    type: bool
    default: false
  seconds:
    description: How long it may take.
    type: int
    default: 60
attributes:
  check_mode:
    support: full
    description: It does the same in check mode.
  diff_mode:
    support: none
    description: It changes nothing.
  platform:
    support: full
    description: Linux with systemd 249 or later. Only root can ask systemd to run something.
    platforms: posix
"""

EXAMPLES = r"""
- name: Ask the installed SGLang about the planned command lines
  ascend.sglang.engine_parser:
    python: /usr/bin/python3
    services: "{{ compiled.by_host[inventory_hostname].all }}"
"""

RETURN = r"""
answers:
  description:
    - By unit C(refused), a list of what the parser refuses (C(flag), its C(words), C(why) in the parser's words and
      C(near), flags with a similar name), and C(deprecated), a list of flags that it discourages (C(flag) and what it
      says C(instead)).
  returned: always
  type: dict
error:
  description: Why it could not be asked, or empty.
  returned: always
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import engine_parser, plan_service


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "path", "required": True},
            "services": {"type": "list", "elements": "dict", "required": True},
            "user": {"type": "str", "default": "root"},
            "npu_group": {"type": "bool", "default": False},
            "seconds": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    asked = module.params
    try:
        told = engine_parser.look(
            asked["python"], asked["services"], asked["user"], asked["seconds"], npu_group=asked["npu_group"]
        )
    except plan_service.PlanServiceError as problem:
        module.fail_json(msg=str(problem))
    module.exit_json(changed=False, **told)


if __name__ == "__main__":
    main()
