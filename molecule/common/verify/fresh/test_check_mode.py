# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode on hosts that have never seen the collection: it tells the whole truth and changes nothing."""

from __future__ import annotations

import re

import pytest

# Everything on a host that a deploy could touch: files, their owners and contents, units, kernel settings, listeners.
STATE = r"""
find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log -o -path /var/tmp \
  -o -path /root/.ansible -o -path /var/lib/systemd/timers -o -path /opt/test-host-kernel \) -prune \
  -o -printf '%p %y %m %U %G %s %T@ %l\n' | grep -v -E '^/(root|var|var/lib/systemd|var/lib/private)? d ' | sort
find /etc /usr/local -xdev -type f -exec sha256sum {} + | sort -k 2
systemctl list-unit-files --no-legend --plain
systemctl list-units --all --no-legend --plain --type=service,target,timer,path,socket
sysctl --all 2>/dev/null | grep -E '^(vm|kernel|net\.core|net\.ipv4)\.' \
  | grep -v -E 'random|ns_last_pid|pty\.nr|hostname|stat_refresh|tcp_fastopen_key'
cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor /sys/kernel/debug/sched/migration_cost_ns
find /var/lib/private /var/log/ascend-sglang /run/systemd/system /run/systemd/transient 2>/dev/null | sort
ls -A /etc/ascend-sglang /dev/shm 2>/dev/null
ss -Htln | sed -E 's/ +/ /g' | sort
"""


@pytest.fixture(scope="module")
def check(cluster, playbook):
    """The output of a check, and the hosts' states before and after it."""
    before = cluster.everywhere(STATE)
    done = playbook("deploy", "--check", "--diff")
    after = cluster.everywhere(STATE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, before, after


def test_it_changes_nothing(cluster, check):
    _output, before, after = check
    for name in cluster.hosts:
        assert len(before[name].splitlines()) > 1000, f"{name}: the state was not read"
        assert after[name].splitlines() == before[name].splitlines(), name


def test_it_lists_every_file_unit_and_start(cluster, check):
    output = check[0]
    for service in cluster.services:
        said = _said_of(output, service["host"])
        for wanted in (
            f"create /etc/ascend-sglang/{service['unit']}/launch.sh",
            f"create /etc/systemd/system/{service['unit']}.service",
            f"enable {service['unit']} at boot",
            f"start {service['unit']} ",
        ):
            assert wanted in said, f"{service['host']}: {wanted!r} is not in\n{said}"


def test_its_diff_shows_the_command_that_would_run(cluster, check):
    output = check[0]
    for service in cluster.services:
        assert f"exec {service['argv'][0]}" in output or f"-m {service['argv'][2]}" in output
        assert re.search(rf"^\+.*--port[ =]{service['ports']['http']}\b", output, re.MULTILINE), service


def test_it_counts_what_would_change(cluster, check):
    recap = check[0].rsplit("PLAY RECAP", 1)[1]
    for name in {service["host"] for service in cluster.services}:
        assert re.search(rf"^{name} .*changed=[1-9]", recap, re.MULTILINE), recap


def _said_of(output: str, host: str) -> str:
    """What the output says of one host: the results that carry its name."""
    blocks = re.split(r"^(?=(?:ok|changed|skipping|fatal|included): \[|TASK \[|PLAY )", output, flags=re.MULTILINE)
    return "\n".join(block for block in blocks if re.match(rf"(ok|changed): \[{re.escape(host)}\]", block))
