#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of a plan on one host, reconciled."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service
short_description: Run the services of a plan on this host, and nothing else of ours
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Makes a host run the services that a plan has for it. For each service there is a readable C(launch.sh), where it
    has secrets also a C(secrets.env) and a small launcher, and a systemd unit that is enabled at boot. A service that
    the plan guards has a guard beside it, a unit of its own that restarts it when the process that it belongs to on
    another host is a new one.
  - Compares what should be with what is (files, unit, start at boot, and the configuration that the running process
    was started with), and does only what differs. A service is restarted only when its running process was started
    with another configuration, or when O(restart) names it. Starting does not wait for the model to load.
  - Nothing is changed when a unit of that name exists that this collection did not make, or when a port of a service
    that would start is held by a process that is not one of the plan's services.
  - Units that this collection did not make, and their files, are never touched.
options:
  services:
    description:
      - Services of a plan for this host, as C(plan.json) has them under C(services). Each is a mapping with C(host),
        C(unit), C(role), C(instance), C(rank), C(nnodes), C(argv), C(env), C(unset), C(source), C(url), C(ports),
        C(port_ranges) and C(guard); other keys only go into C(service.json). A word of C(argv) may be a mapping of
        C(secret) to the name of a secret.
      - With O(state=stopped), O(state=halted) and O(state=absent) it may be left out; all units of this collection on
        the host are meant then (of O(roles) when given).
    type: list
    elements: dict
  roles:
    description:
      - Apply only the services of these roles. Empty means all of O(services).
    type: list
    elements: str
    choices: [prefill, decode, mixed, router, store]
    default: []
  units:
    description:
      - Apply only these of the services, such as those of one instance while the others serve. Empty means all.
      - RV(orphans) and O(prune) go by the whole list all the same.
    type: list
    elements: str
    default: []
  state:
    description:
      - V(started) is files, unit, started at boot and now.
      - V(stopped) is not running and not started at boot; files stay.
      - V(halted) is not running now; what starts it at boot stays. For services that are started again at once, such as
        the ranks of an instance, none of which may meet an old one.
      - V(absent) is no process, no unit and no file of it, earlier configurations included.
      - V(rolled_back) is the configuration from before O(change), or from before the last one, as this host has kept
        it. Units whose last change was another one stay as they are. A unit that was not there before the change is
        removed, one that the change removed comes back. O(services) is not needed, nor anything else that the files
        already say. The earlier configurations that are undone this way are forgotten, so that the next time it is the
        change before; deploying again is the way forward.
    type: str
    choices: [started, stopped, halted, absent, rolled_back]
    default: started
  user:
    description:
      - The account that runs the services; it must exist. Where the host has the group C(HwHiAiUser), which owns the
        NPU devices, an engine's account becomes its member for the service.
      - When left out, engines run as root (exported weights may be readable by root only) and routers as a dynamic
        user that exists only while the router runs.
    type: str
  stop_timeout:
    description:
      - Seconds from SIGTERM, after which an engine finishes the requests that it has, to SIGKILL. The engine's own
        waiting has no limit.
    type: int
    default: 120
  restart:
    description:
      - Units to restart although their own configuration stays, each with the reason, which completes the sentence
        "restart UNIT because ...".
    type: dict
    default: {}
  secrets:
    description:
      - Values of the secrets that the services name, by name. They are written to C(secrets.env) (mode 0600) on the
        host and appear in no command line, log, unit file or output.
    type: dict
    default: {}
  cxx_abi:
    description:
      - Pins the C++ ABI that ATB's script is told. When left out, the torch of the service's own python decides.
    type: str
    choices: ["0", "1"]
  prune:
    description:
      - Says that O(services) is all that this host should run, and removes the units of this collection that are not
        in it (see RV(orphans)). They are stopped before anything is started.
    type: bool
    default: false
  change:
    description:
      - With O(state=started), what the change is called under which the host keeps a configuration before it replaces
        it, in C(/var/lib/ascend-sglang/history/UNIT), readable by root only. The last five stay. Give the same name on
        all hosts of a deployment, and again when it is repeated after a failure; a digest of the plan will do.
      - With O(state=rolled_back), the change to undo. Left out, it is each unit's last one.
    type: str
    default: ""
  keep_logs:
    description:
      - With O(state=absent) and O(prune) keep C(/var/log/ascend-sglang/UNIT). The journal is always kept.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Says what it would do, from the same decisions, and changes nothing.
  diff_mode:
    support: full
    description: Shows the files before and after. The contents of C(secrets.env) are never shown.
  platform:
    support: full
    description: Linux with systemd 249 or later.
    platforms: posix
seealso:
  - module: ascend.sglang.wait_ready
  - module: ascend.sglang.host_facts
"""

EXAMPLES = r"""
- name: Run what the plan has for this host
  ascend.sglang.service:
    services: "{{ __plan.services | selectattr('host', 'eq', inventory_hostname) }}"
    prune: true

- name: Restart a service whose store was restarted
  ascend.sglang.service:
    services: "{{ __plan.services | selectattr('host', 'eq', inventory_hostname) }}"
    roles: [decode]
    restart:
      sglang-decode: the store on p1 restarts

- name: Leave nothing of this collection's services on the host
  ascend.sglang.service:
    state: absent
"""

RETURN = r"""
actions:
  description: What was done, or in check mode would be done, in order, each a sentence.
  returned: always
  type: list
  elements: str
  sample:
    - keep that there was no sglang-decode in /var/lib/ascend-sglang/history/sglang-decode/1
    - create /etc/ascend-sglang/sglang-decode/launch.sh
    - create /etc/ascend-sglang/sglang-decode/service.json
    - create /etc/systemd/system/sglang-decode.service
    - make systemd read its units again
    - enable sglang-decode at boot
    - start sglang-decode because it is new
units:
  description: What became of each unit, by its name.
  returned: always
  type: dict
  contains:
    action:
      description: V(start), V(restart), V(stop), V(remove) or V(none).
      type: str
      returned: always
    reason:
      description: Why it was started or restarted; empty otherwise.
      type: str
      returned: always
    guard:
      description: What became of its guard, in the words of RV(units.action). That is no action on the service.
      type: str
      returned: always
    changed:
      description: Whether anything of it was changed.
      type: bool
      returned: always
    state:
      description: The unit's state afterwards, such as V(active (running\)).
      type: str
      returned: always
    invocation:
      description: systemd's id of this run of the unit, afterwards; empty when it does not run.
      type: str
      returned: always
    previous_invocation:
      description: The same before.
      type: str
      returned: always
    launch:
      description: Digest of the configuration, as the environment of its process has it; with O(state=started).
      type: str
      returned: when started
    stop_seconds:
      description: How long its stop took.
      type: float
      returned: when stopped
orphans:
  description:
    - Units of this collection on the host that O(services) does not have. When O(roles) is given and O(prune) is not,
      only those of these roles, as the list need not be complete then.
  returned: with O(state=started)
  type: list
  elements: str
"""

import pwd
import sys
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import (
    ascend_driver,
    files,
    listeners,
    plan_service,
    reconcile,
    secrets_file,
    systemd,
    unit_file,
)
from ansible_collections.ascend.sglang.plugins.module_utils.host import Host, StepError
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout, guard_of


def argument_spec() -> dict[str, Any]:
    """The options, as DOCUMENTATION describes them."""
    return {
        "services": {"type": "list", "elements": "dict"},
        "roles": {"type": "list", "elements": "str", "default": [], "choices": list(plan_service.ROLES)},
        "units": {"type": "list", "elements": "str", "default": []},
        "state": {
            "type": "str",
            "choices": ["started", "stopped", "halted", "absent", "rolled_back"],
            "default": "started",
        },
        "user": {"type": "str"},
        "stop_timeout": {"type": "int", "default": 120},
        "restart": {"type": "dict", "default": {}},
        "secrets": {"type": "dict", "default": {}, "no_log": True},
        "cxx_abi": {"type": "str", "choices": ["0", "1"]},
        "prune": {"type": "bool", "default": False},
        "change": {"type": "str", "default": ""},
        "keep_logs": {"type": "bool", "default": False},
    }


def user_exists(name: str) -> bool:
    """Whether the host knows this account."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def desired_service(
    service: plan_service.PlanService, layout: Layout, params: dict[str, Any], options: unit_file.UnitOptions
) -> reconcile.Desired:
    """The files of a service, with the values of its secrets."""
    given = {str(name): str(value) for name, value in params["secrets"].items()}
    missing = [name for name in service.secrets if not given.get(name)]
    if missing:
        raise reconcile.ReconcileError(
            f"{service.unit} needs the secret {', '.join(missing)}, which was not given; nothing was changed"
        )
    values = {name: given[name] for name in service.secrets}
    text = mark = ""
    if values:
        there = files.look(layout.secrets(service.unit))
        key = secrets_file.key_of(there.text if there else "")
        text, mark = secrets_file.render(values, key), secrets_file.mark(values, key)
    raw = next(one for one in params["services"] if (one["host"], one["unit"]) == (service.host, service.unit))
    record = reconcile.record_text(raw)
    return reconcile.desired(service, layout, options, params["cxx_abi"], text, mark, record, sys.executable)


def role_of(there: reconcile.Observed) -> str:
    """The role of a unit, also of one of which only earlier configurations are left."""
    earlier = there.history[-1].role if there.history else ""
    return (there.facts or {}).get("role", earlier)


def refuse_missing_user(want: reconcile.Desired, layout: Layout) -> None:
    """Raise where an earlier configuration wants an account that is no more."""
    text = next(file for file in want.files if file.path == layout.unit_file(want.unit)).content.decode()
    for line in text.splitlines():
        key, _equals, user = line.partition("=")
        if key == "User" and not user_exists(user):
            raise reconcile.ReconcileError(
                f"the earlier configuration of {want.unit} runs as the user {user!r}, who does not exist on this host "
                "any more; create the account first, or deploy without it. Nothing was changed."
            )


class Reconciler:
    """One run of the module."""

    def __init__(self, params: dict[str, Any], host: Host) -> None:
        self._params = params
        self._host = host
        self._layout = host.layout
        given = plan_service.parse_all(params["services"] or [])
        hosts = sorted({service.host for service in given})
        if len(hosts) > 1:
            raise plan_service.PlanServiceError(f"the services belong to several hosts: {', '.join(hosts)}")
        self._all = given
        of_roles = [one for one in given if not params["roles"] or one.role in params["roles"]]
        self._services = [one for one in of_roles if not params["units"] or one.unit in params["units"]]
        self.orphans: list[str] = []
        self.observed: dict[str, reconcile.Observed] = {}
        self.digests: dict[str, str] = {}

    def steps(self) -> list[reconcile.Step]:
        """What has to be done. Reads the host, changes nothing."""
        if self._params["state"] == "started":
            return self._to_start()
        if self._params["state"] == "rolled_back":
            return self._to_roll_back()
        if self._params["services"] is None:
            self.observed = self._chosen()
        else:
            there = self._own_units()
            self.observed = self._host.observe([one.unit for one in self._services if one.unit in there])
        chosen = list(self.observed.values())
        if self._params["state"] == "stopped":
            return reconcile.to_stop(chosen)
        if self._params["state"] == "halted":
            return reconcile.to_halt(chosen)
        return reconcile.to_remove(chosen, self._layout, self._params["keep_logs"])

    def _own_units(self) -> list[str]:
        """Our units; with what is removed or rolled back also those of which only earlier configurations are left."""
        own = self._host.own_units()
        if self._params["state"] in ("absent", "rolled_back"):
            own += [unit for unit in self._host.units_with_history() if unit not in own]
        return own

    def _chosen(self) -> dict[str, reconcile.Observed]:
        """Our units, of the roles and with the names that are asked for."""
        roles, units = self._params["roles"], self._params["units"]
        there = self._host.observe([unit for unit in self._own_units() if not units or unit in units])
        return {unit: one for unit, one in there.items() if not roles or role_of(one) in roles}

    def _to_roll_back(self) -> list[reconcile.Step]:
        restart = {str(unit): str(reason) for unit, reason in self._params["restart"].items()}
        self.observed = self._chosen()
        steps, wanted = reconcile.to_roll_back(self.observed, self._params["change"], restart, self._layout)
        for want in wanted:
            refuse_missing_user(want, self._layout)
        self.digests = {want.unit: want.digest for want in wanted}
        self._refuse_taken_ports(wanted, steps, set(self._host.own_units()))
        return steps

    def _to_start(self) -> list[reconcile.Step]:
        params, layout = self._params, self._layout
        options = unit_file.UnitOptions(params["user"], params["stop_timeout"], ascend_driver.npu_group() is not None)
        wanted = [desired_service(service, layout, params, options) for service in self._services]
        self.digests = {want.unit: want.digest for want in wanted}
        planned = {service.unit for service in self._all}
        strangers = [unit for unit in self._host.own_units() if unit not in planned]
        self.observed = self._host.observe([*self.digests, *strangers])
        prune, roles = params["prune"], params["roles"]
        self.orphans = [unit for unit in strangers if prune or not roles or role_of(self.observed[unit]) in roles]
        removed = [self.observed[unit] for unit in self.orphans] if prune else []
        restart = {str(unit): str(reason) for unit, reason in params["restart"].items()}
        change = reconcile.Change(params["change"], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        starting = reconcile.to_start(wanted, self.observed, restart, layout, change)
        self._refuse_taken_ports(wanted, starting, planned | {one.unit for one in removed})
        return reconcile.to_remove(removed, layout, params["keep_logs"], change, forget=False) + starting

    def _refuse_taken_ports(self, wanted: list[reconcile.Desired], steps: list[reconcile.Step], ours: set[str]) -> None:
        if not any(step.kind in ("start", "restart") for step in steps):
            return
        ports = {port for want in wanted for _name, port in want.ports}
        for want in wanted:
            for _name, first, last in want.port_ranges:
                ports.update(range(first, last + 1))
        reconcile.refuse_taken_ports(wanted, steps, listeners.listening(ports), ours)

    def units(self, steps: list[reconcile.Step], after: dict[str, reconcile.Observed]) -> dict[str, Any]:
        """The return value ``units``."""
        return {unit: self._unit(unit, steps, after.get(unit, there)) for unit, there in self.observed.items()}

    def _unit(self, unit: str, steps: list[reconcile.Step], after: reconcile.Observed) -> dict[str, Any]:
        mine = [step for step in steps if step.unit == unit]
        result = {
            "action": self._action(unit, mine),
            "guard": self._action(guard_of(unit), mine),
            "reason": next((step.reason for step in mine if step.reason), ""),
            "changed": bool(mine),
            "state": after.state.phase,
            "invocation": after.state.invocation,
            "previous_invocation": self.observed[unit].state.invocation,
        }
        if unit in self.digests:
            result["launch"] = self.digests[unit]
        if unit in self._host.seconds:
            result["stop_seconds"] = round(self._host.seconds[unit], 1)
        return result

    def _action(self, name: str, steps: list[reconcile.Step]) -> str:
        """What becomes of a unit, or of a unit's guard."""
        if any(step.kind == "remove" and step.path == self._layout.unit_file(name) for step in steps):
            return "remove"
        kinds = [step.kind for step in steps if step.acts_on == name]
        return next((kind for kind in ("start", "restart", "stop") if kind in kinds), "none")


def diffs(steps: list[reconcile.Step], observed: dict[str, reconcile.Observed]) -> list[dict[str, str]]:
    """Files before and after. Of secrets only that they change."""
    shown = []
    for step in steps:
        path = step.file.path if step.file else step.path
        there = observed[step.unit].files.get(path) if step.unit in observed else None
        secret = path.endswith("secrets.env")
        before = ("(secrets)\n" if secret else there.text) if there else ""
        after = ""
        if step.file:
            after = "(other secrets)\n" if secret else step.file.content.decode()
        elif step.kind != "remove" or there is None:
            continue
        shown.append({"before_header": path, "after_header": path, "before": before, "after": after})
    return shown


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    if params["state"] == "started" and params["services"] is None:
        module.fail_json(msg="services is needed with state=started (an empty list is allowed)")
    if params["user"] and params["state"] == "started" and not user_exists(params["user"]):
        module.fail_json(
            msg=f"the user {params['user']!r}, who should run the services, does not exist on this host; "
            "create the account first, or leave user out. Nothing was changed."
        )
    host = Host(Layout())
    try:
        run = Reconciler(params, host)
        steps = run.steps()
        actions = [step.sentence for step in steps]
        if not module.check_mode:
            host.carry_out(steps, run.observed)
        changed_units = sorted({step.unit for step in steps if step.unit})
        after = {} if module.check_mode else host.observe(changed_units)
    except StepError as error:
        module.fail_json(msg=str(error), actions=error.done, changed=bool(error.done))
    except (plan_service.PlanServiceError, reconcile.ReconcileError, systemd.SystemdError, ValueError) as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"cannot read this host's services: {error}. Nothing was changed.")
    result: dict[str, Any] = {"changed": bool(steps), "actions": actions, "units": run.units(steps, after)}
    if params["state"] == "started":
        result["orphans"] = run.orphans
    if module._diff:
        result["diff"] = diffs(steps, run.observed)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
