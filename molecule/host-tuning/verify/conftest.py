# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the phases share: the hosts' values as the kernel has them, playbooks as a user runs them, and a memory."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess

import pytest
import testinfra
from testinfra.host import Host

INVENTORY = str(pathlib.Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent)
LAB = pathlib.Path(os.environ.get("LABHOSTS_ROOT", "/var/lib/ascend-sglang-test-hosts"))
SEEN = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "seen"
SCENARIO = pathlib.Path(os.environ["MOLECULE_SCENARIO_DIRECTORY"])
ADDRESSES = {"old": "198.51.100.120", "new": "198.51.100.121", "locked": "198.51.100.122"}
OWN_FILES = (
    "/etc/sysctl.d/zzz-ascend-sglang.conf",
    "/etc/ascend-sglang/host-tuning.sh",
    "/etc/systemd/system/ascend-sglang-host-tuning.service",
    "/etc/systemd/system/multi-user.target.wants/ascend-sglang-host-tuning.service",
    "/var/lib/ascend-sglang/host_tuning.json",
)
VALUES = {
    "swappiness": "/proc/sys/vm/swappiness",
    "numa_balancing": "/proc/sys/kernel/numa_balancing",
    "cost_in_proc": "/proc/sys/kernel/sched_migration_cost_ns",
    "cost_in_debugfs": "/sys/kernel/debug/sched/migration_cost_ns",
    "governor0": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "governor1": "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
    "huge_pages": "/sys/kernel/mm/transparent_hugepage/enabled",
    "ports": "/proc/sys/net/ipv4/ip_local_reserved_ports",
}

# What each host has before anybody deploys; null: its kernel has no such file.
FRESH = {
    "old": {
        "swappiness": "17",
        "numa_balancing": "1",
        "cost_in_proc": "500000",
        "cost_in_debugfs": None,
        "governor0": "ondemand",
        "governor1": "ondemand",
        "ports": "111,8998",
    },
    "new": {
        "swappiness": "60",
        "numa_balancing": "1",
        "cost_in_proc": None,
        "cost_in_debugfs": "500000",
        "governor0": "schedutil",
        "governor1": "schedutil",
        "huge_pages": "madvise",
        "ports": "",
    },
    "locked": {
        "swappiness": "60",
        "numa_balancing": "1",
        "cost_in_proc": None,
        "cost_in_debugfs": None,
        "governor0": None,
        "governor1": None,
        "ports": "",
    },
}
# What the role makes of it: only what differs from before.
TUNED = {
    "old": {
        "swappiness": "0",
        "numa_balancing": "0",
        "cost_in_proc": "50000",
        "ports": "111,8000,8998,24670,60000-60015",
    },
    "new": {
        "swappiness": "0",
        "numa_balancing": "0",
        "cost_in_debugfs": "50000",
        "governor0": "performance",
        "governor1": "performance",
        "huge_pages": "never",
        "ports": "8000,8998,24670,60000-60015",
    },
    "locked": {"swappiness": "10", "numa_balancing": "0", "ports": "8000,8998,24670,60000-60015"},
}


class Lab:
    """The scenario's hosts."""

    def __init__(self) -> None:
        options = "-F none -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR"
        options += " -o UserKnownHostsFile=/dev/null"
        self.hosts: dict[str, Host] = {
            name: testinfra.get_host(
                f"ssh://root@{address}",
                ssh_identity_file=str(LAB / "ssh_key"),
                ssh_extra_args=options,
                controlpath=str(LAB / "cp" / f"{address}-testinfra"),
            )
            for name, address in ADDRESSES.items()
        }

    def values(self, name: str) -> dict[str, str | None]:
        """What the kernel of a host says. A fake file may keep the tail of a longer value on a second line."""
        command = "; ".join(f"echo ={key}; cat {path}" for key, path in VALUES.items())
        out = self.hosts[name].run(f"({command}) 2>/dev/null").stdout
        found: dict[str, str | None] = {}
        for block in out.split("=")[1:]:
            key, *lines = block.split("\n")
            found[key] = lines[0] if len(lines) > 1 else None
        chosen = re.search(r"\[(\w+)\]", found["huge_pages"] or "")
        found["huge_pages"] = chosen.group(1) if chosen else found["huge_pages"]
        return {key: found[key] for key in FRESH[name]}

    def own_files(self, name: str) -> list[str]:
        """Which of the role's files are there."""
        return [path for path in OWN_FILES if self.hosts[name].run(f"test -e {path} || test -L {path}").rc == 0]

    def tree(self, name: str) -> list[str]:
        """The host's /etc and what is ours: every file with mode and digest, every link with its target."""
        places = "/etc /var/lib/ascend-sglang"
        listed = self.hosts[name].run(
            f"find {places} -type f -printf '%p %m\n' -o -type l -printf '%p %l\n';"
            f" find {places} -type f -print0 | xargs -0 sha256sum"
        )
        return sorted(listed.stdout.splitlines())


class Run:
    """What a playbook said."""

    def __init__(self, *words: str) -> None:
        environment = os.environ | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
        done = subprocess.run(
            ["ansible-playbook", "-i", INVENTORY, *words],
            text=True,
            capture_output=True,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        self.status = done.returncode
        self.text = re.sub(r"\s+", " ", done.stdout + done.stderr)
        recap = done.stdout.rpartition("PLAY RECAP")[2]
        self.changed = {
            name: int(number) for name, number in re.findall(r"^(\S+) .*changed=(\d+)", recap, re.MULTILINE)
        }


def tune(*words: str) -> Run:
    """The role, as the scenario's converge has it."""
    return Run(str(SCENARIO / "converge.yml"), *words)


def restore(*words: str) -> Run:
    """The playbook, as a user runs it."""
    return Run("ascend.sglang.restore", *words)


def of_the_machine() -> dict[str, str]:
    """What a host must not touch: the values of the machine that runs the tests."""
    paths = [*VALUES.values(), "/proc/sys/kernel/sched_migration_cost_ns"]
    paths += [str(path) for path in sorted(pathlib.Path("/proc/sys/vm").iterdir())]
    found = {}
    for path in paths:
        try:
            found[path] = pathlib.Path(path).read_text()
        except OSError:
            found[path] = ""
    return found


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab()


@pytest.fixture(scope="session")
def playbooks():
    """The role and the way back."""
    return tune, restore


@pytest.fixture(scope="session")
def fresh():
    return FRESH


@pytest.fixture(scope="session")
def tuned():
    return {name: FRESH[name] | TUNED[name] for name in FRESH}


@pytest.fixture(scope="session")
def memory():
    """(remember, remembered): from one phase to the next."""

    def remember(name: str, value: object) -> None:
        SEEN.mkdir(exist_ok=True)
        (SEEN / f"{name}.json").write_text(json.dumps(value))

    return remember, lambda name: json.loads((SEEN / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def machine():
    return of_the_machine


@pytest.fixture(params=list(ADDRESSES))
def name(request):
    """Each host."""
    return request.param
