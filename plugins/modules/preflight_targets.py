# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts connect to in a preflight, decided by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: preflight_targets
short_description: Decide what each host connects to in a preflight
version_added: 0.1.0
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Runs on the controller, once for all hosts, and contacts none of them. From a plan follows which host's services
    connect to which port of which other host; from what M(ascend.sglang.host_facts) told, what stands at that port.
  - A throw-away listener is connected to. So is a running service of this collection, where a connection that says
    nothing is an ordinary thing (HTTP, bootstrap, guard); a rendezvous of a running service (dist-init, store, ZBAL) is
    left alone.
options:
  services:
    description: The services of the plan.
    type: list
    elements: dict
    required: true
  addresses:
    description: Host to its data address, as M(ascend.sglang.plan) returns it.
    type: dict
    required: true
  host_facts:
    description: Name of the variable that the hosts have registered from M(ascend.sglang.host_facts).
    type: str
    required: true
  running:
    description:
      - Whether all hosts connect to running services as well. If not, those do of which a service does not run, since
        it will be started.
    type: bool
    default: true
  skip:
    description:
      - Checks that are left out. With V(connections) nobody connects to anything, with V(installed-parser) no parser is
        asked.
    type: list
    elements: str
    default: []
  parser_seconds:
    description:
      - How long an installed SGLang may take when its own parser is asked about the planned command lines. V(0) asks
        none. What it has answered before of the same command lines is kept in C(ascend_sglang/parsers.json) of the
        user's C(ANSIBLE_HOME), and not asked again.
    type: int
    default: 0
  user:
    description: Account that runs the servers.
    type: str
    default: root
attributes:
  check_mode:
    description: Nothing is ever changed.
    support: full
  diff_mode:
    description: No diff is returned.
    support: none
"""

EXAMPLES = r"""
- name: Decide who connects where
  ascend.sglang.preflight_targets:
    services: "{{ compiled.plan.services }}"
    addresses: "{{ compiled.addresses }}"
    host_facts: host_facts
  run_once: true
  register: targets
"""

RETURN = r"""
targets:
  description: Host to the option O(ascend.sglang.preflight_connect#module:targets), which may be empty.
  type: dict
  returned: success
parsers:
  description: Host to the option O(ascend.sglang.preflight_connect#module:parser); empty where nothing is to be asked.
  type: dict
  returned: success
busy:
  description: Hosts that have something to try.
  type: list
  elements: str
  returned: success
"""
