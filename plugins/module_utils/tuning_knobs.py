# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The knobs of a host as they are: what a wish, or the record of an earlier one, is about."""

from __future__ import annotations

import re

from ansible_collections.ascend.sglang.plugins.module_utils import tuning_sysctl
from ansible_collections.ascend.sglang.plugins.module_utils.tuning import (
    BY_BOOT_SCRIPT,
    BY_SYSCTL_FILE,
    Knob,
    Record,
    Wish,
)
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_machine import Machine
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_rivals import (
    GOVERNOR,
    RESERVED_PORTS,
    TRANSPARENT_HUGEPAGE,
)

_GOVERNOR_PREFIX = "governor "


def cpu_directory(machine: Machine) -> str:
    """Where the CPUs are."""
    return f"{machine.sys}/devices/system/cpu"


def governor_knobs(machine: Machine) -> list[Knob]:
    """One for each CPU that has a governor; a single one that says so where none has."""
    directory = cpu_directory(machine)
    cpus = [name for name in machine.names(directory) if re.fullmatch(r"cpu\d+", name)]
    knobs = [governor_knob(machine, cpu) for cpu in sorted(cpus, key=lambda name: int(name[3:]))]
    found = [knob for knob in knobs if knob.exists]
    if found:
        return found
    why = "this machine has no cpufreq tree: a virtual machine, or firmware that controls the frequency"
    return [Knob(GOVERNOR, GOVERNOR, f"{directory}/cpu*/cpufreq", None, why, None, BY_BOOT_SCRIPT, exists=False)]


def governor_knob(machine: Machine, cpu: str) -> Knob:
    """That of one CPU."""
    cpufreq = f"{cpu_directory(machine)}/{cpu}/cpufreq"
    path = f"{cpufreq}/scaling_governor"
    name = _GOVERNOR_PREFIX + cpu
    look = machine.look(path)
    if look is None:
        return Knob(name, GOVERNOR, path, None, f"there is no {path}", None, BY_BOOT_SCRIPT, exists=False)
    value = None if look.value is None else tuning_sysctl.normal(look.value)
    offered = machine.text(f"{cpufreq}/scaling_available_governors")
    return Knob(name, GOVERNOR, path, value, look.obstacle, offered, BY_BOOT_SCRIPT)


def sysctl_knob(machine: Machine, name: str) -> Knob:
    """A sysctl: in /proc/sys or, for what Linux 5.13 moved there, in debugfs."""
    path = f"{machine.proc_sys}/{tuning_sysctl.relative_path(name)}"
    look = machine.look(path)
    if look is not None:
        value = None if look.value is None else tuning_sysctl.normal(look.value)
        return Knob(name, name, path, value, look.obstacle, None, BY_SYSCTL_FILE)
    why = f"this kernel has no {path}"
    moved = tuning_sysctl.MOVED_TO_DEBUGFS.get(name)
    if moved:
        path = f"{machine.debugfs}/{moved}"
        look = machine.look(path)
        if look is not None:
            value = None if look.value is None else tuning_sysctl.normal(look.value)
            return Knob(name, name, path, value, look.obstacle, None, BY_BOOT_SCRIPT)
        why += f" and no {path}"
    return Knob(name, name, path, None, why, None, BY_SYSCTL_FILE, exists=False)


def hugepage_knob(machine: Machine) -> Knob:
    """Transparent huge pages: the kernel lists the values and puts the one that holds in brackets."""
    path = f"{machine.sys}/kernel/mm/transparent_hugepage/enabled"
    look = machine.look(path)
    if look is None:
        why = "this kernel has no transparent huge pages"
        return Knob(TRANSPARENT_HUGEPAGE, TRANSPARENT_HUGEPAGE, path, None, why, None, BY_BOOT_SCRIPT, exists=False)
    words = (look.value or "").split()
    chosen = [word[1:-1] for word in words if word.startswith("[")] or words[:1]
    offered = " ".join(word.strip("[]") for word in words) if len(words) > 1 else None
    value = chosen[0] if chosen else None
    return Knob(TRANSPARENT_HUGEPAGE, TRANSPARENT_HUGEPAGE, path, value, look.obstacle, offered, BY_BOOT_SCRIPT)


def knob_named(machine: Machine, name: str) -> Knob:
    """The knob that the record calls ``name``."""
    if name.startswith(_GOVERNOR_PREFIX):
        return governor_knob(machine, name[len(_GOVERNOR_PREFIX) :])
    return hugepage_knob(machine) if name == TRANSPARENT_HUGEPAGE else sysctl_knob(machine, name)


def knobs(machine: Machine, wish: Wish, record: Record) -> list[Knob]:
    """Those that the wish is about, then those of the record that it is not about."""
    found = governor_knobs(machine) if wish.governor else []
    found += [sysctl_knob(machine, name) for name in wish.sysctl]
    if wish.transparent_hugepage:
        found.append(hugepage_knob(machine))
    if wish.reserved_ports or record.added_ports:
        found.append(sysctl_knob(machine, RESERVED_PORTS))
    names = {knob.name for knob in found}
    return found + [knob_named(machine, name) for name in record.before if name not in names]
