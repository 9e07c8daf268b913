# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a reboot without Ansible: values hold. Then the way back, twice, and forth again."""

from __future__ import annotations


def test_values_hold(lab, tuned, name):
    assert lab.values(name) == tuned[name]


def test_the_boot_script_had_nothing_to_complain(lab):
    journal = lab.hosts["new"].check_output("journalctl -b -u ascend-sglang-host-tuning -o cat --no-pager")
    assert "Finished" in journal
    assert "not set" not in journal
    assert "does not take" not in journal


def test_a_deployment_after_the_reboot_changes_nothing(playbooks, lab):
    tune, _unused = playbooks
    run = tune()
    assert (run.status, run.changed) == (0, dict.fromkeys(lab.hosts, 0))


def test_a_file_that_is_read_later_is_named_and_does_win(playbooks, lab, tuned):
    tune, _unused = playbooks
    host = lab.hosts["locked"]
    host.check_output("echo 'vm.swappiness = 30' > /etc/sysctl.d/zzzz-mine.conf")
    assert (
        "/etc/sysctl.d/zzzz-mine.conf sets vm.swappiness to 30 and wins over this role"
        in tune("--limit", "locked").text
    )
    host.check_output("/usr/lib/systemd/systemd-sysctl")
    assert lab.values("locked")["swappiness"] == "30"
    host.check_output("rm /etc/sysctl.d/zzzz-mine.conf")
    assert tune("--limit", "locked").changed == {"locked": 1}
    assert lab.values("locked") == tuned["locked"]


def test_what_is_switched_off_is_put_back(playbooks, lab, fresh, tuned):
    tune, _unused = playbooks
    run = tune(
        "--limit", "new", "-e", "host_tuning_governor_enabled=false", "-e", "host_tuning_reserved_ports_enabled=false"
    )
    assert "governor of cpu0-1: performance -> schedutil" in run.text
    kept = {key: tuned["new"][key] for key in ("swappiness", "numa_balancing", "cost_in_debugfs", "huge_pages")}
    assert lab.values("new") == fresh["new"] | kept
    assert tune("--limit", "new").changed == {"new": 1}
    assert lab.values("new") == tuned["new"]


def test_check_mode_of_the_way_back(playbooks, lab, tuned):
    _unused, restore = playbooks
    trees = {name: lab.tree(name) for name in lab.hosts}
    run = restore("--check")
    assert "vm.swappiness: 0 -> 17" in run.text
    assert {name: lab.values(name) for name in lab.hosts} == tuned
    assert {name: lab.tree(name) for name in lab.hosts} == trees


def test_the_way_back(playbooks, lab, fresh, memory):
    _unused, restore = playbooks
    _unused, remembered = memory
    run = restore()
    assert run.status == 0
    assert {name: run.changed[name] for name in lab.hosts} == dict.fromkeys(lab.hosts, 1)
    assert {name: lab.values(name) for name in lab.hosts} == fresh
    assert {name: lab.tree(name) for name in lab.hosts} == remembered("trees")
    for host in lab.hosts.values():
        assert not host.file("/etc/ascend-sglang").exists
        assert not host.file("/var/lib/ascend-sglang").exists
        assert "host-tuning" not in host.check_output("systemctl list-units --all --no-legend")


def test_a_second_time_changes_nothing(playbooks, lab):
    _unused, restore = playbooks
    run = restore()
    assert (run.status, run.changed) == (0, dict.fromkeys(run.changed, 0))


def test_forth_again_ends_in_the_same_state(playbooks, lab, tuned, fresh):
    tune, restore = playbooks
    assert tune().changed == dict.fromkeys(lab.hosts, 1)
    assert {name: lab.values(name) for name in lab.hosts} == tuned
    assert restore().status == 0
    assert {name: lab.values(name) for name in lab.hosts} == fresh


def test_the_machine_is_as_it_was_found(memory, machine):
    _unused, remembered = memory
    assert machine() == remembered("machine")
