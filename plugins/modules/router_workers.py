#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workers of a running router."""

from __future__ import annotations

DOCUMENTATION = r"""
module: router_workers
short_description: Take workers out of a running router, put them back, or list them
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Uses the router's own interface (C(/workers)), as sglang-router 0.3.2 has it. The router goes on serving.
  - A worker that is taken out gets no new request at once; what it has already been sent is answered. The module waits
    for that, up to O(drain_timeout), by asking the worker for its load.
  - mini-lb has no such interface. RV(supported) is V(false) then, and nothing is changed.
  - Runs on the router's host. The API key is read there, from the unit's C(secrets.env), and appears nowhere.
options:
  url:
    description:
      - Where the router listens.
    type: str
    required: true
  unit:
    description:
      - The router's unit, whose secret O(secret) is the API key of router and workers. A unit without it has none.
    type: str
  secret:
    description:
      - The name of that secret.
    type: str
    default: api_key
  workers:
    description:
      - Workers, each a mapping with C(url), and for O(state=present) C(kind) (V(prefill), V(decode) or V(regular), the
        default) and for prefill C(bootstrap), the port of its bootstrap server.
    type: list
    elements: dict
    default: []
  state:
    description:
      - V(absent) takes O(workers) out and waits until they have no request left.
      - V(present) puts in those that are missing and waits until the router finds all of O(workers) healthy.
      - V(listed) changes nothing. It never fails; RV(error) says why nothing could be listed.
    type: str
    choices: [present, absent, listed]
    default: listed
  spare:
    description:
      - With O(state=absent) refuse to take out workers when no healthy one of their kind would be left.
    type: bool
    default: false
  drain_timeout:
    description:
      - Seconds to wait for the requests that a worker still has.
    type: float
    default: 120
  timeout:
    description:
      - Seconds for the router to do what it accepted. It asks a new worker about every five seconds.
    type: float
    default: 120
attributes:
  check_mode:
    support: full
    description: Says which workers would be put in or taken out.
  diff_mode:
    support: none
    description: The result lists the workers.
  platform:
    support: full
    description: The router's host.
    platforms: posix
seealso:
  - module: ascend.sglang.service
"""

EXAMPLES = r"""
- name: Take a decode instance out before it restarts
  ascend.sglang.router_workers:
    url: http://192.0.2.31:6688
    unit: sglang-router
    workers: [{url: "http://192.0.2.21:8001"}]
    state: absent
    spare: true
"""

RETURN = r"""
supported:
  description: Whether the router has this interface; V(false) for mini-lb.
  returned: always
  type: bool
names:
  description: The URLs that were put in or taken out, or in check mode would be.
  returned: always
  type: list
  elements: str
workers:
  description: The router's workers afterwards, each with C(url), C(kind), C(healthy) and C(load).
  returned: always
  type: list
  elements: dict
error:
  description: Why a router could not be asked, with O(state=listed); else empty.
  returned: always
  type: str
left:
  description: By URL how many requests a worker still had when O(drain_timeout) was over; empty when none had.
  returned: always
  type: dict
readiness:
  description: What C(/readiness) of the router says; empty for mini-lb.
  returned: always
  type: str
seconds:
  description: How long it took.
  returned: always
  type: float
at:
  description: The host's clock when the module began, in seconds since 1970.
  returned: always
  type: float
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import router_api, secrets_file
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout


def argument_spec() -> dict[str, Any]:
    """The options, as DOCUMENTATION describes them."""
    return {
        "url": {"type": "str", "required": True},
        "unit": {"type": "str"},
        # The name of a secret is none.
        "secret": {"type": "str", "default": "api_key", "no_log": False},
        "workers": {"type": "list", "elements": "dict", "default": []},
        "state": {"type": "str", "choices": ["present", "absent", "listed"], "default": "listed"},
        "spare": {"type": "bool", "default": False},
        "drain_timeout": {"type": "float", "default": 120.0},
        "timeout": {"type": "float", "default": 120.0},
    }


def change(router: router_api.Router, params: dict[str, Any], write: bool) -> dict[str, Any]:
    """Do what the options ask for, and tell it as the module returns it."""
    wanted = [router_api.worker(one) for one in params["workers"]]
    urls = [one.url for one in wanted]
    before = router.workers()
    if before is None:
        return {**router_api.NOTHING, "error": ""}
    have = [one.url for one in before]
    names: list[str] = []
    left: dict[str, int] = {}
    if params["state"] == "absent":
        names = [url for url in urls if url in have]
        alone = router_api.alone(before, names) if params["spare"] else []
        if alone:
            raise router_api.RouterError(
                f"the router has no healthy {' and no healthy '.join(alone)} worker besides {', '.join(names)}, so "
                "that requests would fail without it. Nothing was changed. Look at the others with status.yml first."
            )
        if write and names:
            router.remove(names, params["timeout"])
            left = router.drain(names, params["drain_timeout"])
    elif params["state"] == "present":
        names = [url for url in urls if url not in have]
        if write:
            router.add(wanted, params["timeout"])
    workers = (router.workers() or []) if write and names else before
    return {
        "changed": bool(names),
        "supported": True,
        "names": names,
        "workers": [one.plain() for one in workers],
        "left": left,
        "error": "",
        "readiness": router.readiness(),
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    at, began = time.time(), time.monotonic()
    try:
        key = secrets_file.value(Layout(), params["unit"], params["secret"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot read the API key of {params['unit']}: {error}")
    if key:
        module.no_log_values.add(key)
    router = router_api.Router(params["url"], key)
    try:
        result = (
            router_api.listed(router) if params["state"] == "listed" else change(router, params, not module.check_mode)
        )
    except router_api.RouterError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result, at=at, seconds=round(time.monotonic() - began, 1))


if __name__ == "__main__":
    main()
