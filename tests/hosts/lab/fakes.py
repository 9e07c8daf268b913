# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel trees for one host. vm.* and most of kernel.* are one for the machine and all hosts: a host that writes them
would change the machine. So each host gets a copy, with the differences between kernels that host tuning must master.
A write is kept as written, whatever a real kernel would make of it.
"""

from __future__ import annotations

import pathlib

PROC_SYS = pathlib.Path("/proc/sys")
SCHED_MIGRATION_COST = "500000\n"
KERNELS = ("new", "old", "locked")


def build(target: pathlib.Path, hostname: str, kernel: str, governors: list[str], cpus: int = 2) -> None:
    """Write the host's trees under `target`, and beside them the list of their places in the host (see `rootfs`).

    `kernel`: `old` (before Linux 5.13, as in openEuler 22.03) has the scheduler's migration cost in /proc/sys, `new`
    has it in debugfs, `locked` (lockdown, or no CONFIG_SCHED_DEBUG) has it nowhere.
    `governors`: what cpufreq offers, the first is set; none: no cpufreq tree, as in a virtual machine.
    """
    places = {"proc-sys-vm": "/proc/sys/vm", "proc-sys-kernel": "/proc/sys/kernel", "cpu": "/sys/devices/system/cpu"}
    for area in ("vm", "kernel"):
        _copy(PROC_SYS / area, target / f"proc-sys-{area}")
    _hostname(target / "proc-sys-kernel", hostname)
    (target / "proc-sys-kernel" / "numa_balancing").write_text("1\n")
    (target / "proc-sys-vm" / "swappiness").write_text("60\n")
    moved = target / "proc-sys-kernel" / "sched_migration_cost_ns"
    moved.unlink(missing_ok=True)
    if kernel == "old":
        moved.write_text(SCHED_MIGRATION_COST)
    elif kernel == "new":
        (target / "debug" / "sched").mkdir(parents=True)
        (target / "debug" / "sched" / "migration_cost_ns").write_text(SCHED_MIGRATION_COST)
        places["debug"] = "/sys/kernel/debug"
    _processors(target / "cpu", governors, cpus)
    (target / "places").write_text("".join(f"{tree} {place}\n" for tree, place in places.items()))


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_dir():
            _copy(path, target / path.name)
            continue
        try:
            text = path.read_bytes()
        except OSError:
            text = b""  # write-only, as vm/compact_memory
        (target / path.name).write_bytes(text)
        (target / path.name).chmod(path.stat().st_mode & 0o777 | 0o400)


def _hostname(kernel: pathlib.Path, hostname: str) -> None:
    (kernel / "hostname").write_text(f"{hostname}\n")
    (kernel / "random").mkdir(exist_ok=True)


def _processors(tree: pathlib.Path, governors: list[str], cpus: int) -> None:
    tree.mkdir(parents=True)
    for name in ("online", "possible", "present"):
        (tree / name).write_text(f"0-{cpus - 1}\n")
    for number in range(cpus):
        (tree / f"cpu{number}").mkdir()
        (tree / f"cpu{number}" / "online").write_text("1\n")
        if not governors:
            continue
        policy = tree / "cpufreq" / f"policy{number}"
        policy.mkdir(parents=True)
        (policy / "scaling_available_governors").write_text(" ".join(governors) + "\n")
        (policy / "scaling_governor").write_text(governors[0] + "\n")
        (policy / "affected_cpus").write_text(f"{number}\n")
        (tree / f"cpu{number}" / "cpufreq").symlink_to(f"../cpufreq/policy{number}")
