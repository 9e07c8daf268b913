# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what else on a host sets the same things; ``tuning_rivals`` judges it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ansible_collections.ascend.sglang.plugins.module_utils import tuning_files, tuning_rivals, tuning_sysctl
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_machine import Machine
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_rivals import Rival

_UNIT_DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_TMPFILES_DIRECTORIES = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d")
_BOOT_SCRIPTS = ("/etc/rc.local", "/etc/rc.d/rc.local")


def rivals(machine: Machine, wanted: Mapping[str, str], in_sysctl_file: Mapping[str, str]) -> list[Rival]:
    """Everything that would win over the role's files.

    :param wanted: setting -> value, of all that the role makes last.
    :param in_sysctl_file: the part of it that is in the role's sysctl.d file.
    """
    found = tuning_rivals.in_sysctl_files(in_sysctl_file, tuning_files.SYSCTL_FILE, _sysctl_files(machine))
    found += tuning_rivals.in_sysctl_conf(in_sysctl_file, machine.text("/etc/sysctl.conf") or "")
    found += tuning_rivals.in_tmpfiles(in_sysctl_file, _conf_files(machine, _TMPFILES_DIRECTORIES))
    for path in _BOOT_SCRIPTS:
        if os.access(machine.real(path), os.X_OK):
            found += tuning_rivals.in_boot_script(wanted, path, machine.text(path) or "")
    found += tuning_rivals.in_tuned(wanted, machine.text("/etc/tuned/active_profile") or "", machine.text)
    found += tuning_rivals.in_power_services(wanted, _power_services(machine))
    return found


def _sysctl_files(machine: Machine) -> list[tuple[str, str]]:
    """(path, text) of the files that systemd-sysctl reads, in its order. One that links to /dev/null masks its name."""
    files = _conf_files(machine, tuning_sysctl.DIRECTORIES)
    return [(path, text) for path, text in files if path != tuning_files.SYSCTL_FILE]


def _conf_files(machine: Machine, directories: Sequence[str]) -> list[tuple[str, str]]:
    """(path, text) of what systemd reads from such directories, in its order: one file for each name."""
    paths = [
        f"{directory}/{name}"
        for directory in directories
        for name in machine.names(directory)
        if name.endswith(".conf")
    ]
    return [(path, machine.text(path) or "") for path in tuning_sysctl.in_order(paths, directories)]


def _power_services(machine: Machine) -> dict[str, str]:
    """The services that set a governor and are enabled or run -> their configuration."""
    wanted_by = {
        name
        for directory in _UNIT_DIRECTORIES
        for target in machine.names(directory)
        if target.endswith((".wants", ".requires"))
        for name in machine.names(f"{directory}/{target}")
    }
    by_init = {name[3:] + ".service" for name in machine.names("/etc/rc2.d") if name.startswith("S")}
    found = {}
    for service, files in tuning_rivals.POWER_SERVICES.items():
        masked = os.path.realpath(machine.real(f"/etc/systemd/system/{service}")) == os.devnull
        # systemd keeps this link while a unit runs.
        runs = machine.exists(f"/run/systemd/units/invocation:{service}")
        if runs or (service in wanted_by | by_init and not masked):
            found[service] = "\n".join(text for text in map(machine.text, files) if text)
    return found
