# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import tuning, tuning_host
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_machine import Machine

RECIPE = {
    "governor": "performance",
    "sysctl": {"vm.swappiness": 0, "kernel.numa_balancing": 0, "kernel.sched_migration_cost_ns": 50000},
}
NOTHING = tuning.Wish(None, {}, None, frozenset())
CPUS = "/sys/devices/system/cpu"


class Tree:
    """A made-up host: /proc/sys, /sys and /etc under a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> Path:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def read(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text(encoding="utf-8").strip()

    def exists(self, path: str) -> bool:
        return (self.root / path.lstrip("/")).exists()

    def cpu(self, number: int, governor: str, offered: str | None = None) -> None:
        self.write(f"{CPUS}/cpu{number}/cpufreq/scaling_governor", governor + "\n")
        if offered is not None:
            self.write(f"{CPUS}/cpu{number}/cpufreq/scaling_available_governors", offered + "\n")

    def governor(self, number: int) -> str:
        return self.read(f"{CPUS}/cpu{number}/cpufreq/scaling_governor")

    def machine(self) -> Machine:
        return Machine(root=str(self.root))

    def apply(self, check: bool = False, strict: bool = False, **options: object) -> tuning_host.Report:
        return tuning_host.apply(self.machine(), tuning.wish_of(options), check=check, strict=strict)

    def restore(self, check: bool = False) -> tuning_host.Report:
        return tuning_host.apply(self.machine(), NOTHING, check=check)

    def snapshot(self) -> dict[str, str]:
        """Every file with its text, every link with its target."""
        return {
            str(path.relative_to(self.root)): str(path.readlink()) if path.is_symlink() else path.read_text("utf-8")
            for path in sorted(self.root.rglob("*"))
            if path.is_symlink() or path.is_file()
        }


@pytest.fixture
def bare(tmp_path: Path) -> Tree:
    """A host that has nothing."""
    return Tree(tmp_path)


@pytest.fixture
def host(bare: Tree) -> Tree:
    """A host with a kernel of today, tuned by nobody."""
    bare.cpu(0, "schedutil", "schedutil performance powersave")
    bare.cpu(1, "schedutil", "schedutil performance powersave")
    bare.write("/proc/sys/vm/swappiness", "60\n")
    bare.write("/proc/sys/kernel/numa_balancing", "1\n")
    bare.write("/proc/sys/net/ipv4/ip_local_reserved_ports", "\n")
    bare.write("/sys/kernel/debug/sched/migration_cost_ns", "500000\n")
    bare.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    return bare


@pytest.fixture
def recipe() -> dict[str, object]:
    return RECIPE
