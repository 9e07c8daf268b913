#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action benchmark_report."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_report
short_description: Judge a benchmark that was kept
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Reads a run that M(ascend.sglang.benchmark_run) kept, compares it with the figure that the recipe page publishes and
    with the run before it, and writes C(verdict.json), C(benchmark.md) and C(benchmark.html) beside it.
  - Does not fail where the verdict does; C(verdict.passed) says it. It fails where there is nothing to judge.
  - Runs on the controller and connects to no host.
options:
  directory:
    description:
      - The directory of the run.
    type: path
    required: true
  tolerance:
    description:
      - Percent by which a figure may be worse than published.
    type: int
    default: 10
  failed:
    description:
      - How many requests may fail.
    type: int
    default: 0
attributes:
  check_mode:
    support: full
    description: Does the same; what it writes belongs to the run.
  diff_mode:
    support: none
    description: It changes nothing.
  action:
    support: full
    description: Runs on the controller.
seealso:
  - module: ascend.sglang.benchmark_run
  - module: ascend.sglang.benchmark_compare
"""

EXAMPLES = r"""
- name: Judge it once more, more strictly
  ascend.sglang.benchmark_report:
    directory: benchmarks/deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms/3f9c1d2a7b60/20261130T111500Z
    tolerance: 2
"""

RETURN = r"""
verdict:
  description:
    - C(passed), C(reasons) why not, C(figures) (published, measured, ratio, limit), C(latency_ms) (TTFT, TPOT, ITL and
      end-to-end, each mean, median, std, p90, p95 and p99), C(throughput_per_second) of the cluster and per card,
      C(requests) (asked, sent, completed, failed, errors) and C(conditions) that are not as on the page.
  returned: when the run can be read
  type: dict
summary:
  description: The same in a few lines.
  returned: when the run can be read
  type: list
  elements: str
pages:
  description: The files that were written.
  returned: when the run can be read
  type: list
  elements: str
"""
