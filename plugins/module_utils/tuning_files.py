# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files by which the values last without Ansible: their places and their texts. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

# Sorts behind 99-*.conf and zz-*.conf: at boot the file that is read last wins.
SYSCTL_FILE = "/etc/sysctl.d/zzz-ascend-sglang.conf"
BOOT_SCRIPT = "/etc/ascend-sglang/host-tuning.sh"
UNIT_NAME = "ascend-sglang-host-tuning.service"
UNIT = f"/etc/systemd/system/{UNIT_NAME}"
UNIT_LINK = f"/etc/systemd/system/multi-user.target.wants/{UNIT_NAME}"
RECORD = "/var/lib/ascend-sglang/host_tuning.json"

_HEADER = (
    "# Ansible managed (ascend.sglang.host_tuning): the next deployment writes it again, restore.yml removes it.\n"
)


def sysctl_text(values: Mapping[str, str]) -> str | None:
    """The sysctl.d file; None where it would hold nothing."""
    if not values:
        return None
    return _HEADER + "".join(f"{name} = {value}\n" for name, value in sorted(values.items()))


def script_text(governor: str | None, cpus: str, values: Mapping[str, str], debugfs: str | None) -> str | None:
    """The script that sets at boot what sysctl.d cannot; None where there is nothing of the kind.

    :param governor: for each CPU that offers it.
    :param cpus: the directory of the CPUs, /sys/devices/system/cpu.
    :param values: file -> value.
    :param debugfs: the directory to mount debugfs on for the time of this script; None: it needs none.
    """
    if not governor and not values:
        return None
    text = "#!/bin/sh\n" + _HEADER
    text += f"# {UNIT_NAME} runs it at boot.\n\n"
    text += (
        "put() {\n"
        "  # A kernel or a machine may have been changed since: what is gone is said and left out.\n"
        '  if [ ! -e "$2" ]; then echo "$2 is not there: not set to $1"\n'
        '  elif ! printf \'%s\\n\' "$1" > "$2"; then echo "$2 does not take $1"\n'
        "  fi\n"
        "}\n"
    )
    if governor:
        word = shlex.quote(governor)
        text += (
            f"\nfor cpufreq in {shlex.quote(cpus)}/cpu[0-9]*/cpufreq; do\n"
            "  offered=$cpufreq/scaling_available_governors\n"
            f'  if [ ! -r "$offered" ] || grep -qw {word} "$offered"; then\n'
            f'    put {word} "$cpufreq/scaling_governor"\n'
            "  fi\n"
            "done\n"
        )
    if debugfs:
        place = shlex.quote(debugfs)
        text += (
            f"\n# In a mount namespace of this unit's own.\nmountpoint -q {place} || mount -t debugfs debugfs {place}\n"
        )
    if values:
        text += "\n" + "".join(
            f"put {shlex.quote(value)} {shlex.quote(file)}\n" for file, value in sorted(values.items())
        )
    return text


def unit_text() -> str:
    """The unit that runs the script, after everything that is known to set the same things."""
    return (
        _HEADER
        + f"""\
[Unit]
Description=Host tuning for SGLang: what sysctl.d cannot hold
After=systemd-modules-load.service systemd-sysctl.service tuned.service power-profiles-daemon.service
After=cpupower.service cpufrequtils.service loadcpufreq.service ondemand.service tlp.service

[Service]
Type=oneshot
RemainAfterExit=yes
PrivateMounts=yes
ExecStart=/bin/sh {BOOT_SCRIPT}

[Install]
WantedBy=multi-user.target
"""
    )


def files(sysctl: str | None, script: str | None) -> dict[str, str | None]:
    """path -> its text, None: it must not be there. The unit exists with its script."""
    return {SYSCTL_FILE: sysctl, BOOT_SCRIPT: script, UNIT: unit_text() if script else None}
