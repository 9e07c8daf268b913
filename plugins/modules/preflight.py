# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hosts told, judged on the controller; the work is done by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: preflight
short_description: Check what hosts told before a model is loaded
version_added: 0.1.0
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Compiles the plan with the hosts' own answers, runs every check on plan and answers together, and prints the report.
    Worst first, one line for each check and the hosts of which it says the same.
  - Runs on the controller, once for all hosts, and contacts none of them. Use it with C(run_once).
  - Fails when something is an error; the message holds all errors and nothing else. A check is left out by its name in
    the setting C(sglang_preflight_skip).
options:
  host_facts:
    description: Name of the variable that the hosts have registered from M(ascend.sglang.host_facts).
    type: str
    required: true
  connections:
    description: Name of the variable that the hosts have registered from M(ascend.sglang.preflight_connect).
    type: str
  dest:
    description:
      - Directory on the controller for C(preflight.json), C(plan.json) and C(plan.md). Not set, nothing is written.
    type: path
  previous:
    description: An earlier plan to compare with; the return value RV(differences) names what differs.
    type: dict
  fatal:
    description: Whether the task fails when something is an error. If not, RV(refused) says so.
    type: bool
    default: true
attributes:
  check_mode:
    description: In check mode nothing is written; the result says whether the plan's files would have been.
    support: full
  diff_mode:
    description: No diff is returned.
    support: none
requirements:
  - netaddr (on the controller)
  - jsonschema (on the controller)
seealso:
  - module: ascend.sglang.plan
    description: Its return values are returned here too.
"""

EXAMPLES = r"""
- name: Check everything
  ascend.sglang.preflight:
    host_facts: host_facts
    connections: connections
    dest: ./plan
  run_once: true
"""

RETURN = r"""
report:
  description: The content of C(preflight.json).
  type: dict
  returned: success
  contains:
    errors:
      description: Number of errors.
      type: int
      returned: always
    warnings:
      description: Number of warnings.
      type: int
      returned: always
    checks:
      description: The checks of the hosts, each with C(name) and what it C(explains).
      type: list
      elements: dict
      returned: always
    hosts:
      description: Host to check to V(error), V(warning), V(unknown) (it could not look), V(skipped) or V(ok).
      type: dict
      returned: always
    findings:
      description: What is not V(ok), worst first. C(level), C(check), C(hosts), C(what), C(do).
      type: list
      elements: dict
      returned: always
refused:
  description: All errors, one a line; empty where there is none. With errors nothing else but RV(report) is returned.
  returned: always
  type: str
unsettled:
  description: Hosts on which something may have to be done, so that M(ascend.sglang.service) has to look at them.
  type: list
  elements: str
  returned: success
untuned:
  description: Hosts that may have to be tuned, because they did not say that nothing would be changed.
  type: list
  elements: str
  returned: success
differences:
  description: What differs from O(previous), one line each.
  type: list
  elements: str
  returned: success
"""
