# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test hosts with the real engine: what is deployed on them, what they answer, what status.yml says."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from on_hosts import hosts as lab
from on_hosts import playbooks

REAL = pathlib.Path(__file__).parent
ASK = (REAL / "ask.py").read_text()
PROMPTS = ("Hello", "List three rivers", "Größe, 大小, 😀", "All work and no play makes Jack a dull boy. " * 12)
TOKENS = 24
BOOT = "cat /proc/sys/kernel/random/boot_id"
# One request; a router that has lost its prefill tries for some 20 s before it says so.
REQUEST_SECONDS = 60

SETTINGS: Mapping[str, Any] = {
    "sglang_profile_dirs": [str(REAL / "profiles")],
    "sglang_model_path": "/models/tiny",
    "sglang_python": "/opt/sglang-engine/bin/python3",
    "sglang_ready_timeout": 300,
    "sglang_stop_timeout": 15,
    "sglang_guard_gone_seconds": 20,
}


@dataclass(frozen=True)
class Shape:
    """What is deployed where: settings, and the names of the hosts by group."""

    settings: Mapping[str, Any]
    groups: Mapping[str, list[str]]


def r1_on_cpu() -> dict[str, Any]:
    """The documented recipe with what a CPU needs."""
    return yaml.safe_load((REAL / "r1-on-cpu.yml").read_text())


MIXED = Shape({"sglang_profile": "tiny-mixed"}, {"mixed": ["h1"]})
MIXED_2 = Shape({"sglang_profile": "tiny-mixed-2"}, {"mixed": ["h1", "h2"]})
P1D1 = Shape({"sglang_profile": "tiny-1p1d"}, {"prefill": ["h1"], "decode": ["h2"], "router": ["h1"]})
P2D1 = Shape({"sglang_profile": "tiny-2p1d"}, {"prefill": ["h1", "h3"], "decode": ["h2"], "router": ["h1"]})
R1 = Shape(r1_on_cpu(), {"prefill": ["h1"], "decode": ["h2"], "router": ["h1"]})

Answers = Mapping[str, Mapping[str, str]]


@dataclass
class Cluster:
    """The hosts, and what was deployed on them last."""

    hosts: Mapping[str, lab.LabHost]
    folder: pathlib.Path
    shape: Shape = MIXED
    plan: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> lab.LabHost:
        return self.hosts[name]

    def inventory(self, **changes: Any) -> pathlib.Path:
        """That of the shape."""
        variables = {**lab.CONNECTION, **SETTINGS, **self.shape.settings, **changes}
        groups = {
            group: {name: self.hosts[name].inventory() for name in names} for group, names in self.shape.groups.items()
        }
        return playbooks.write_inventory(self.folder / "inventory.yml", variables, groups)

    def run(self, name: str, *options: str, **changes: Any) -> playbooks.Run:
        """A playbook."""
        return playbooks.run(name, self.inventory(**changes), *options)

    def deploy(self, shape: Shape | None = None, **changes: Any) -> playbooks.Run:
        """Deploy, another shape or this one once more; the plan is kept."""
        self.shape = shape or self.shape
        run = self.run("deploy", "-e", f"sglang_plan_dir={self.folder}", **changes).passed()
        self.plan = json.loads((self.folder / "plan.json").read_text())
        return run

    def wait_ready(self, host: str, seconds: int) -> str:
        """What the module wait_ready says of one host, asked by itself."""
        words = json.dumps({"services": self.services, "timeout": seconds})
        told = {"ANSIBLE_CONFIG": str(lab.PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        done = subprocess.run(
            [playbooks.ANSIBLE_PLAYBOOK.with_name("ansible"), host, "-i", self.inventory(),
             "-m", "ascend.sglang.wait_ready", "-a", words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            cwd=lab.PROJECT, env=os.environ | told, timeout=seconds + 120,
        )  # fmt: skip
        return done.stdout

    def status(self) -> dict[str, Any]:
        """What status.yml says."""
        path = self.folder / "status.json"
        self.run("status", "-e", f"status_file={path}").passed()
        return json.loads(path.read_text())

    def status_when_ready(self) -> dict[str, Any]:
        """The same, as soon as everything is ready: a look gives each server three seconds, and cores may be busy."""
        told: dict[str, Any] = {}

        def look() -> Any:
            told.update(self.status())
            return not told["ready"] and [self.state(told, one["host"], one["role"]) for one in told["services"]]

        within(180, look)
        assert told["ready"]
        return told

    def state(self, told: Mapping[str, Any], host: str, role: str) -> str:
        """State and reason of a service in what status.yml said."""
        (one,) = [one for one in told["services"] if (one["host"], one["role"]) == (host, role)]
        return f"{one['state']}: {one['why']}"

    @property
    def services(self) -> list[Mapping[str, Any]]:
        return self.plan["services"]

    def runs(self) -> dict[str, str]:
        """`host unit` -> the run of it that is alive; empty where none is."""
        show = "systemctl show --property=InvocationID,ActiveState,SubState"
        found = {}
        for one in self.services:
            text = self.hosts[one["host"]].run(f"{show} {one['unit']}")
            told = dict(line.partition("=")[::2] for line in text.splitlines())
            alive = (told["ActiveState"], told["SubState"]) == ("active", "running")
            found[f"{one['host']} {one['unit']}"] = told["InvocationID"] if alive else ""
        return found

    def log(self, host: str, unit: str) -> str:
        """What the present run of a unit has said."""
        run = f"_SYSTEMD_INVOCATION_ID=$(systemctl show --value --property=InvocationID {unit})"
        return self.hosts[host].run(f"journalctl --sync; journalctl --no-pager --output=cat {run}")

    # What it answers

    def ask(self, limit: float = REQUEST_SECONDS, prompts: Iterable[str] = PROMPTS) -> dict[str, Any]:
        """{"answers": …} or {"failure": …} of the entrance, asked on its own host."""
        entrance = self.plan["entrances"][0]
        host = self.hosts[entrance["host"]]
        host.run("cat >/run/ask.py", ASK)
        task = {"url": entrance["url"], "prompts": list(prompts), "tokens": TOKENS, "limit": limit}
        return json.loads(host.run("python3 /run/ask.py", json.dumps(task), limit=4 * limit + 60))

    def answers(self) -> Answers:
        """What the entrance answers; AssertionError where something failed."""
        told = self.ask()
        assert "answers" in told, told
        return told["answers"]

    def hang_drain(self, role: str) -> None:
        """Ask rank 0 of a role for what its tokenizer refuses: when it stops it will wait for that for ever."""
        one = next(one for one in self.services if (one["role"], one["rank"]) == (role, 0))
        ask = "curl --noproxy '*' -s -m 30 -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -d @-"
        body = json.dumps({"input_ids": [10] * 5000, "sampling_params": {"max_new_tokens": 1}})
        assert self.hosts[one["host"]].run(f"{ask} {one['url']}/generate", body) == "400"

    def kill(self, host: str, unit: str) -> None:
        """SIGKILL to an engine's main process."""
        self.hosts[host].run(f"systemctl kill --kill-whom=main --signal=SIGKILL {unit}")

    def power(self, verb: str, *names: str) -> None:
        """`kill` or `boot` hosts."""
        for name in names:
            if verb == "kill":
                # The connection would not notice.
                leave = [*self.hosts[name].ssh("")[:-1], "-O", "exit"]
                subprocess.run(leave, check=False, stderr=subprocess.DEVNULL, timeout=30)
            subprocess.run([str(lab.LABHOSTS), verb, self.hosts[name].lab], check=True, timeout=300)

    def booted(self, *names: str, but: Mapping[str, str] | None = None) -> bool:
        """Whether hosts answer, in another boot than those named."""
        try:
            found = lab.everywhere([self.hosts[name] for name in names], BOOT, limit=10)
        except AssertionError:
            return False
        return not found.items() & (but or {}).items()

    def reboot(self, *names: str) -> float:
        """Hosts in order, at the same time; seconds until all answer again."""
        hosts = [self.hosts[name] for name in names]
        before = lab.everywhere(hosts, BOOT)
        # A moment later, and not up to a minute: the connection over which it is said ends in order.
        soon = "systemd-run --quiet --on-active=1 --timer-property=AccuracySec=100ms systemctl reboot"
        lab.everywhere(hosts, soon)
        return within(180, lambda: [] if self.booted(*names, but=before) else "no ssh")


def within(seconds: float, look: Callable[[], Any], pause: float = 1.0) -> float:
    """Seconds until a look finds nothing to complain of; AssertionError with its last complaint after the limit."""
    began = time.monotonic()
    while complaint := look():
        assert time.monotonic() - began < seconds, f"after {seconds} s: {complaint}"
        time.sleep(pause)
    return round(time.monotonic() - began, 1)
