# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a reboot of every host at the same time the cluster answers again, without Ansible."""

from __future__ import annotations

import json
import time

CHAT = {"model": "default", "messages": [{"role": "user", "content": "Are you back?"}], "max_tokens": 8}


def test_every_host_was_rebooted(cluster):
    before = cluster.remembered("boots")
    now = cluster.everywhere("cat /proc/sys/kernel/random/boot_id")
    assert all(now[name] != before[name] for name in now)


def test_the_entrance_answers_again(cluster):
    end = time.monotonic() + 180
    while True:
        try:
            answer = json.loads(cluster.ask("/v1/chat/completions", CHAT))
            break
        except AssertionError as error:
            if time.monotonic() > end:
                raise AssertionError(f"no answer 180 s after the reboot: {error}") from error
            time.sleep(1)
    assert answer["choices"][0]["message"]["content"]


def test_the_units_run(cluster):
    for host, unit in cluster.units:
        assert host.service(unit).is_running, unit


def test_host_tuning_is_back(cluster):
    for service in cluster.of_role("prefill", "decode", "mixed"):
        host = cluster.hosts[service["host"]]
        dropins = host.check_output("cat /etc/sysctl.d/*sglang* 2>/dev/null || true")
        for line in dropins.splitlines():
            name, separator, value = line.partition("=")
            if separator and not name.startswith(("#", ";")):
                assert str(host.sysctl(name.strip(" -"))) == value.strip(), f"{service['host']}: {line}"
