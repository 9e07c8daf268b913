#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action benchmark_run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_run
short_description: Run the benchmark of a plan from this host
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Starts C(sglang.bench_serving) on this host as the plan has it, shows its progress, and keeps what it measured on
    the controller.
  - It runs in the transient unit C(sglang-benchmark.service) and ends by itself when the controller has not looked at
    it for a minute. Nothing of it stays on the host.
  - Fails where there is no measurement. Whether the figures are good is said by M(ascend.sglang.benchmark_report).
options:
  plan:
    description:
      - The plan that is measured, as C(plan.json) has it.
    type: dict
    required: true
  page:
    description:
      - What the plan's recipe page says, as RV(ascend.sglang.plan#module:page). Kept with the run.
    type: dict
    required: true
  secrets:
    description:
      - Values of the secrets that the benchmark names, by name. They appear in no command line, log or result.
    type: dict
    default: {}
  user:
    description:
      - The account that runs it.
    type: str
    default: root
  timeout:
    description:
      - Seconds after which it is ended.
    type: float
    default: 7200
  details:
    description:
      - Whether each request's times are stored too.
    type: bool
    default: true
  dest:
    description:
      - Directory on the controller that keeps the runs.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Skipped; check mode measures nothing.
  diff_mode:
    support: none
    description: It changes nothing.
  action:
    support: full
    description: Runs on the controller, with looks at the host.
  platform:
    support: full
    description: Linux with systemd 249 or later.
    platforms: posix
seealso:
  - module: ascend.sglang.benchmark_report
"""

EXAMPLES = r"""
- name: Measure
  ascend.sglang.benchmark_run:
    plan: "{{ compiled.plan }}"
    page: "{{ compiled.page }}"
    dest: ./benchmarks
  register: measured
"""

RETURN = r"""
directory:
  description: The directory of this run on the controller.
  returned: always
  type: str
seconds:
  description: How long it took.
  returned: success
  type: float
ended:
  description: How it ended, as RV(ascend.sglang.benchmark_unit#module:ended).
  returned: always
  type: dict
"""
