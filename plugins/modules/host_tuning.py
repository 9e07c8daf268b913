#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's tuning: probed, set, read back, remembered and put back."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: host_tuning
short_description: Tune a host for SGLang, so that it lasts and can be undone
version_added: 0.1.0
description:
  - Sets the CPU frequency governor, C(vm.swappiness), C(kernel.numa_balancing), the scheduler's migration cost and,
    where they are switched on, transparent huge pages and the reserved ports. It probes, writes only what differs,
    reads it back, and says what took effect.
  - What a host does not have (no cpufreq tree, no such sysctl, a read-only C(/proc/sys), a governor that is not on
    offer, debugfs under lockdown) is skipped with a warning that names it, or is an error with O(strict).
  - Values last over a reboot, by C(/etc/sysctl.d/zzz-ascend-sglang.conf) and, for what sysctl.d cannot hold, by
    C(ascend-sglang-host-tuning.service). A file, tuned profile or power service that would win over them is named.
  - What was there before is remembered once in C(/var/lib/ascend-sglang/host_tuning.json). O(state=restored) puts it
    back; so does, for one setting, no longer asking for it.
options:
  state:
    description:
      - V(present) brings the host to what the options say.
      - V(restored) puts everything back that was there before, and removes what the module has written. The other
        options mean nothing then.
      - V(probed) changes nothing and says what V(present) would do.
    type: str
    choices: [present, restored, probed]
    default: present
  recipe:
    description:
      - What the recipe asks for. The other options win over it.
      - A mapping of C(governor) (a word, or null) and C(sysctl) (a mapping).
    type: dict
    default: {}
  governor:
    description: CPU frequency governor of every CPU that offers it. Default is that of O(recipe); neither means none.
    type: str
  governor_enabled:
    description: Whether the governor is set at all.
    type: bool
    default: true
  swappiness:
    description: C(vm.swappiness), from 0 to 200 (to 100 before Linux 5.8). Default is that of O(recipe).
    type: int
  swappiness_enabled:
    description: Whether C(vm.swappiness) is set at all.
    type: bool
    default: true
  numa_balancing:
    description: C(kernel.numa_balancing). 0 switches it off. Default is that of O(recipe).
    type: int
  numa_balancing_enabled:
    description: Whether C(kernel.numa_balancing) is set at all.
    type: bool
    default: true
  sched_migration_cost_ns:
    description:
      - The scheduler's migration cost in nanoseconds. Default is that of O(recipe).
      - It is C(kernel.sched_migration_cost_ns) up to Linux 5.12, C(sched/migration_cost_ns) in debugfs since then.
        debugfs need not be mounted. In a container it is not mounted to reach the kernel of the machine around it.
    type: int
  sched_migration_cost_ns_enabled:
    description: Whether the migration cost is set at all.
    type: bool
    default: true
  sysctl:
    description: Further sysctls, by name. Null leaves one alone that O(recipe) has.
    type: dict
    default: {}
  transparent_hugepage:
    description: When the kernel gives transparent huge pages.
    type: str
    choices: [always, madvise, never]
    default: madvise
  transparent_hugepage_enabled:
    description: Whether transparent huge pages are set at all.
    type: bool
    default: false
  reserved_ports:
    description:
      - Ports that the kernel must not hand out as source ports, so that they are free when a service starts.
      - Numbers, ranges as text (V(60000-60015)) or as a pair of numbers (first and last).
      - They are added to C(net.ipv4.ip_local_reserved_ports). What others have reserved stays reserved.
    type: list
    elements: raw
    default: []
  reserved_ports_enabled:
    description: Whether ports are reserved at all.
    type: bool
    default: true
  strict:
    description: Whether it is an error when something that was asked for cannot be had on this host.
    type: bool
    default: false
  root:
    description: The directory that stands for V(/), for images and tests. Below another one no program is run.
    type: path
    default: /
  sys_path:
    description: Where C(/sys) is, seen from O(root). For tests.
    type: str
    default: /sys
  proc_sys_path:
    description: Where C(/proc/sys) is, seen from O(root). For tests.
    type: str
    default: /proc/sys
notes:
  - It never reboots; nothing that it sets needs that.
  - It needs root.
attributes:
  check_mode:
    support: full
    description: Says what would be set, skipped, written and removed. That the kernel refuses a value it cannot know.
  diff_mode:
    support: full
    description: Shows the values and the files.
  platform:
    support: full
    description: The platforms it is for.
    platforms: linux
author:
  - ascend.sglang contributors (@ascend-sglang)
"""

EXAMPLES = r"""
- name: Tune the host as the recipe pages do
  ascend.sglang.host_tuning:
    recipe:
      governor: performance
      sysctl:
        vm.swappiness: 0
        kernel.numa_balancing: 0
        kernel.sched_migration_cost_ns: 50000

- name: With the install guide's swappiness, and the services' ports kept free
  ascend.sglang.host_tuning:
    governor: performance
    swappiness: 10
    reserved_ports_enabled: true
    reserved_ports: [8000, 8998, 24670, 60000-60015]

- name: Put back what was there before
  ascend.sglang.host_tuning:
    state: restored
"""

RETURN = r"""
settings:
  description: What became of each setting, one entry for each CPU's governor.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The setting, like V(vm.swappiness) or V(governor cpu0).
      type: str
    before:
      description: Its value before; null where there is none.
      type: str
    wanted:
      description: The value that was asked for.
      type: str
    now:
      description: Its value now, read back; in check mode the one that it would have.
      type: str
    status:
      description: One of V(kept), V(set), V(skipped), V(refused) and V(restored).
      type: str
    why:
      description: Why it was skipped or refused; else empty.
      type: str
    lasts_by:
      description: The file that makes it last over a reboot; else empty.
      type: str
files:
  description: Files that were written or removed.
  returned: success
  type: list
  elements: str
rivals:
  description: What would win over the module's files, a sentence each.
  returned: success
  type: list
  elements: str
changes:
  description: What was changed, a line each.
  returned: success
  type: list
  elements: str
missed:
  description: What could not be had, a line each.
  returned: success
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import tuning, tuning_host, tuning_options

_NOTHING = tuning.Wish(governor=None, sysctl={}, transparent_hugepage=None, reserved_ports=frozenset())


def _result(report: tuning_host.Report) -> dict[str, Any]:
    settings = [outcome._asdict() for outcome in report.outcomes]
    values = [outcome for outcome in report.outcomes if outcome.changed]
    return {
        "settings": settings,
        "files": [change["path"] for change in report.files],
        "rivals": [str(rival) for rival in report.rivals],
        "changes": tuning_host.changes_told(report),
        "missed": tuning_host.sentences(report.missed),
        "diff": [
            {
                "before_header": "values",
                "after_header": "values",
                "before": "".join(f"{outcome.name} = {outcome.before or ''}\n" for outcome in values),
                "after": "".join(f"{outcome.name} = {outcome.now or ''}\n" for outcome in values),
            },
            *(
                {
                    "before_header": change["path"],
                    "after_header": change["path"],
                    "before": change["before"],
                    "after": change["after"],
                }
                for change in report.files
            ),
        ],
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=tuning_options.argument_spec(), supports_check_mode=True)
    params = module.params
    machine = tuning_options.machine_of(params)
    only_look = module.check_mode or params["state"] == "probed"
    strict = params["strict"] and params["state"] == "present"
    try:
        wish = _NOTHING if params["state"] == "restored" else tuning.wish_of(params)
        report = tuning_host.apply(machine, wish, check=only_look, strict=strict)
    except ValueError as error:
        module.fail_json(msg=f"host_tuning: {error}")
    except tuning_host.NotPossibleError as error:
        module.fail_json(msg=f"{tuning_options.STRICT} {error}")
    except (tuning_host.SystemdRefusedError, OSError) as error:
        module.fail_json(msg=f"host_tuning stopped halfway; what was set so far is in the record. {error}")
    result = _result(report)
    if strict and report.missed:
        module.fail_json(msg="host_tuning is strict: " + "; ".join(result["missed"]), **result)
    if params["state"] != "probed":
        for line in tuning_options.warnings(report):
            module.warn(line)
    module.exit_json(changed=report.changed and params["state"] != "probed", **result)


if __name__ == "__main__":
    main()
