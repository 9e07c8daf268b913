# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What restarts together and in which order, decided on the controller by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: rollout
short_description: Decide which services restart together, and in which order
version_added: 0.1.0
description:
  - Takes what M(ascend.sglang.service) would do on each host (its result in check mode) and adds the services that
    must restart although nothing of their own changes.
  - All ranks of an instance restart together, because a rank cannot join a running instance.
  - When the service that holds the store restarts, its whole PD group does, because the store dies with it.
  - The result is a list of waves. What serves nobody starts first, all at once. What serves restarts one instance
    after the other, out of the router meanwhile, where others of its role can answer. The router comes last, and only
    when it changes itself.
  - With neither O(services) nor O(history) it goes by what is on the hosts, and restarts what O(roles) and
    O(instances) name.
  - Fails where a service outside of C(--limit) would have to restart with one inside of it.
  - Runs on the controller, once for all hosts of the play.
options:
  services:
    description: The plan's services.
    type: list
    elements: dict
  register:
    description:
      - Name of the variable that the hosts have registered from M(ascend.sglang.service) in check mode. A host that has
        registered nothing is what it should be.
    type: str
  history:
    description:
      - Instead of O(services), name of the variable that the hosts have registered from
        M(ascend.sglang.service_history) with the change that a rollback undoes.
    type: str
  facts:
    description:
      - Name of the variable that they have registered from M(ascend.sglang.host_facts), with its
        O(ascend.sglang.host_facts#module:workers).
    type: str
    required: true
  roles:
    description: Without O(services), restart all instances of these roles.
    type: list
    elements: str
    default: []
  instances:
    description:
      - Without O(services), restart these instances, such as V(decode-0). With neither O(roles) nor O(instances) all
        instances restart; router and dedicated store only by name.
      - One of them that is given and empty is refused, and so is a variable of the command line whose name is nearly
        that of one that selects in C(restart.yml) (C(roles) for C(role)).
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: It changes nothing in any mode.
    support: full
  diff_mode:
    description: No diff is returned.
    support: none
author:
  - ascend.sglang contributors (@ascend-sglang)
"""

EXAMPLES = r"""
- name: Decide what restarts, and in which order
  ascend.sglang.rollout:
    services: "{{ compiled.plan.services }}"
    register: service_check
    facts: host_facts
  run_once: true
  register: rollout
"""

RETURN = r"""
restarts:
  description: Host to unit to the reason, for services that restart because of another one.
  type: dict
  returned: success
  sample: {d1: {sglang-decode: rank 1 of decode-0 on d2 restarts}}
whole:
  description:
    - Host to those of its services that can become ready. One whose instance is cut by C(--limit) is not among them,
      nor is a router that what starts leaves without any whole instance of a role.
  type: dict
  returned: success
left_out:
  description: What C(--limit) cuts in two, and what follows, for people.
  type: list
  elements: str
  returned: success
  sample: ["--limit leaves out d2 of decode-0: it starts on the others and is not waited for"]
unasked:
  description: Host to its units from which no answer can be expected for that.
  type: dict
  returned: success
  sample: {r1: [sglang-router]}
advice:
  description: RV(left_out) and which instances were not looked at, for the one to whom no answer comes. May be empty.
  type: str
  returned: success
lines:
  description: Every service that would start, restart or stop, one line each.
  type: list
  elements: str
  returned: success
waves:
  description:
    - What becomes new at the same time, in order. Each has C(title), C(hosts) (those with a part in it, the router's
      included), C(entrance) (C(host), C(unit) and C(url) of who is asked meanwhile, and whether it C(answers)), by host
      C(units), C(roles), C(halt) (units that are all down before one starts) and C(wait) (services that become ready),
      for the router C(leave), C(join) and C(spare), C(measure) (whether the interruption is measured), and in words
      C(interrupts) and C(advice).
  type: list
  elements: dict
  returned: success
order:
  description: The same for people, with what clients notice.
  type: list
  elements: str
  returned: success
change:
  description: A name for the change that makes the hosts run O(services), the same for the same plan.
  type: str
  returned: success
  sample: 3f9c1d2a7b60
workers:
  description: The workers that the router should have, as M(ascend.sglang.router_workers) takes them.
  type: list
  elements: dict
  returned: success
unproven:
  description:
    - Hosts whose services are not known to be ready (see O(ascend.sglang.host_facts#module:ready)), or whose router is
      not known to have all RV(workers). All of them where something starts.
  type: list
  elements: str
  returned: success
"""
