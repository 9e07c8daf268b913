#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action benchmark_compare."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_compare
short_description: Compare two benchmarks that were kept
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Puts the figures of two runs side by side, and says what changed between their plans.
  - Runs on the controller and connects to no host.
options:
  before:
    description:
      - The directory of the earlier run.
    type: path
    required: true
  after:
    description:
      - The directory of the later run.
    type: path
    required: true
  dest:
    description:
      - Directory on the controller into which C(comparison.html), C(comparison.md) and C(comparison.json) are written.
        Without it nothing is written.
    type: path
attributes:
  check_mode:
    support: full
    description: Does the same.
  diff_mode:
    support: none
    description: It changes nothing.
  action:
    support: full
    description: Runs on the controller.
seealso:
  - module: ascend.sglang.benchmark_report
"""

EXAMPLES = r"""
- name: See what the change was worth
  ascend.sglang.benchmark_compare:
    before: benchmarks/deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms/3f9c1d2a7b60/20261130T111500Z
    after: benchmarks/deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms/a01b7c55d2e4/20261130T143000Z
"""

RETURN = r"""
comparison:
  description:
    - C(before) and C(after) (C(path), C(at), C(plan_hash), C(profile)), C(rows) (C(name), C(unit), C(before), C(after),
      C(ratio), C(better)) and C(changes) between the plans.
  returned: success
  type: dict
summary:
  description: The same in a few lines.
  returned: success
  type: list
  elements: str
pages:
  description: The files that were written.
  returned: success
  type: list
  elements: str
"""
