# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan, compiled on the controller; the work is done by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: plan
short_description: Compile a profile and the inventory into a plan
version_added: 0.1.0
description:
  - Compiles what to run (a profile) and who is where (the inventory) into the whole plan of the cluster. Every service
    with its command line, environment, ports and NPUs, every difference from the recipe page with its reason, and
    every finding.
  - Runs on the controller, once for all hosts, and contacts none of them. Use it with C(run_once) and register the
    result.
  - Its inputs are the collection's settings (variables C(sglang_*) of the hosts), not its options. C(--limit) has no
    influence on the plan.
  - Fails when a finding is an error; the message holds the errors only. Warnings are displayed.
options:
  dest:
    description:
      - Directory on the controller into which C(plan.json), C(plan.md) and C(plan.html) are written, also when a
        finding is an error.
      - Where nothing can be compiled, nothing is written, and what an earlier run wrote there (C(preflight.json) too)
        is set aside, C(plan.json) as C(plan.json.outdated), so that nobody takes it for the plan of what is set now.
        The next plan that is written takes the place of both. A warning says so; in check mode the files stay.
      - Not set, nothing is written.
    type: path
  write:
    description:
      - V(false) leaves the writing to a later task, M(ascend.sglang.preflight), unless the play ends here. A plan with
        errors is written, and where nothing can be compiled, an earlier one in O(dest) is set aside.
    type: bool
    default: true
  scope:
    description:
      - V(plan) compiles. V(hosts) only says which hosts have which role, whatever the profile.
      - V(summary) compiles too, and returns only RV(note) and RV(summary). Ansible takes seconds to hand the whole plan
        of many hosts from task to task; what only reads O(dest) need not wait for it.
    type: str
    choices: [plan, summary, hosts]
    default: plan
  host_facts:
    description:
      - Name of a variable that the hosts have registered from M(ascend.sglang.host_facts).
      - With it the plan has the hosts' own interfaces and CANN locations in place of assumed ones, and what the hosts
        lack is a finding.
    type: str
  previous:
    description:
      - An earlier plan to compare with; the return value RV(differences) names what differs.
    type: dict
attributes:
  check_mode:
    description: In check mode nothing is written; the result says whether it would have been.
    support: full
  diff_mode:
    description: No diff is returned.
    support: none
author:
  - ascend.sglang contributors (@ascend-sglang)
requirements:
  - netaddr (on the controller)
  - jsonschema (on the controller)
"""

EXAMPLES = r"""
- name: Compile and read the plan without touching a host
  hosts: all
  gather_facts: false
  tasks:
    - name: Compile the plan
      ascend.sglang.plan:
        dest: ./plan
      run_once: true
      register: compiled

    - name: Show who runs what
      ansible.builtin.debug:
        var: compiled.summary
      run_once: true
"""

RETURN = r"""
plan:
  description: The plan, as in C(plan.json).
  type: dict
  returned: success
  contains:
    profile:
      description: Name of the profile.
      type: str
    engine:
      description: SGLang version whose flags are spelled.
      type: str
    cards:
      description: Number of NPU cards that the plan uses.
      type: int
    instances:
      description: Instances with their nodes by rank, URL and bootstrap port.
      type: list
    services:
      description:
        - One entry for each process on each host, in the order in which they start.
        - C(guard) is null, or says whom the guard beside the service watches. C(url) is where it answers,
          C(gone_seconds) how long a member of the instance may be out of sight. C(follows) is null, or C(what)
          (V(head), rank 0 of the instance, or V(store), the holder of the PD group's store) with C(host), C(unit), the
          C(url) of its guard, and C(ports) of its own that show that it is there. C(ranks) are, for a rank 0, the other
          ranks, each with C(rank) and the same keys.
      type: list
    entrances:
      description: Where clients ask.
      type: list
    benchmark:
      description: The benchmark command and the host that runs it.
      type: dict
    deviations:
      description: Every difference from the recipe page, with its reason.
      type: list
    findings:
      description: What the checks have to say.
      type: list
note:
  description: Which profile was taken, and which others of its family there are.
  type: str
  returned: success
summary:
  description: A few lines about the plan.
  type: list
  elements: str
  returned: success
hosts:
  description: Hosts by role, in the inventory's order.
  type: dict
  returned: success
placements:
  description:
    - Each host with the fixed groups (C(ascend_sglang), C(ascend_sglang_prefill) and so on) that it belongs in.
  type: list
  returned: success
entrances:
  description: Host to the entrances on it, each with unit and url.
  type: dict
  returned: success
by_host:
  description: Services by host and role; under C(all) every service of a host.
  type: dict
  returned: success
user:
  description: The account of the engine services; null for root.
  type: str
  returned: success
paths:
  description: Directories that the services need on their hosts.
  type: list
  elements: str
  returned: success
resolve:
  description: Host to the names that only the host itself can resolve.
  type: dict
  returned: success
addresses:
  description: Host to its data address.
  type: dict
  returned: success
questions:
  description: Host to what the preflight asks it, the option O(ascend.sglang.host_facts#module:preflight).
  type: dict
  returned: success
page:
  description:
    - What the profile says of its recipe page, C(engine) (the SGLang version it was written for), C(published) (the
      page's figures), C(facts) (its table) and C(instances) (by role).
  type: dict
  returned: success
tuning:
  description:
    - Host to what its tuning is to be, as options of M(ascend.sglang.host_tuning), C(recipe) (the profile's) and
      C(reserved_ports) (those of the host's services). Empty where C(sglang_host_tuning) is off.
  type: dict
  returned: success
settings:
  description: The settings of the cluster with their defaults. Secrets are left out.
  type: dict
  returned: success
differences:
  description: What differs from O(previous), one line each.
  type: list
  elements: str
  returned: success
"""
