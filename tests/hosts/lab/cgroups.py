# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cgroup for each host, on machines with mixed or pure v2 hierarchies. It says which processes are the host's."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import time
from collections.abc import Iterator

from lab.settings import LabError

MOUNT = pathlib.Path("/sys/fs/cgroup")
PARENT = "ascend-sglang-test-hosts"
# Of a mixed machine's v1 hierarchies: what systemd needs to name its units, to count their tasks and memory.
V1_HIERARCHIES = ("systemd", "pids", "memory")


def hierarchies() -> list[pathlib.Path]:
    """The roots in which each host gets a cgroup; the v2 one first."""
    if (MOUNT / "cgroup.controllers").exists():
        return [MOUNT]
    if not (MOUNT / "unified").is_dir():
        raise LabError("no cgroup v2 hierarchy under /sys/fs/cgroup: the systemd of the hosts needs one")
    return [MOUNT / "unified", *(MOUNT / name for name in V1_HIERARCHIES if (MOUNT / name).is_dir())]


def create(name: str) -> None:
    """Make the host's cgroups; on v2 they get the controllers that the machine hands down."""
    for root in hierarchies():
        group = root / PARENT / name
        group.mkdir(parents=True, exist_ok=True)
        offered = root / "cgroup.subtree_control"
        if offered.exists():
            for controller in offered.read_text().split():
                # The machine may have no room for one of them; the hosts then go without.
                with contextlib.suppress(OSError):
                    (group.parent / "cgroup.subtree_control").write_text(f"+{controller}")


def enter(name: str, pid: int) -> None:
    """Put a process, and so all its later children, into the host's cgroups."""
    for root in hierarchies():
        (root / PARENT / name / "cgroup.procs").write_text(str(pid))


def processes(name: str) -> list[int]:
    """Every process of the host, its supervisor included, seen from outside."""
    found: set[int] = set()
    for root in hierarchies():
        for group in _deepest_first(root / PARENT / name):
            with contextlib.suppress(OSError):
                found.update(int(line) for line in (group / "cgroup.procs").read_text().split())
    return sorted(found)


def leader(name: str) -> int:
    """The host's process 1, seen from outside."""
    path = hierarchies()[0] / PARENT / name / "payload" / "init.scope" / "cgroup.procs"
    try:
        return int(path.read_text().split()[0])
    except (OSError, IndexError) as error:
        raise LabError(f"{name} is not up") from error


def kill(name: str, limit: float = 20) -> None:
    """End every process of the host at once and remove its cgroups."""
    end = time.monotonic() + limit
    while alive := processes(name):
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            raise LabError(f"{name}: processes {alive} do not end")
        time.sleep(0.02)
    _remove(name)


def _remove(name: str) -> None:
    for root in hierarchies():
        for group in _deepest_first(root / PARENT / name):
            _rmdir(group)
        # The last host's removal takes the parent along.
        with contextlib.suppress(OSError):
            (root / PARENT).rmdir()


def _deepest_first(top: pathlib.Path) -> Iterator[pathlib.Path]:
    for folder in os.walk(top, topdown=False):
        yield pathlib.Path(folder[0])


def _rmdir(group: pathlib.Path, limit: float = 5) -> None:
    # A zombie that its parent has not reaped yet keeps a cgroup busy for a moment.
    end = time.monotonic() + limit
    while True:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return
