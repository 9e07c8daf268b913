# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a cluster, put together on the controller by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: status
short_description: Make one table of what the hosts of a plan told
version_added: 0.1.0
description:
  - Puts side by side the plan, and what its hosts have registered. Asks nobody itself.
  - Runs on the controller, once for all hosts of the play.
options:
  plan:
    description: The plan, as C(plan.json) has it.
    type: dict
    required: true
  facts:
    description:
      - Name of the variable that the hosts have registered from M(ascend.sglang.host_facts), with its
        O(ascend.sglang.host_facts#module:workers).
    type: str
    required: true
  statuses:
    description: The same from M(ascend.sglang.service_status), with its O(ascend.sglang.service_status#module:details).
    type: str
    required: true
  check:
    description: The same from M(ascend.sglang.service) in check mode.
    type: str
    required: true
  problems:
    description: What else is to be told.
    type: list
    elements: str
    default: []
  dest:
    description: File on the controller that gets RV(status) as JSON.
    type: path
attributes:
  check_mode:
    description: It changes nothing on hosts in any mode. O(dest) is written in any mode.
    support: full
  diff_mode:
    description: No diff is returned.
    support: none
author:
  - ascend.sglang contributors (@ascend-sglang)
"""

EXAMPLES = r"""
- name: Put it together
  ascend.sglang.status:
    plan: "{{ compiled.plan }}"
    facts: host_facts
    statuses: service_status
    check: service_check
  run_once: true
  register: cluster
"""

RETURN = r"""
status:
  description:
    - C(profile), C(engine), C(ready) (all that the plan has is ready, and the router has all of its workers),
      C(differs) (something is not as the plan has it), C(services), C(router) and C(problems).
    - A service has C(host), C(unit), C(role), C(instance), C(rank), C(planned), C(state), C(since), C(restarts),
      C(ready), C(why), C(version) and C(mode) (each with C(reported) and C(planned)), C(invocation), C(guard) (what its
      guard answered), C(compared) (whether its files could be compared with the plan) and C(differs) (sentences).
    - The router has C(supported) (mini-lb does not tell its workers), C(readiness), C(note), C(workers), C(missing)
      (instances for which it has no healthy worker) and C(unknown) (URLs that the plan does not have).
  type: dict
  returned: success
page:
  description: The same as a table, line by line.
  type: list
  elements: str
  returned: success
"""
