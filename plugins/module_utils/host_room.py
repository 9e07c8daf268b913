# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host has room for: shared memory, disks, limits of processes, and the ports that it hands out by itself."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterable
from typing import Any

_CAP_IPC_LOCK = 14
_CAP_SYS_RESOURCE = 24
_SHOWN_FILES = 5


def look(directories: Iterable[str], root: str = "/") -> dict[str, Any]:
    """``shm``, ``disks``, ``limits`` and ``ports``, as the functions here return them."""
    return {
        "shm": shared_memory(os.path.join(root, "dev/shm")),
        "disks": {path: disk(path) for path in directories},
        "limits": limits(os.path.join(root, "proc")),
        "ports": local_ports(os.path.join(root, "proc")),
    }


def shared_memory(path: str = "/dev/shm") -> dict[str, Any] | None:
    """``size`` and ``free`` in bytes, and ``files``: the largest with ``name``, ``size`` and ``owner``."""
    try:
        room = os.statvfs(path)
        with os.scandir(path) as entries:
            files = [(entry.stat(follow_symlinks=False), entry.name) for entry in entries]
    except OSError:
        return None
    files.sort(key=lambda one: -one[0].st_size)
    shown = [
        {"name": name, "size": status.st_size, "owner": _account(status.st_uid)}
        for status, name in files[:_SHOWN_FILES]
        if status.st_size
    ]
    return {"size": room.f_blocks * room.f_frsize, "free": room.f_bavail * room.f_frsize, "files": shown}


def _account(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def disk(path: str) -> dict[str, Any]:
    """The file system of a path, or of the nearest directory above it: ``at``, ``free`` bytes, ``inodes``,
    ``writable``."""
    while not os.path.isdir(path) and path != "/":
        path = os.path.dirname(path)
    room = os.statvfs(path)
    return {
        "at": path,
        "free": room.f_bavail * room.f_frsize,
        # A file system that has no fixed number of inodes says 0 of 0.
        "inodes": room.f_favail if room.f_files else None,
        "writable": not room.f_flag & os.ST_RDONLY,
    }


def limits(proc: str = "/proc") -> dict[str, Any]:
    """What systemd can give to a service.

    ``memlock`` and ``nofile``: the hard limits of process 1 (None: unlimited); ``nr_open``: the kernel's; ``raises``:
    whether process 1 may go beyond its own; ``locks``: whether root's processes may lock memory whatever the limit.
    """
    text = _read(f"{proc}/1/limits")
    capabilities = re.search(r"^CapEff:\s*([0-9a-f]+)", _read(f"{proc}/1/status"), re.MULTILINE)
    held = int(capabilities.group(1), 16) if capabilities else 0
    nr_open = _read(f"{proc}/sys/fs/nr_open").strip()
    return {
        "memlock": _hard(text, "Max locked memory"),
        "nofile": _hard(text, "Max open files"),
        "nr_open": int(nr_open) if nr_open.isdigit() else None,
        "raises": bool(held >> _CAP_SYS_RESOURCE & 1),
        "locks": bool(held >> _CAP_IPC_LOCK & 1),
    }


def _hard(text: str, name: str) -> int | None:
    line = next((line for line in text.splitlines() if line.startswith(name)), "")
    words = line[len(name) :].split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


def local_ports(proc: str = "/proc") -> dict[str, Any]:
    """``range``: first and last port that the kernel gives to outgoing connections; ``reserved``: ranges it keeps."""
    words = _read(f"{proc}/sys/net/ipv4/ip_local_port_range").split()
    reserved = _read(f"{proc}/sys/net/ipv4/ip_local_reserved_ports").strip()
    return {
        "range": [int(word) for word in words[:2]] if len(words) >= 2 else None,
        "reserved": [_range(part) for part in reserved.split(",") if part],
    }


def _range(text: str) -> list[int]:
    first, _dash, last = text.partition("-")
    return [int(first), int(last or first)]


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
