#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CANN and ATB on a host: found, and their environment proven."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: cann
short_description: Find CANN and ATB, and prove the environment that they give to a service
version_added: 0.1.0
description:
  - Sources what services source, in the same way as their C(launch.sh) and in an empty environment, and sees that
    C(ASCEND_HOME_PATH) and C(ATB_HOME_PATH) are set to directories that exist. A script of the vendor that returns 0
    proves nothing.
  - Without O(services) it sources what it finds. The toolkit is looked for in C(/usr/local/Ascend/ascend-toolkit),
    C(/usr/local/Ascend/cann), C(/usr/local/Ascend/cann-VERSION) (newest first), where
    C(/etc/Ascend/ascend_cann_install.info) says, and in C(Ascend) in the home of the user; ATB in C(nnal/atb) there.
    A link that leads nowhere is refused by name.
  - Starts nothing that it leaves running, and changes nothing.
options:
  services:
    description:
      - Services of the plan for this host, as C(plan.json) has them. Used are C(unit), C(source) and C(argv). Services
        without C(source), such as routers, need no CANN.
    type: list
    elements: dict
  toolkit:
    description: The toolkit's C(set_env.sh), its directory or its prefix. Nothing else is looked at then.
    type: path
  atb:
    description: The same for ATB.
    type: path
  python:
    description: The engine's python, where there are no O(services) that name it.
    type: str
    default: python3
  cxx_abi:
    description:
      - Pins the C++ ABI that ATB is told. Not set, the torch of the engine's own python decides.
      - With O(services) the plan decides (setting C(sglang_cxx_abi)); another value here is refused.
    type: str
    choices: ['0', '1']
  user:
    description: The account that runs the services. Not set means the one that this module runs as.
    type: str
  timeout:
    description: Seconds that sourcing may take, all scripts of a service together.
    type: int
    default: 60
  strict:
    description: Whether warnings are errors.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: It changes nothing in either mode.
  diff_mode:
    support: none
    description: It changes nothing.
  platform:
    support: full
    description: The platforms it is for.
    platforms: linux
author:
  - ascend.sglang contributors (@ascend-sglang)
"""

EXAMPLES = r"""
- name: Prove what the services of this host will source
  ascend.sglang.cann:
    services: "{{ plan.services | selectattr('host', 'eq', inventory_hostname) }}"

- name: Find CANN under a prefix of one's own
  ascend.sglang.cann:
    toolkit: /opt/my ascend/cann
    atb: /opt/my ascend/nnal/atb/set_env.sh
    cxx_abi: '1'
"""

RETURN = r"""
toolkit:
  description: The CANN toolkit, or null. C(path) of its script, C(version) (null when no file says it), C(home).
  returned: always
  type: dict
  sample: {path: /usr/local/Ascend/cann/set_env.sh, home: /usr/local/Ascend/cann-9.0.0, version: 9.0.0}
atb:
  description: The same of ATB.
  returned: always
  type: dict
proofs:
  description: What sourcing gave, one entry for each way in which services source.
  returned: success
  type: list
  elements: dict
  contains:
    units:
      description: The services.
      type: list
      elements: str
    sources:
      description: The scripts.
      type: list
      elements: str
    variables:
      description: C(ASCEND_HOME_PATH) and C(ATB_HOME_PATH).
      type: dict
    notes:
      description: What C(launch.sh) will say when it sources them.
      type: list
      elements: str
problems:
  description: What is odd but does not hinder, a sentence each.
  returned: success
  type: list
  elements: str
kept_out:
  description:
    - Variables in the host's defaults (C(/etc/environment), C(/etc/profile.d), systemd's C(DefaultEnvironment)) that
      units and C(launch.sh) keep out of services, each with its file.
  returned: success
  type: list
  elements: str
  sample: ["http_proxy (/etc/environment)"]
"""

import glob
import os
import pwd
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import cann, cann_proof, plan_service

_DEFAULTS = (
    "/etc/environment",
    "/etc/profile",
    "/etc/profile.d/*.sh",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/environment.d/*.conf",
    "/etc/systemd/system.conf",
    "/etc/systemd/system.conf.d/*.conf",
)


def read_defaults() -> list[tuple[str, str]]:
    """(path, text) of the files that give variables to whoever logs in, or to all services."""
    found = []
    for path in [path for pattern in _DEFAULTS for path in sorted(glob.glob(pattern))]:
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                found.append((path, stream.read()))
        except OSError:
            continue
    return found


def sentence(problem: dict[str, str]) -> str:
    """A problem of ``cann.find`` as text."""
    return f"{problem['what']} {problem['do']}"


def wanted_cases(params: dict[str, Any], found: dict[str, Any]) -> list[cann_proof.Case]:
    """What has to be proven: the services' way, or that of what was found."""
    if params["services"] is None:
        sources = tuple(found[part]["path"] for part in ("toolkit", "atb") if found[part])
        return [cann_proof.Case(sources, params["python"], ())] if sources else []
    services = plan_service.parse_all(params["services"])
    wanted = cann_proof.cases((one.unit, one.source, one.python, one.cxx_abi) for one in services)
    pin = params["cxx_abi"]
    other = next((case for case in wanted if pin is not None and case.cxx_abi != pin), None)
    if other is not None:
        # launch.sh has what the plan says; another proof would prove nothing.
        raise ValueError(
            f"cann_cxx_abi is {pin}, and the plan has {other.cxx_abi or 'no pin'} for {other.name}: leave it out, and "
            "set sglang_cxx_abi, which every service gets"
        )
    return wanted


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "services": {"type": "list", "elements": "dict"},
            "toolkit": {"type": "path"},
            "atb": {"type": "path"},
            "python": {"type": "str", "default": "python3"},
            "cxx_abi": {"type": "str", "choices": ["0", "1"]},
            "user": {"type": "str"},
            "timeout": {"type": "int", "default": 60},
            "strict": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    if params["timeout"] < 1:
        module.fail_json(msg=f"cann: timeout is {params['timeout']}; it must be at least 1 second")
    try:
        account = pwd.getpwnam(params["user"]) if params["user"] else pwd.getpwuid(os.geteuid())
    except KeyError:
        module.fail_json(msg=f"cann: there is no account {params['user']} on this host, which is to run the services")
    found = cann.find(toolkit=params["toolkit"], atb=params["atb"], homes=[account.pw_dir])
    try:
        wanted = wanted_cases(params, found)
        texts = [cann_proof.script(case, params["cxx_abi"]) for case in wanted]
    except ValueError as error:
        module.fail_json(msg=f"cann: {error}")
    # Without a service that sources it, nobody needs it.
    problems = found["problems"] if wanted or params["services"] is None else []
    errors = [sentence(problem) for problem in problems if problem["level"] == "error"]
    warnings = [sentence(problem) for problem in problems if problem["level"] != "error"]
    proofs = []
    failed = []
    for case, text in zip(wanted, texts):
        proof = cann_proof.prove(text, case.python, params["user"], params["timeout"])
        verdict = cann_proof.judge(case, proof)
        failed += verdict.errors
        warnings += verdict.warnings
        proofs.append(
            {
                "units": list(case.units),
                "sources": list(case.sources),
                "variables": verdict.variables,
                "notes": verdict.notes,
            }
        )
    result = {"toolkit": found["toolkit"], "atb": found["atb"]}
    if failed or (errors and params["services"] is None):
        # What was not found says why a service's script is missing.
        module.fail_json(msg="cann: " + " ".join(failed + errors), **result)
    if warnings and params["strict"]:
        module.fail_json(msg="cann is strict: " + " ".join(warnings), **result)
    kept_out = cann_proof.defaults_that_are_kept_out(read_defaults())
    module.exit_json(changed=False, proofs=proofs, problems=warnings, kept_out=kept_out, **result)


if __name__ == "__main__":
    main()
