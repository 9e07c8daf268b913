# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After two deployments (the second one changed nothing, or molecule would have stopped)."""

from __future__ import annotations

import json


def test_values(lab, tuned, name):
    assert lab.values(name) == tuned[name]


def test_the_migration_cost_lasts_where_the_kernel_has_it(lab):
    sysctl, script = "/etc/sysctl.d/zzz-ascend-sglang.conf", "/etc/ascend-sglang/host-tuning.sh"
    old, new, locked = (lab.hosts[name] for name in ("old", "new", "locked"))
    assert "kernel.sched_migration_cost_ns = 50000" in old.file(sysctl).content_string
    # A key that the kernel does not have would make all of `sysctl --system` fail.
    for host in (new, locked):
        assert "migration" not in host.file(sysctl).content_string
    assert "/sys/kernel/debug/sched/migration_cost_ns" in new.file(script).content_string
    assert not locked.file(script).exists


def test_our_file_is_the_last_word_of_what_is_read_at_boot(lab):
    text = lab.hosts["old"].check_output("systemd-analyze cat-config sysctl.d")
    values = [line for line in text.splitlines() if line.replace(" ", "").startswith("vm.swappiness=")]
    assert len(values) > 1
    assert values[-1] == "vm.swappiness = 0"


def test_the_record_has_what_was_there_before(lab, fresh):
    record = json.loads(lab.hosts["old"].file("/var/lib/ascend-sglang/host_tuning.json").content_string)
    assert record["before"]["vm.swappiness"] == fresh["old"]["swappiness"]
    assert record["added_ports"] == "8000,24670,60000-60015"
    assert "governor cpu0" not in record["before"]


def test_no_unit_has_failed_and_none_was_started_for_nothing(lab):
    assert lab.hosts["new"].service("ascend-sglang-host-tuning").is_enabled
    assert lab.hosts["new"].check_output("systemctl --failed --no-legend") == ""
