#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a host's services, now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_status
short_description: How far the services of this host are, now
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Asks systemd, the services themselves and their logs how they are, once, in about a second. It waits for nothing;
    M(ascend.sglang.wait_ready) calls it again and again.
  - Requests ignore proxies and have a time limit of their own.
options:
  services:
    description:
      - Services of a plan on this host, as C(plan.json) has them. C(unit), C(role), C(url) and C(guard.url) are read.
    type: list
    elements: dict
    required: true
  restarts:
    description:
      - By unit the RV(services[].restarts) of an earlier call. A unit that has more by now died since, and is reported
        as dead although it runs again.
    type: dict
    default: {}
  health_timeout:
    description:
      - Seconds for a request to a service. A healthy engine takes one; one that is crashing accepts and never answers.
    type: float
    default: 3.0
  log_lines:
    description:
      - How many of the last lines of its log a service that is not ready comes with.
    type: int
    default: 20
  details:
    description:
      - Whether to ask a server that is ready for its version and mode as well, with the API key that is in its
        C(secrets.env).
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: It only looks.
  diff_mode:
    support: none
    description: It changes nothing.
  platform:
    support: full
    description: Linux with systemd 249 or later.
    platforms: posix
seealso:
  - module: ascend.sglang.wait_ready
"""

EXAMPLES = r"""
- name: Look at the services of this host
  ascend.sglang.service_status:
    services: "{{ __plan.services | selectattr('host', 'eq', inventory_hostname) }}"
  register: __status
"""

RETURN = r"""
services:
  description: One entry per service, in the order of O(services).
  returned: always
  type: list
  elements: dict
  contains:
    unit:
      description: Its unit.
      type: str
      returned: always
    ready:
      description:
        - Whether it serves. Of rank 0 of an instance it is what C(/health) says, of a higher rank only that its node
          has loaded, of a router what C(/readiness) says (C(/health) of a mini-lb, which proves nothing). The port must
          be held by the unit itself.
      type: bool
      returned: always
    phase:
      description:
        - V(starting), V(waiting for its other ranks), V(loading 70/163 shards), V(loaded), V(capturing graphs 2/5),
          V(warming up), V(waiting for its workers), V(ready), V(stopping), V(stopped), V(not installed), V(dead), or
          who holds its port.
      type: str
      returned: always
    health:
      description: What it answered, in words; empty when it was not asked.
      type: str
      returned: always
    active:
      description: systemd's state.
      type: str
      returned: always
    sub:
      description: The finer state.
      type: str
      returned: always
    pid:
      description: Its main process, or 0.
      type: int
      returned: always
    invocation:
      description: systemd's id of this run.
      type: str
      returned: always
    restarts:
      description: How often systemd has started it again since it was started by hand or by a deployment.
      type: int
      returned: always
    since:
      description: Since when the unit is in its state, as systemd writes it.
      type: str
      returned: always
    version:
      description: The version that the server says it has, with O(details); empty where it does not tell.
      type: str
      returned: always
    mode:
      description: V(prefill), V(decode) or V(mixed), as the server says, with O(details); else empty.
      type: str
      returned: always
    guard:
      description: What its guard answers, or C(error), with O(details); null where it has none or was not asked.
      type: dict
      returned: always
    dead:
      description: Whether it has ended; RV(services[].phase) says whether it died or was stopped.
      type: bool
      returned: always
    ending:
      description: How its last process ended, when it is dead.
      type: str
      returned: always
    cause:
      description: Why it died and what to do, as far as its log tells.
      type: str
      returned: always
    log:
      description: The last lines of its log (of the run that died, when it is dead); empty when it is ready.
      type: list
      elements: str
      returned: always
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import plan_service, readiness, secrets_file, systemd
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout


def argument_spec() -> dict[str, Any]:
    """The options, as DOCUMENTATION describes them."""
    return {
        "services": {"type": "list", "elements": "dict", "required": True},
        "restarts": {"type": "dict", "default": {}},
        "health_timeout": {"type": "float", "default": 3.0},
        "log_lines": {"type": "int", "default": 20},
        "details": {"type": "bool", "default": False},
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    try:
        services = plan_service.parse_watched(params["services"])
        restarts = {str(unit): int(number) for unit, number in params["restarts"].items()}
        keys: dict[str, str | None] | None = None
        if params["details"]:
            keys = {one.unit: secrets_file.value(Layout(), one.unit, "api_key") for one in services}
            module.no_log_values.update(key for key in keys.values() if key)
        look = (services, restarts, params["health_timeout"], params["log_lines"])
        found = readiness.look(*look, keys=keys)
    except OSError as error:
        module.fail_json(msg=f"cannot read the API key: {error}")
    except (plan_service.PlanServiceError, systemd.SystemdError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, services=[one.plain() for one in found])


if __name__ == "__main__":
    main()
