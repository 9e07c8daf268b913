#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a host knows, for the second compilation of a plan and for its checks."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
short_description: What only this host knows, in one quick look
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Looks at what a plan cannot know from the inventory, and returns it under RV(facts). Nothing is set as a fact of the
    host, nothing is judged, nothing is changed.
  - Takes a fraction of a second. The service's python and the vendor's tools are asked 20 seconds at most.
  - With O(preflight) it also looks at what could keep the services of a plan from working, and starts throw-away
    listeners on their ports for M(ascend.sglang.preflight_connect). All of them are one process, which ends when every
    host that was to come was there, after O(preflight.seconds) at the latest, or when the next run of this module
    replaces it. It leaves no file.
options:
  paths:
    description:
      - Files or directories to look for, such as the model's.
    type: list
    elements: str
    default: []
  python:
    description:
      - The python that runs the services, as a plan has it; a name is looked up in the units' search path.
    type: str
    default: python3
  packages:
    description:
      - Python packages whose versions are asked for. One that is there without metadata has an empty version.
    type: list
    elements: str
    default: [sglang, sglang-router, torch, torch-npu, memfabric-hybrid, memfabric-zbal]
  preflight:
    description:
      - What to look at besides for a preflight, as the return value RV(ascend.sglang.plan#module:questions) has it.
    type: dict
    suboptions:
      name:
        description: The host's name in the inventory, which its throw-away listeners say.
        type: str
        required: true
      users:
        description: Accounts that run services here, which the python is asked as. Empty, a user made by systemd.
        type: list
        elements: str
        default: []
      weights:
        description: Directories of model weights.
        type: list
        elements: str
        default: []
      npus:
        description: Whether services here use NPUs.
        type: bool
        default: false
      links:
        description: Numbers of the NPUs whose links to other hosts are asked for.
        type: list
        elements: int
        default: []
      directories:
        description: Directories in which services write.
        type: list
        elements: str
        default: []
      listen:
        description:
          - Throw-away listeners. A port of a service that runs, or is about to, is left to it.
        type: list
        elements: dict
        default: []
        suboptions:
          address:
            description: The own address that the others use, or a name for it.
            type: str
            required: true
          port:
            description: The port.
            type: int
            required: true
          unit:
            description: The service that is to listen there.
            type: str
            required: true
          lasting:
            description: Whether it listens there all the time that it runs, and the unit file says so.
            type: bool
            required: true
          expect:
            description: Names of the hosts that will come.
            type: list
            elements: str
            required: true
      token:
        description: What tells this run's visitors from those of another.
        type: str
        default: ""
      seconds:
        description: For how long the throw-away listeners stay at the most.
        type: int
        default: 20
  ready:
    description:
      - Whether to ask the services that run whether they are ready, which takes an engine a second.
    type: bool
    default: false
  workers:
    description:
      - Whether to ask a router for its workers.
    type: bool
    default: false
  tuning:
    description:
      - Options of M(ascend.sglang.host_tuning) but for its state. Given, the host says what that module would do with
        them and with the variables of the role C(host_tuning) (C(host_tuning_swappiness) and so on) that the host has.
        Those of the command line come before these options.
    type: dict
  resolve:
    description:
      - Host names that this host's resolver is asked for.
    type: list
    elements: str
    default: []
  cann_toolkit:
    description:
      - The toolkit's C(set_env.sh), its directory or its prefix, where it is not found by itself.
    type: path
  cann_atb:
    description:
      - The same for ATB.
    type: path
  cann_user:
    description:
      - The account that runs the services, in whose home they are looked for last. Not set means those that
        O(preflight.users) names, else the one that this module runs as.
    type: str
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
"""

EXAMPLES = r"""
- name: Look at the host
  ascend.sglang.host_facts:
    paths: [/models/deepseek-r1-w8a8]
    python: /usr/bin/python3
  register: __host
"""

RETURN = r"""
facts:
  description: What the host knows.
  returned: always
  type: dict
  contains:
    hostname:
      description: Its own name.
      type: str
      returned: always
    machine_id:
      description: Its machine id; empty when it has none.
      type: str
      returned: always
    interfaces:
      description:
        - Network interfaces by name, each with C(addresses) (IPv4 and IPv6, without prefix length), C(up) (on, with
          carrier), C(loopback) and C(mtu).
      type: dict
      returned: always
    resolved:
      description: Addresses by the names in O(resolve); empty for a name that does not resolve.
      type: dict
      returned: always
    paths:
      description: By path whether it C(exists), is a C(directory), is an C(empty) one, and is C(readable).
      type: dict
      returned: always
    python:
      description:
        - C(path), absolute, or null when there is no such executable; C(version); C(packages), versions by name of
          those that are installed; C(error), why it could not be asked, or empty.
      type: dict
      returned: always
    cann:
      description:
        - C(toolkit) and C(atb), each null or with C(path), C(version) and C(home), and C(problems), as found on the
          host.
      type: dict
      returned: always
    listeners:
      description: Listening TCP sockets, each with C(address), C(port), C(pid), C(command) and C(unit).
      type: list
      elements: dict
      returned: always
    units:
      description:
        - Units of this collection on the host by name, each with C(role), C(instance), C(rank), C(nodes), C(url),
          C(ports), C(active), C(sub), C(enabled), C(restarts), C(invocation), C(files) (SHA-256 by path), C(launch)
          (digest of the configuration on disk), C(running) (the digest that its process was started with, or null),
          C(npus) (first and last NPU of a server by the record on disk; null where what runs is older),
          C(ready) (with O(ready), of one that runs, else null), C(router) (with O(workers), of a router, as
          M(ascend.sglang.router_workers) returns it, else null), and C(seen), which the controller compares with a
          plan.
      type: dict
      returned: always
    tuning:
      description:
        - With O(tuning), else null. C(changed), whether the module would change anything; C(error), why it would fail,
          or empty; C(variable), whether that is for a value of a variable, not for the host; C(warnings), what it would
          warn of; C(reserved), the ports that it keeps for services.
      type: dict
      returned: always
    began:
      description: The host's clock when the look at it began, in seconds since 1970.
      type: float
      returned: always
    time:
      description: The host's clock when the look had ended, in seconds since 1970.
      type: float
      returned: always
    interpreter:
      description: The python that ran the module.
      type: str
      returned: always
    npu_group:
      description: Whether the host has the group of the NPU devices.
      type: bool
      returned: always
    uid:
      description: Number of the account that the module ran as.
      type: int
      returned: always
    preflight:
      description:
        - With O(preflight). C(npu_smi), C(hccn), C(driver), C(devices), C(accounts), C(weights) by directory, C(shm),
          C(disks), C(limits), C(ports), and C(throwaway), by port an empty text where a listener was started, else why
          not.
      type: dict
      returned: when asked for
tuning:
  description: O(tuning) as it was given.
  returned: when asked for
  type: dict
clock:
  description: C(before) and C(after), the controller's clock around the look at this host.
  returned: always
  type: dict
"""

import json
import os
import pwd
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import (
    ascend_driver,
    cann,
    hccn_tool,
    host_room,
    interfaces,
    listeners,
    npu_smi,
    seen,
    service_python,
    systemd,
    throwaway,
    weights,
)
from ansible_collections.ascend.sglang.plugins.module_utils.host import Host
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Observed

_PACKAGES = ("sglang", "sglang-router", "torch", "torch-npu", "memfabric-hybrid", "memfabric-zbal")


def argument_spec() -> dict[str, Any]:
    """The options, as DOCUMENTATION describes them."""
    return {
        "paths": {"type": "list", "elements": "str", "default": []},
        "python": {"type": "str", "default": "python3"},
        "packages": {"type": "list", "elements": "str", "default": list(_PACKAGES)},
        "preflight": {
            "type": "dict",
            "options": {
                "name": {"type": "str", "required": True},
                "users": {"type": "list", "elements": "str", "default": []},
                "weights": {"type": "list", "elements": "str", "default": []},
                "npus": {"type": "bool", "default": False},
                "links": {"type": "list", "elements": "int", "default": []},
                "directories": {"type": "list", "elements": "str", "default": []},
                "listen": {
                    "type": "list",
                    "elements": "dict",
                    "default": [],
                    "options": {
                        "address": {"type": "str", "required": True},
                        "port": {"type": "int", "required": True},
                        "unit": {"type": "str", "required": True},
                        "lasting": {"type": "bool", "required": True},
                        "expect": {"type": "list", "elements": "str", "required": True},
                    },
                },
                "token": {"type": "str", "default": "", "no_log": False},
                "seconds": {"type": "int", "default": 20},
            },
        },
        "ready": {"type": "bool", "default": False},
        "workers": {"type": "bool", "default": False},
        "tuning": {"type": "dict"},
        "resolve": {"type": "list", "elements": "str", "default": []},
        "cann_toolkit": {"type": "path"},
        "cann_atb": {"type": "path"},
        "cann_user": {"type": "str"},
    }


def look_at_path(path: str) -> dict[str, bool]:
    """What is at a path. A mount that is missing shows as an empty directory."""
    directory = os.path.isdir(path)
    empty = False
    if directory:
        try:
            with os.scandir(path) as entries:
                empty = next(entries, None) is None
        except OSError:  # not ours to read, or a mount whose server is gone
            return {"exists": True, "directory": True, "empty": False, "readable": False}
    return {
        "exists": os.path.exists(path),
        "directory": directory,
        "empty": empty,
        "readable": os.access(path, os.R_OK),
    }


def resolve(name: str) -> list[str]:
    """The addresses that this host's resolver gives for a name."""
    try:
        answers = socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP)
    except OSError:
        return []
    return list(dict.fromkeys(str(answer[4][0]).partition("%")[0] for answer in answers))


def ask_for_health(host: Host, pool: ThreadPoolExecutor) -> Any:
    """Ask this collection's services whether they are ready; the requests, as a health.Begun."""
    # What speaks HTTP takes a while to load, as does what knows engines' logs.
    from ansible_collections.ascend.sglang.plugins.module_utils import health

    return health.begin(host.declared(), pool)


def look_at_units(host: Host, begun: Any, ask_workers: bool) -> dict[str, Any]:
    """This collection's units on the host; `begun` as ask_for_health gives it, None where nobody asks for readiness."""
    there = host.observe(host.own_units())
    ready, routers = {}, {}
    if begun is not None or ask_workers:
        from ansible_collections.ascend.sglang.plugins.module_utils import serving

        ready = {} if begun is None else serving.ready(there, begun)
        routers = serving.routers(host.layout, there) if ask_workers else {}
    return {
        unit: {
            **describe(one),
            "npus": npus_of(one, host.layout),
            "ready": ready.get(unit),
            "router": routers.get(unit),
            "seen": seen.plain(one),
        }
        for unit, one in there.items()
    }


def describe(there: Observed) -> dict[str, Any]:
    """One unit as the return value has it."""
    facts = there.facts or {}
    numbers = {key: int(facts[key]) if facts.get(key, "").isdigit() else None for key in ("instance", "rank", "nodes")}
    ports = dict(pair.partition(":")[::2] for pair in facts.get("ports", "").split())
    return {
        "role": facts.get("role", ""),
        **numbers,
        "url": facts.get("url") or None,
        "ports": {name: int(port) for name, port in ports.items()},
        "active": there.state.active,
        "sub": there.state.sub,
        "enabled": there.state.enabled,
        "restarts": there.state.restarts,
        "invocation": there.state.invocation,
        "files": {path: found.sha256 for path, found in sorted(there.files.items())},
        "launch": facts.get("launch") or None,
        "running": there.launch,
    }


def npus_of(there: Observed, layout: Layout) -> list[int] | None:
    """First and last NPU of a server by its record; None where that is gone, or newer than the process that runs."""
    record = there.files.get(layout.service(there.unit))
    if record is None or there.facts is None or there.launch not in (None, there.facts.get("launch")):
        return None
    try:
        span = json.loads(record.text).get("npus")
    except (ValueError, AttributeError):
        return None
    return span if isinstance(span, list) and len(span) == 2 else None


def look_at_tuning(options: dict[str, Any]) -> dict[str, Any]:
    """What host_tuning would do with these options."""
    # Only who asks for it pays for loading it.
    from ansible_collections.ascend.sglang.plugins.module_utils import tuning_options

    return tuning_options.look(options)


def machine_id(path: str = "/etc/machine-id") -> str:
    """The machine's own id."""
    try:
        with open(path, encoding="ascii") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def account(name: str) -> dict[str, Any] | None:
    """A user's ``uid`` and the ``groups`` that it is in; None where there is no such user."""
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        return None
    return {"uid": user.pw_uid, "groups": sorted(os.getgrouplist(name, user.pw_gid))}


def look_for_preflight(asked: dict[str, Any], pool: ThreadPoolExecutor) -> dict[str, Callable[[], Any]]:
    """What the preflight asks, begun; each part is called for its result."""
    smi = pool.submit(npu_smi.look) if asked["npus"] else None
    links = pool.submit(hccn_tool.look, asked["links"]) if asked["links"] else None
    shards = {path: pool.submit(weights.look, path) for path in asked["weights"]}
    room = host_room.look(asked["directories"])
    return {
        "npu_smi": lambda: smi.result() if smi else None,
        "hccn": lambda: links.result() if links else None,
        "driver": lambda: ascend_driver.look() if asked["npus"] else None,
        "devices": lambda: ascend_driver.devices() if asked["npus"] else None,
        "accounts": lambda: {user: account(user) for user in asked["users"] if user != service_python.DYNAMIC_USER},
        "weights": lambda: {path: one.result() for path, one in shards.items()},
        **{name: lambda value=value: value for name, value in room.items()},
    }


def look_at_listeners(ports: list[int] | None = None) -> list[dict[str, Any]]:
    """Listening sockets as the return value has them, of these ports or of all."""
    keys = ("address", "port", "pid", "command", "unit")
    found = [] if ports == [] else listeners.listening(ports)
    return [{key: getattr(one, key) for key in keys} for one in found]


def start_listeners(asked: dict[str, Any], units: dict[str, Any]) -> dict[int, str]:
    """Throw-away listeners where no service of ours is in the way; by port why there is none, or an empty text."""
    wanted = [one for one in asked["listen"] if not in_use(one, units)]
    listeners = [throwaway.Listener(one["address"], one["port"], tuple(one["expect"])) for one in wanted]
    return throwaway.listen(asked["name"], listeners, asked["seconds"], asked["token"])


def in_use(wanted: dict[str, Any], units: dict[str, Any]) -> bool:
    """Whether a service that runs, or is about to, has the port. One that loads its model has not opened it yet."""
    unit = units.get(wanted["unit"])
    if unit is None or unit["active"] not in ("active", "activating", "deactivating", "reloading"):
        return False
    return not wanted["lasting"] or wanted["port"] in unit["ports"].values()


def main() -> None:
    """Run the module."""
    began = time.time()
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    asked = params["preflight"]
    try:
        if asked:
            # Those of a run that was interrupted would look like somebody else's.
            throwaway.release()
        npu_group = ascend_driver.npu_group() is not None
        # Some wait for other programs, one for a resolver: together they take as long as the slowest.
        with ThreadPoolExecutor(max_workers=16) as pool:
            # First of all: a healthy engine takes a second to say so.
            host = Host(Layout())
            begun = ask_for_health(host, pool) if params["ready"] else None
            python = pool.submit(
                service_python.look_as,
                params["python"],
                params["packages"],
                asked["users"] if asked else [],
                asked["weights"] if asked else [],
                npu_group=npu_group,
            )
            units = pool.submit(look_at_units, host, begun, params["workers"])
            tuning = None if params["tuning"] is None else pool.submit(look_at_tuning, params["tuning"])
            links = pool.submit(interfaces.interfaces)
            resolved = pool.submit(lambda: {name: resolve(name) for name in params["resolve"]})
            more = look_for_preflight(asked, pool) if asked else {}
            there = look_at_listeners()
            facts = {
                "hostname": socket.gethostname(),
                "machine_id": machine_id(),
                "interpreter": sys.executable,
                "npu_group": npu_group,
                "uid": os.geteuid(),
                "paths": {path: look_at_path(path) for path in params["paths"]},
                "cann": cann.find(
                    toolkit=params["cann_toolkit"],
                    atb=params["cann_atb"],
                    homes=cann.homes_of(
                        [params["cann_user"]] if params["cann_user"] else asked["users"] if asked else []
                    ),
                ),
                "listeners": there,
                "interfaces": links.result(),
                "units": units.result(),
                "python": python.result(),
                "resolved": resolved.result(),
                "tuning": tuning.result() if tuning else None,
            }
            if asked:
                facts["preflight"] = {name: result() for name, result in more.items()}
        if asked:
            throw_away = start_listeners(asked, facts["units"])
            facts["preflight"]["throwaway"] = throw_away
            taken = [port for port, why in throw_away.items() if why == throwaway.IN_USE]
            # Somebody may have begun to listen since the first look.
            facts["listeners"] += [one for one in look_at_listeners(taken) if one not in facts["listeners"]]
    except (OSError, systemd.SystemdError) as error:
        module.fail_json(msg=f"cannot look at this host: {error}")
    for line in facts["tuning"]["warnings"] if facts["tuning"] else []:
        module.warn(line)
    # Last of all: what lies between the two readings tells nothing of the clock.
    module.exit_json(changed=False, facts={**facts, "began": began, "time": time.time()})


if __name__ == "__main__":
    main()
