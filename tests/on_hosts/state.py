# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything on a host that a playbook of the collection could touch, as text, to compare before and after."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from on_hosts.hosts import LabHost, everywhere

# {file} and {folder} are what is printed of each, besides names, types, modes and owners. Left out are what systemd and
# Ansible themselves write in passing, the sessions of those who look, and network-online.target, which comes true for
# whoever wants it first and stays true until the next boot.
_STATE = r"""
find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log -o -path /var/tmp \
  -o -path /root/.ansible -o -path /var/lib/systemd/timers -o -path /opt/test-host-kernel \) -prune \
  -o -type d -printf '%p %y %m %U %G {folder}\n' -o -printf '%p %y %m %U %G %l {file}\n' |
  grep -v -E '^/(root|var|var/lib/systemd|var/lib/private)? d ' | sort
find /etc -xdev -type f -exec sha256sum {{}} + | sort -k 2
(
  find /var/log/ascend-sglang /run/systemd/system /run/systemd/transient /run/ascend* 2>/dev/null | sort
  systemctl list-unit-files --no-legend --plain
  systemctl list-units --all --no-legend --plain --type=service,target,timer,path,socket
) | grep -v -E 'session-[0-9]+\.scope|^network-online\.target .*active'
sysctl --all 2>/dev/null | grep -E '^(vm|kernel|net\.core|net\.ipv4)\.' \
  | grep -v -E 'random|ns_last_pid|pty\.nr|hostname|stat_refresh|tcp_fastopen_key'
cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor /sys/kernel/debug/sched/migration_cost_ns
ls -A /dev/shm
ss -Htln | sed -E 's/ +/ /g' | sort
"""


def exact(hosts: Iterable[LabHost]) -> dict[str, list[str]]:
    """Equal only where nothing was touched in between, not even put back.

    The time of a file's last change of any kind cannot be set back. An overlay changes that of folders by itself.
    """
    return _read(hosts, _STATE.format(file="%s %C@", folder="%T@"))


def lasting(hosts: Iterable[LabHost]) -> dict[str, list[str]]:
    """Equal where everything is as it was, whatever happened in between."""
    return _read(hosts, _STATE.format(file="", folder=""))


def _read(hosts: Iterable[LabHost], command: str) -> dict[str, list[str]]:
    found = {name: text.splitlines() for name, text in everywhere(hosts, command).items()}
    for name, lines in found.items():
        assert len(lines) > 1000, f"{name}: the state was not read: {lines[:20]}"
    return found


def differences(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> list[str]:
    """What differs, a line each with the host's name."""
    found = []
    for name, lines in before.items():
        changed = difflib.unified_diff(lines, after[name], lineterm="", n=0)
        found += [f"{name}: {line}" for line in changed if not line.startswith(("---", "+++", "@@"))]
    return found
