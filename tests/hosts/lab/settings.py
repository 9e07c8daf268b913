# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are kept, and the names and numbers that all test hosts share."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

ROOT = pathlib.Path(os.environ.get("LABHOSTS_ROOT", "/var/lib/ascend-sglang-test-hosts"))
HOSTS = ROOT / "hosts"
CACHE = ROOT / "cache"
SSH_KEY = ROOT / "ssh_key"
CONTROL_PATHS = ROOT / "cp"

HERE = pathlib.Path(__file__).resolve().parent
ROOTFS = HERE.parent / "rootfs"
PROJECT = HERE.parents[2]
STAND_IN_INSTALLER = PROJECT / "tests" / "stand_in" / "engine" / "install.py"

# The release whose Python is 3.11, like that of SGLang's images for Ascend.
SUITE = "bookworm"
PYTHON = "3.11"


@dataclass(frozen=True)
class Network:
    """A bridge on the machine and the hosts' interface on it; host N is at prefix.N."""

    key: str
    interface: str
    bridge: str
    prefix: str

    def address(self, number: int) -> str:
        """The address of host `number`."""
        return f"{self.prefix}.{number}"

    def cable(self, number: int) -> str:
        """The machine's end of the host's cable (an interface name has at most 15 characters)."""
        return f"asl{self.key}{number}"

    def mac(self, number: int) -> str:
        """The same after every boot, so that neighbours need not learn it anew."""
        octets = [int(part) for part in self.prefix.split(".")]
        return "02:" + ":".join(f"{octet:02x}" for octet in (*octets, number)) + ":01"


MANAGEMENT = Network("m", "eth0", "asl-mgmt", "198.51.100")
DATA = Network("d", "eth1", "asl-data", "203.0.113")
NETWORKS = (MANAGEMENT, DATA)

PACKAGES = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
    "nsenter": "util-linux",
}


class LabError(Exception):
    """Something that the person at the keyboard can mend; the text says how."""


def run(*command: str | pathlib.Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command; when it fails say what it was and what it said."""
    words = [str(word) for word in command]
    done = subprocess.run(words, text=True, capture_output=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise LabError(f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done


def need_tools() -> None:
    """Refuse to start halfway: root and every outside command must be there first."""
    if os.geteuid():
        raise LabError("test hosts need root: namespaces, bridges and mounts are made for them")
    missing = {package for command, package in PACKAGES.items() if not shutil.which(command)}
    if missing:
        raise LabError(f"missing on this machine: apt-get install {' '.join(sorted(missing))}")


@contextlib.contextmanager
def locked(what: str = "lock") -> Iterator[None]:
    """Hold off other runs while the shared things (bridges, key, image, numbers) are looked at and changed."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f".{what}").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
