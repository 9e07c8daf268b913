# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which change a rollback undoes, decided on the controller by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: rollback_plan
short_description: Decide which change a rollback undoes
version_added: 0.1.0
description:
  - Takes what the hosts have kept (M(ascend.sglang.service_history)) and chooses the last change of the cluster, by the
    hosts' clocks, or the one that is asked for.
  - Fails where nothing has been kept, or where the change that is asked for is not the last one of any unit.
  - Runs on the controller, once for all hosts of the play.
options:
  history:
    description: Name of the variable that the hosts have registered from M(ascend.sglang.service_history).
    type: str
    required: true
  change:
    description: The change to undo. Left out, it is the last one.
    type: str
    default: ""
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
- name: Choose the change to undo
  ascend.sglang.rollback_plan:
    history: service_history
  run_once: true
  register: rollback
"""

RETURN = r"""
change:
  description: The name of the change that is undone.
  type: str
  returned: success
lines:
  description: What each unit returns to, one line each.
  type: list
  elements: str
  returned: success
"""
