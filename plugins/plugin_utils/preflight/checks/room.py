# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host has room for: locked memory, open files, shared memory, disk."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.questions import user_of
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import (
    Problem,
    Situation,
    check,
    engine_hosts,
    error,
    unknown,
    warning,
)

_MIB, _GIB = 1 << 20, 1 << 30
# A connection for each request on either side, and files of every process; systemd's own 1024 was seen to run out.
_OPEN_FILES = 16384
# Docker's default of 64 MiB ended servers with SIGBUS; the documented container has 16 GiB.
_SHM_LEAST, _SHM_GOOD = 256 * _MIB, 2 * _GIB
_DISK_LEAST, _DISK_GOOD = 64 * _MIB, _GIB


def _size(count: float) -> str:
    return f"{count / _GIB:.1f} GiB" if count >= _GIB else f"{count / _MIB:.0f} MiB"


@check(
    "memory-lock",
    explains="Transfers between hosts pin memory; under a limit registration fails with ENOMEM or 207001.",
    remedy="Start the container with --ulimit memlock=-1 or --privileged.",
    scope=engine_hosts,
)
def memory_lock(situation: Situation) -> Iterator[Problem]:
    """Units can have an unlimited memory lock, or their processes need none."""
    for host in situation.engines:
        limits = situation.looked(host)["limits"]
        users = {user_of(one, situation.settings) for one in situation.own[host] if one.npus is not None}
        exempt = limits["locks"] and users == {"root"}
        if limits["memlock"] is not None and not limits["raises"] and not exempt:
            what = f"systemd itself is limited to {_size(limits['memlock'])} of locked memory, and may not raise that"
            yield error(host, what)


@check(
    "open-files",
    explains="A server has a connection for every request and many files; too few end it under load.",
    remedy="Raise fs.nr_open, or start the container with --ulimit nofile=1048576.",
    scope=engine_hosts,
)
def open_files(situation: Situation) -> Iterator[Problem]:
    """Units can have enough open files."""
    for host in situation.engines:
        limits = situation.looked(host)["limits"]
        most = [limits["nr_open"]]
        if not limits["raises"]:
            most.append(limits["nofile"])
        known = [value for value in most if value is not None]
        if known and min(known) < _OPEN_FILES:
            yield warning(host, f"a service can have {min(known)} open files at the most")


@check(
    "shared-memory",
    explains="Processes of a server exchange data in /dev/shm; a full one ends them with SIGBUS.",
    remedy="Mount it larger (a container: --shm-size=16g), or remove files that processes long gone left there.",
    scope=engine_hosts,
)
def shared_memory(situation: Situation) -> Iterator[Problem]:
    """/dev/shm is large enough and has room."""
    for host in situation.engines:
        shm = situation.looked(host)["shm"]
        if shm is None:
            yield error(host, "there is no /dev/shm", "Mount a tmpfs there")
            continue
        if shm["free"] >= _SHM_GOOD:
            continue
        files = ", ".join(f"{one['name']} ({_size(one['size'])}, {one['owner']})" for one in shm["files"][:3])
        what = f"/dev/shm has {_size(shm['free'])} free of {_size(shm['size'])}" + (f"; in it {files}" if files else "")
        # What our own services that run there use is not missing.
        running = any(one["active"] == "active" for one in situation.answers[host]["units"].values())
        yield (error if shm["free"] < _SHM_LEAST and not running else warning)(host, what)


@check(
    "disk",
    explains="Services write logs, caches of compiled operators and states; on a full disk they end without a word.",
    remedy="Make room there, or mount a larger file system.",
)
def disk(situation: Situation) -> Iterator[Problem]:
    """Where services write there is room."""
    for host in situation.hosts:
        disks = situation.looked(host).get("disks")
        if disks is None:
            yield unknown(host, "it was not asked")
            continue
        # Directories that are yet to be made are told by the one that will hold them, which several may share.
        for path, room in {one["at"]: one for one in disks.values()}.items():
            if not room["writable"]:
                yield error(host, f"{path} is on a file system that is mounted read-only", "Mount it for writing")
            elif room["inodes"] is not None and room["inodes"] < 1000:
                yield error(host, f"{path}: {room['inodes']} more files fit on its file system")
            elif room["free"] < _DISK_GOOD:
                level = error if room["free"] < _DISK_LEAST else warning
                yield level(host, f"{path}: {_size(room['free'])} are free on its file system")
