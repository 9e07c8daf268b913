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
  - Takes a fraction of a second. The service's python is asked for its packages, 20 seconds at most.
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
      - Python packages whose versions are asked for.
    type: list
    elements: str
    default: [sglang, sglang-router]
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
          (digest of the configuration on disk) and C(running) (the digest that its process was started with, or null).
      type: dict
      returned: always
"""

import json
import os
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import (
    cann,
    commands,
    interfaces,
    listeners,
    systemd,
    unit_file,
)
from ansible_collections.ascend.sglang.plugins.module_utils.host import Host
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Observed

_PYTHON_SECONDS = 20.0

# Asked of the metadata: importing an engine takes seconds and may touch devices.
_ASK_PACKAGES = """
import importlib.metadata, json, platform, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps({"version": platform.python_version(), "packages": found}))
"""


def argument_spec() -> dict[str, Any]:
    """The options, as DOCUMENTATION describes them."""
    return {
        "paths": {"type": "list", "elements": "str", "default": []},
        "python": {"type": "str", "default": "python3"},
        "packages": {"type": "list", "elements": "str", "default": ["sglang", "sglang-router"]},
        "resolve": {"type": "list", "elements": "str", "default": []},
        "cann_toolkit": {"type": "path"},
        "cann_atb": {"type": "path"},
    }


def look_at_python(name: str, packages: list[str], ask: commands.Run = commands.run) -> dict[str, Any]:
    """The python of the services, and the versions of its packages."""
    path = shutil.which(name, path=unit_file.SEARCH_PATH)
    found: dict[str, Any] = {"path": path, "version": "", "packages": {}, "error": ""}
    if path is None:
        where = "" if "/" in name else f" in {unit_file.SEARCH_PATH}"
        found["error"] = f"{name} is no executable file{where}"
        return found
    # A virtual environment is known by the path it is called by; links must not be resolved.
    answer = ask([path, "-c", _ASK_PACKAGES, *packages], _PYTHON_SECONDS)
    try:
        return {**found, **json.loads(answer.out)}
    except ValueError:
        return {**found, "error": systemd.explain(answer)}


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


def look_at_units(host: Host) -> dict[str, Any]:
    """This collection's units on the host."""
    return {unit: describe(there) for unit, there in host.observe(host.own_units()).items()}


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


def machine_id(path: str = "/etc/machine-id") -> str:
    """The machine's own id."""
    try:
        with open(path, encoding="ascii") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    try:
        # Two of them wait for other programs, and one for a resolver: together they take as long as the slowest.
        with ThreadPoolExecutor(max_workers=4) as pool:
            python = pool.submit(look_at_python, params["python"], params["packages"])
            units = pool.submit(look_at_units, Host(Layout()))
            links = pool.submit(interfaces.interfaces)
            resolved = pool.submit(lambda: {name: resolve(name) for name in params["resolve"]})
            facts = {
                "hostname": socket.gethostname(),
                "machine_id": machine_id(),
                "paths": {path: look_at_path(path) for path in params["paths"]},
                "cann": cann.find(toolkit=params["cann_toolkit"], atb=params["cann_atb"]),
                "listeners": [
                    {key: getattr(one, key) for key in ("address", "port", "pid", "command", "unit")}
                    for one in listeners.listening()
                ],
                "interfaces": links.result(),
                "units": units.result(),
                "python": python.result(),
                "resolved": resolved.result(),
            }
    except (OSError, systemd.SystemdError) as error:
        module.fail_json(msg=f"cannot look at this host: {error}")
    module.exit_json(changed=False, facts=facts)


if __name__ == "__main__":
    main()
