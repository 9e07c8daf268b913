#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark on one host, in a transient unit."""

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_unit
short_description: Start, watch and end a benchmark on this host
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Runs C(sglang.bench_serving) in the transient unit C(sglang-benchmark.service), with a limit of its time, so that no
    process of it is ever left behind. It ends by itself when nobody has looked for O(lease) seconds.
  - What M(ascend.sglang.benchmark_run) does its looks with. That one is what playbooks use.
options:
  state:
    description:
      - V(started) starts it and does not wait. It fails where one runs already.
      - V(looked) tells where it is, and keeps it alive for another O(lease) seconds.
      - V(collected) tells what it measured, once it has ended, without the values of O(secrets).
      - V(read) gives a piece of the whole result, packed with gzip.
      - V(absent) ends it and removes its files.
    type: str
    choices: [started, looked, collected, read, absent]
    required: true
  argv:
    description:
      - The command. C(--output-file) is added to it, and C(--output-details) with O(details).
    type: list
    elements: str
  env:
    description:
      - Variables to set, to text or to a mapping of C(secret) to the name of a secret.
    type: dict
    default: {}
  unset:
    description:
      - Variables to take away.
    type: list
    elements: str
    default: []
  secrets:
    description:
      - Values of the secrets, by name. They appear in no command line, log or output; their file is gone when the
        benchmark runs.
    type: dict
    default: {}
  user:
    description:
      - The account that runs it.
    type: str
    default: root
  deadline:
    description:
      - Seconds after which it is ended.
    type: float
    default: 7200
  lease:
    description:
      - Seconds after the last look in which it is ended.
    type: float
    default: 60
  details:
    description:
      - Whether the result holds each request's times too.
    type: bool
    default: true
  offset:
    description:
      - With O(state=read), where the piece begins.
    type: int
    default: 0
  size:
    description:
      - With O(state=read), how many bytes it has at most.
    type: int
    default: 4194304
attributes:
  check_mode:
    support: full
    description: Starts and removes nothing.
  diff_mode:
    support: none
    description: It manages no state.
  platform:
    support: full
    description: Linux with systemd 249 or later.
    platforms: posix
seealso:
  - module: ascend.sglang.benchmark_run
"""

EXAMPLES = r"""
- name: See how far the benchmark is
  ascend.sglang.benchmark_unit:
    state: looked

- name: Leave nothing of it
  ascend.sglang.benchmark_unit:
    state: absent
"""

RETURN = r"""
phase:
  description: V(preparing), V(warming up), V(measuring) or V(ended).
  returned: with O(state=looked)
  type: str
done:
  description: Requests that are answered.
  returned: with O(state=looked)
  type: int
total:
  description: Requests that will be sent; 0 while that is not known.
  returned: with O(state=looked)
  type: int
ended:
  description: C(reason) (V(exit), V(deadline), V(unattended), V(stopped), V(start), V(store) or V(lost)), C(status),
    C(seconds) and C(problem), once it has ended.
  returned: with O(state=looked)
  type: dict
result:
  description: The last line of its result file, without what that has of each request; empty where there is none.
  returned: with O(state=collected)
  type: str
samples:
  description: Distributions of the requests' times, with O(details).
  returned: with O(state=collected)
  type: dict
log:
  description: The last lines that it printed.
  returned: with O(state=collected)
  type: list
  elements: str
raw_size:
  description: Bytes of the whole result, packed with gzip.
  returned: with O(state=collected)
  type: int
problem:
  description: Why what it wrote cannot be read as a result; empty where it can, or where it wrote nothing.
  returned: with O(state=collected)
  type: str
content:
  description: The piece, in base64.
  returned: with O(state=read)
  type: str
"""

import sys
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import bench_unit, systemd


def argument_spec() -> dict[str, Any]:
    """The options, as DOCUMENTATION describes them."""
    return {
        "state": {
            "type": "str",
            "choices": ["started", "looked", "collected", "read", "absent"],
            "required": True,
        },
        "argv": {"type": "list", "elements": "str"},
        "env": {"type": "dict", "default": {}},
        "unset": {"type": "list", "elements": "str", "default": []},
        "secrets": {"type": "dict", "default": {}, "no_log": True},
        "user": {"type": "str", "default": "root"},
        "deadline": {"type": "float", "default": 7200.0},
        "lease": {"type": "float", "default": 60.0},
        "details": {"type": "bool", "default": True},
        "offset": {"type": "int", "default": 0},
        "size": {"type": "int", "default": 4194304},
    }


def wanted(params: dict[str, Any]) -> bench_unit.Wanted:
    """What to start."""
    secrets = {str(name): str(value) for name, value in params["secrets"].items() if value}
    return bench_unit.Wanted(
        params["argv"],
        params["env"],
        params["unset"],
        secrets,
        params["user"],
        params["deadline"],
        params["lease"],
        params["details"],
    )


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec=argument_spec(), required_if=[("state", "started", ["argv"])], supports_check_mode=True
    )
    params = module.params
    answer: dict[str, Any] = {}
    try:
        if params["state"] == "started" and not module.check_mode:
            bench_unit.start(wanted(params), sys.executable)
        elif params["state"] == "looked":
            answer = bench_unit.look()
        elif params["state"] == "collected":
            answer = bench_unit.collect()
        elif params["state"] == "read":
            answer = {"content": bench_unit.read(params["offset"], params["size"])}
        elif params["state"] == "absent" and not module.check_mode:
            bench_unit.remove()
    except (bench_unit.BenchmarkError, systemd.SystemdError, OSError) as error:
        module.fail_json(msg=str(error))
    # A benchmark changes nothing that anybody would have to know of.
    module.exit_json(changed=False, **answer)


if __name__ == "__main__":
    main()
