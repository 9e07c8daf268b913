#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host has kept of earlier configurations."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_history
short_description: Earlier configurations of this host's services
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Lists the units of this collection on the host with the service of the plan that each was made from, and the
    configurations that were there before, as M(ascend.sglang.service) kept them before each change.
  - With O(change) it also says what the host's services would be after a rollback of that change, from which a
    playbook can tell what has to restart. M(ascend.sglang.service) with C(state=rolled_back) does it.
options:
  units:
    description:
      - Only these units. Empty means all.
    type: list
    elements: str
    default: []
  change:
    description:
      - The change of which RV(units.after) supposes a rollback. Left out, it is each unit's last one.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: It only looks, in check mode as well.
  diff_mode:
    support: none
    description: It changes nothing.
  platform:
    support: full
    description: Linux with systemd 249 or later.
    platforms: posix
seealso:
  - module: ascend.sglang.service
"""

EXAMPLES = r"""
- name: See what this host could return to
  ascend.sglang.service_history:
  register: __history

- name: Show it
  ansible.builtin.debug:
    var: __history.units
"""

RETURN = r"""
units:
  description: Units of this collection, by name, also such that exist no more and of which something is kept.
  returned: always
  type: dict
  contains:
    service:
      description: The service of the plan that the unit was made from; null where there is no unit.
      type: dict
      returned: always
    after:
      description: The same after a rollback of O(change); null where the unit would not exist.
      type: dict
      returned: always
    undone:
      description: Whether that rollback would undo something of this unit.
      type: bool
      returned: always
    entries:
      description: Earlier configurations, the oldest first.
      type: list
      elements: dict
      returned: always
      contains:
        number:
          description: The name of its directory in C(/var/lib/ascend-sglang/history/UNIT).
          type: int
        change:
          description: What the change was called that replaced it.
          type: str
        at:
          description:
            - When that was, by the host's clock, in UTC. The latest one among a cluster's hosts is its last change.
          type: str
        exists:
          description: Whether there was a unit at all.
          type: bool
        service:
          description: The service of the plan that the unit was made from; null where it did not exist.
          type: dict
        launch:
          description: Digest of the configuration, as the environment of its process had it.
          type: str
"""

import json
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import history, systemd, unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.host import Host
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Observed


def service_of(found: Found | None) -> Any:
    """The service in a service.json; None where there is none."""
    try:
        return json.loads(found.text) if found else None
    except ValueError:
        return None


def describe(there: Observed, layout: Layout, change: str) -> dict[str, Any]:
    """One unit as the return value has it."""
    unit, record = there.unit, layout.service(there.unit)
    now = service_of(there.files.get(record)) if there.ours else None
    undone = history.to_undo(there.history, change)
    return {
        "service": now,
        "after": service_of(undone[0].files.get(record)) if undone else now,
        "undone": bool(undone),
        "entries": [
            {
                "number": entry.number,
                "change": entry.change,
                "at": entry.at,
                "exists": not entry.is_nothing,
                "service": service_of(entry.files.get(record)),
                "launch": _launch(entry.files.get(layout.unit_file(unit))),
            }
            for entry in there.history
        ],
    }


def _launch(found: Found | None) -> str:
    return (unit_file.launch_digest(found.text) if found else None) or ""


def main() -> None:
    """Run the module."""
    spec: dict[str, Any] = {
        "units": {"type": "list", "elements": "str", "default": []},
        "change": {"type": "str", "default": ""},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    wanted, layout = module.params["units"], Layout()
    host = Host(layout)
    try:
        names = sorted({*host.own_units(), *host.units_with_history()})
        there = host.observe([name for name in names if not wanted or name in wanted])
    except (OSError, ValueError, systemd.SystemdError) as error:
        module.fail_json(msg=f"cannot read this host's services: {error}")
    change = module.params["change"]
    module.exit_json(changed=False, units={unit: describe(one, layout, change) for unit, one in there.items()})


if __name__ == "__main__":
    main()
