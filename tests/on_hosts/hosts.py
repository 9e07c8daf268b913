# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test hosts for the time of a test: booted, reached over ssh, and gone afterwards whatever happens."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import shlex
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[2]
LABHOSTS = PROJECT / "tests" / "hosts" / "labhosts"
ROOT = pathlib.Path(os.environ.get("LABHOSTS_ROOT", "/var/lib/ascend-sglang-test-hosts"))
SSH_OPTIONS = (
    "-F none -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
)

# The networks of labhosts, and the hosts' interfaces on them.
MANAGEMENT_INTERFACE, DATA_INTERFACE = "eth0", "eth1"

# What an inventory says so that Ansible reaches test hosts: labhosts' key, nothing in anyone's known_hosts.
CONNECTION = {
    "ansible_user": "root",
    "ansible_python_interpreter": "/usr/bin/python3",
    "ansible_ssh_private_key_file": str(ROOT / "ssh_key"),
    "ansible_control_path_dir": str(ROOT / "cp"),
    "ansible_ssh_common_args": SSH_OPTIONS,
}


@dataclass(frozen=True)
class LabHost:
    """A test host. `name` is the inventory's and its own, `lab` the machine's name for it."""

    name: str
    lab: str
    number: int

    @property
    def management(self) -> str:
        return f"198.51.100.{self.number}"

    @property
    def data(self) -> str:
        return f"203.0.113.{self.number}"

    def ssh(self, command: str) -> list[str]:
        """The command line that runs a shell command there; the connection stays open until the host goes."""
        control = ["-o", "ControlMaster=auto", "-o", "ControlPersist=yes"]
        path = ["-o", f"ControlPath={ROOT / 'cp' / f'{self.management}-tests'}"]
        key = ["-i", str(ROOT / "ssh_key"), "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]
        return ["ssh", *shlex.split(SSH_OPTIONS), *key, *control, *path, f"root@{self.management}", command]

    def run(self, command: str, text: str = "", limit: float = 60) -> str:
        """What a command prints, fed with `text`; AssertionError where it fails or takes longer than `limit` s."""
        try:
            done = subprocess.run(
                self.ssh(command), input=text, capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{self.name}: {command!r} takes longer than {limit} s") from late
        assert done.returncode == 0, f"{self.name}: {command!r} ended with {done.returncode}: {done.stderr}"
        return done.stdout

    def write(self, path: str, text: str) -> None:
        """Replace what a file holds; its owner and mode stay."""
        self.run(f"cat >{shlex.quote(path)}", text)

    def inventory(self, **more: Any) -> dict[str, Any]:
        """Its variables in an inventory."""
        return {"ansible_host": self.management, "sglang_data_address": self.data, **more}


def everywhere(hosts: Iterable[LabHost], command: str, limit: float = 60) -> dict[str, str]:
    """What a command prints on each host, run on all at the same time."""
    known = list(hosts)
    with ThreadPoolExecutor(max(1, len(known))) as pool:
        printed = pool.map(lambda host: host.run(command, limit=limit), known)
        return {host.name: text for host, text in zip(known, printed, strict=True)}


@contextlib.contextmanager
def booted(
    lab: str, numbers: Mapping[str, int], knobs: Mapping[str, Any] | None = None, *, real: bool = False
) -> Iterator[dict[str, LabHost]]:
    """Hosts by name for the time of a with block.

    lab: prefix of their names on the machine; numbers: last part of the addresses of each; knobs: the stand-in
    engine's, in the hosts' own file, which is read again when it changes; real: the real engine instead.
    """
    hosts = {name: LabHost(name, f"{lab}-{name}", number) for name, number in numbers.items()}
    with _ended_in_order(), alone(lab):
        # What an earlier run left when it was killed.
        _labhosts("down", *(host.lab for host in hosts.values()))
        try:
            for host in hosts.values():
                _labhosts("up", host.lab, str(host.number), f"--hostname={host.name}", *(["--real"] if real else []))
            _labhosts("wait", *(host.lab for host in hosts.values()))
            for host in () if real else hosts.values():
                set_knobs(host, knobs or {})
            yield hosts
        finally:
            _labhosts("down", *(host.lab for host in hosts.values()))


def set_knobs(host: LabHost, knobs: Mapping[str, Any]) -> None:
    """What the host's stand-in engines are to do, in place of what was set before."""
    host.write("/etc/stand-in.json", json.dumps(knobs))


@contextlib.contextmanager
def alone(lab: str) -> Iterator[None]:
    """A second run of the same tests on this machine waits: it would take the first one's hosts for left over."""
    _labhosts("image")
    with (ROOT / "cache" / f".tests-{lab}").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """A run that is ended from outside takes its hosts along, as one that is interrupted does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _labhosts(*words: str) -> None:
    # The first one makes the base image.
    done = subprocess.run([str(LABHOSTS), *words], capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, f"labhosts {' '.join(words)}: {done.stderr}"


def in_order(hosts: Mapping[str, LabHost], names: Sequence[str]) -> list[LabHost]:
    """The hosts of these names, each once."""
    return [hosts[name] for name in dict.fromkeys(names)]
