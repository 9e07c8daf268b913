# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before anything is deployed: check mode tells the truth, strict refuses, the way back has nothing to do."""

from __future__ import annotations

import pytest


def test_the_hosts_are_as_this_scenario_wants_them(lab, fresh, name):
    assert lab.values(name) == fresh[name]
    assert lab.own_files(name) == []


def test_remember_the_machine_and_the_hosts(lab, memory, machine):
    remember, _unused = memory
    remember("machine", machine())
    remember("trees", {name: lab.tree(name) for name in lab.hosts})


@pytest.fixture(scope="module")
def foretold(playbooks):
    tune, _unused = playbooks
    return tune("--check", "--diff")


def test_check_mode_names_what_would_change(foretold, lab):
    assert foretold.status == 0
    assert foretold.changed == dict.fromkeys(lab.hosts, 1)
    for sentence in (
        "vm.swappiness: 17 -> 0",
        "vm.swappiness: 60 -> 10",
        "governor of cpu0-1: schedutil -> performance",
        "transparent_hugepage: madvise -> never",
        "net.ipv4.ip_local_reserved_ports: 111,8998 -> 111,8000,8998,24670,60000-60015",
        "/etc/sysctl.d/zzz-ascend-sglang.conf: written",
        "-vm.swappiness = 17",
        "+vm.swappiness = 0",
    ):
        assert sentence in foretold.text


def test_check_mode_names_what_a_host_does_not_have(foretold):
    for sentence in (
        "governor of cpu0-1 is left as it is: performance is not on offer there, only ondemand, powersave",
        "governor is left as it is: this machine has no cpufreq tree",
        "kernel.sched_migration_cost_ns is left as it is: this kernel has no /proc/sys/kernel/sched_migration_cost_ns",
        "fs.file-max is left as it is: it is read-only here",
    ):
        assert sentence in foretold.text


def test_check_mode_names_who_would_win(foretold):
    assert "tuned, whose active profile is mine (/etc/tuned/mine/tuned.conf), sets vm.swappiness to 30" in foretold.text
    assert "ondemand.service sets governor and wins over this role" in foretold.text
    assert "99-zz-local.conf sets" not in foretold.text


def test_check_mode_changes_nothing(foretold, lab, fresh, memory, name):
    _unused, remembered = memory
    assert lab.values(name) == fresh[name]
    assert lab.tree(name) == remembered("trees")[name]


def test_strict_refuses_before_it_changes_anything(playbooks, lab, fresh):
    tune, _unused = playbooks
    run = tune("-e", "host_tuning_strict=true", "--limit", "old,locked")
    assert run.status != 0
    assert "this host cannot have all that was asked for; nothing was changed. governor of cpu0-1" in run.text
    assert "fs.file-max is left as it is" in run.text
    for name in ("old", "locked"):
        assert lab.values(name) == fresh[name]
        assert lab.own_files(name) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('{"host_tuning_swappiness": 1000}', "vm.swappiness is 1000; it must be a whole number from 0 to 200"),
        ('{"host_tuning_reserved_ports": ["http"]}', "'http' is neither a port"),
        ('{"host_tuning_recipe": {"sysctl": {"swappiness": 0}}}', "'swappiness' is not the name of a sysctl"),
    ],
)
def test_wrong_values_are_refused_in_words(playbooks, options, words):
    tune, _unused = playbooks
    run = tune("-e", options, "--limit", "new")
    assert run.status != 0
    assert words in run.text
    assert "Traceback" not in run.text


def test_the_way_back_has_nothing_to_do(playbooks, lab, memory):
    _unused, restore = playbooks
    _unused, remembered = memory
    run = restore()
    assert (run.status, run.changed) == (0, dict.fromkeys(run.changed, 0))
    assert {name: lab.tree(name) for name in lab.hosts} == remembered("trees")
