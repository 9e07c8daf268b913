# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What restarts together, decided on the controller by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: restart_plan
short_description: Decide which running services must restart together
version_added: 0.1.0
description:
  - Takes what M(ascend.sglang.service) would do on each host (its result in check mode) and adds the services that
    must restart although nothing of their own changes.
  - All ranks of an instance restart together, because a rank cannot join a running instance.
  - When the service that holds the store restarts, its whole PD group does, because the store dies with it.
  - Fails where a service outside of C(--limit) would have to restart with one inside of it.
  - Runs on the controller, once for all hosts.
options:
  services:
    description: The plan's services.
    type: list
    elements: dict
    required: true
  register:
    description: Name of the variable that the hosts have registered from M(ascend.sglang.service).
    type: str
    required: true
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
- name: Decide what restarts
  ascend.sglang.restart_plan:
    services: "{{ compiled.plan.services }}"
    register: service_check
  run_once: true
  register: restart_plan
"""

RETURN = r"""
restarts:
  description: Host to unit to the reason, for services that restart because of another one.
  type: dict
  returned: success
  sample: {d1: {sglang-decode: rank 1 of decode-0 on d2 restarts}}
halts:
  description: Host to those of its services that must be down everywhere before one of them starts again.
  type: dict
  returned: success
whole:
  description: Host to those of its services whose instance is not cut by C(--limit), so that they can become ready.
  type: dict
  returned: success
lines:
  description: Every service that would start, restart or stop, one line each.
  type: list
  elements: str
  returned: success
"""
