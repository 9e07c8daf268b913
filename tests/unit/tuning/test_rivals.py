# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who would win over the role's files, and is named; and who would not, and is not."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import tuning_rivals

GOVERNOR = {"governor": "performance"}


def rivals(host, **options):
    return host.apply(**options).rivals


def test_a_host_without_rivals(host, recipe):
    host.write("/usr/lib/sysctl.d/50-default.conf", "vm.swappiness = 60\n")
    host.write("/etc/sysctl.d/99-zz-local.conf", "vm.swappiness = 60\n")
    host.write("/etc/tuned/active_profile", "")
    assert rivals(host, recipe=recipe) == []


@pytest.mark.parametrize("place", ["/etc/sysctl.d", "/run/sysctl.d", "/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d"])
def test_a_file_that_is_read_later_is_named(host, place):
    host.write(f"{place}/zzzz-local.conf", "# mine\nvm/swappiness = 30\n")
    (rival,) = rivals(host, swappiness=0)
    assert str(rival).startswith(f"{place}/zzzz-local.conf sets vm.swappiness to 30 and wins over this role.")


def test_a_later_file_that_says_the_same_is_no_rival(host):
    host.write("/etc/sysctl.d/zzzz-local.conf", "vm.swappiness = 0\nvm.dirty_ratio = 5\n")
    assert rivals(host, swappiness=0) == []


def test_a_masked_file_is_not_read(host):
    host.write("/usr/lib/sysctl.d/zzzz.conf", "vm.swappiness = 30\n")
    (host.root / "etc/sysctl.d").mkdir(parents=True)
    (host.root / "etc/sysctl.d/zzzz.conf").symlink_to("/dev/null")
    host.write("/etc/sysctl.d/zzzzz.txt", "vm.swappiness = 30\n")
    assert rivals(host, swappiness=0) == []


def test_of_several_later_files_the_last_one_is_named(host):
    host.write("/etc/sysctl.d/zzzz-a.conf", "vm.swappiness = 30\n")
    host.write("/etc/sysctl.d/zzzz-b.conf", "vm.swappiness = 40\n")
    assert [(rival.who, rival.value) for rival in rivals(host, swappiness=0)] == [("/etc/sysctl.d/zzzz-b.conf", "40")]


def test_foreign_files_may_hold_anything(host, recipe):
    file = host.write("/etc/sysctl.d/zzzz.conf", "")
    file.write_bytes(b"\xff\xfe\x00 = \n=\n[section]\nvm.swappiness\nvm.swappiness = \x80\n- = -\n" + b"x" * 100_000)
    host.write("/etc/sysctl.conf", "net.ipv4.conf.all. = 1\nno such line\n")
    host.write("/etc/tuned/active_profile", "odd\n")
    host.write("/etc/tuned/odd/tuned.conf", "[\n]x[\n=\n[sysctl\nvm.swappiness\n")
    (host.root / "etc/sysctl.d/zzzz-dir.conf").mkdir()
    (host.root / "etc/sysctl.d/zzzz-gone.conf").symlink_to("nowhere")
    host.apply(recipe=recipe)
    assert host.read("/proc/sys/vm/swappiness") == "0"


def test_sysctl_conf_wins_for_those_who_load_it(host):
    host.write("/etc/sysctl.conf", "vm.swappiness = 30\n")
    (rival,) = rivals(host, swappiness=0)
    assert rival.who == "/etc/sysctl.conf"
    assert "sysctl --system" in rival.advice


def test_rival_ports_are_compared_as_sets(host):
    host.write("/etc/sysctl.d/zzzz.conf", "net.ipv4.ip_local_reserved_ports = 8001,8000\n")
    assert rivals(host, reserved_ports=["8000-8001"], reserved_ports_enabled=True) == []
    host.write("/etc/sysctl.d/zzzz.conf", "net.ipv4.ip_local_reserved_ports = 8001\n")
    assert len(rivals(host, reserved_ports=["8000-8001"], reserved_ports_enabled=True)) == 1


def test_what_was_skipped_has_no_rivals(bare):
    bare.write("/etc/tuned/active_profile", "p\n")
    bare.write("/etc/tuned/p/tuned.conf", "[cpu]\ngovernor=powersave\n[sysctl]\nvm.swappiness=30\n")
    assert rivals(bare, governor="performance", swappiness=0) == []


# tuned ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", tuning_rivals.TUNED_DIRECTORIES)
def test_the_active_tuned_profile_is_named(host, place):
    host.write("/etc/tuned/active_profile", "mine\n")
    host.write(f"{place}/mine/tuned.conf", "[main]\n[sysctl]\nvm.swappiness=30\n")
    (rival,) = rivals(host, swappiness=0)
    assert (rival.setting, rival.value) == ("vm.swappiness", "30")
    assert f"active profile is mine ({place}/mine/tuned.conf)" in rival.who


def test_a_tuned_profile_that_is_not_active_is_no_rival(host):
    host.write("/etc/tuned/mine/tuned.conf", "[sysctl]\nvm.swappiness=30\n")
    assert rivals(host, swappiness=0) == []


def test_a_tuned_profile_may_include_others_and_override_them(host):
    host.write("/etc/tuned/active_profile", "mine\n")
    host.write("/etc/tuned/mine/tuned.conf", "[main]\ninclude=base, other\n[sysctl]\nkernel.numa_balancing=1\n")
    host.write("/usr/lib/tuned/base/tuned.conf", "[sysctl]\nvm.swappiness=30\nkernel.numa_balancing=0\n")
    host.write(
        "/usr/lib/tuned/other/tuned.conf", "[main]\ninclude=mine\n[scheduler]\nsched_migration_cost_ns=5000000\n"
    )
    found = rivals(host, swappiness=0, numa_balancing=0, sched_migration_cost_ns=50000)
    assert {rival.setting: rival.value for rival in found} == {
        "vm.swappiness": "30",
        "kernel.numa_balancing": "1",
        "kernel.sched_migration_cost_ns": "5000000",
    }


def test_the_words_of_tuned_for_governor_and_huge_pages(host):
    host.write("/etc/tuned/active_profile", "mine\n")
    host.write("/etc/tuned/mine/tuned.conf", "[cpu]\ngovernor=schedutil|ondemand\n[vm]\ntransparent_hugepages=always\n")
    found = rivals(host, governor="performance", transparent_hugepage="never", transparent_hugepage_enabled=True)
    assert {rival.setting for rival in found} == {"governor", "transparent_hugepage"}
    host.write(
        "/etc/tuned/mine/tuned.conf", "[cpu]\ngovernor=performance|schedutil\n[vm]\ntransparent_hugepages=never\n"
    )
    assert rivals(host, governor="performance", transparent_hugepage="never", transparent_hugepage_enabled=True) == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[mine]\ntype=sysctl\nvm.swappiness=30\n", {"vm.swappiness": "30"}),
        ("[mine]\ntype=cpu\ngovernor=powersave\n", {"governor": "powersave"}),
        ("[variables]\nmuch=30\n[sysctl]\nvm.swappiness=${much}\n", {"vm.swappiness": "30"}),
        ("[variables]\nmuch=0\n[sysctl]\nvm.swappiness=${much}\n", {}),
        ("[sysctl]\nvm.swappiness=0 # as the recipe\n", {}),
        ("[sysctl]\nenabled=false\nvm.swappiness=30\n", {}),
        ("[sysfs]\n/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor=powersave\n", {"governor": "powersave"}),
        (
            "[sysfs]\n/sys/kernel/debug/sched/migration_cost_ns=5\n/proc/sys/vm/swappiness=30\n/sys/x=1\n",
            {"kernel.sched_migration_cost_ns": "5", "vm.swappiness": "30"},
        ),
    ],
)
def test_tuneds_ways_to_say_it(host, recipe, text, values):
    host.write("/etc/tuned/active_profile", "mine\n")
    host.write("/etc/tuned/mine/tuned.conf", text)
    assert {rival.setting: rival.value for rival in rivals(host, recipe=recipe)} == values


# tmpfiles.d -----------------------------------------------------------------------------------------------------------


def test_a_line_of_tmpfiles_that_writes_a_sysctl_is_named(host, recipe):
    host.write(
        "/usr/lib/tmpfiles.d/x.conf",
        "# w /proc/sys/kernel/numa_balancing - - - - 1\nd /proc/sys/vm/swappiness\nw\n"
        "w- /proc/sys/vm/swappiness - - - - 30\n"
        "w /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor - - - - powersave\n",
    )
    (rival,) = rivals(host, recipe=recipe)
    assert str(rival).startswith("/usr/lib/tmpfiles.d/x.conf sets vm.swappiness to 30 and wins over this role. Remove")
    host.write("/etc/tmpfiles.d/x.conf", "w /proc/sys/vm/swappiness - - - - 0\n")
    assert rivals(host, recipe=recipe) == []


# Power services -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sign",
    [
        "/etc/systemd/system/graphical.target.wants/power-profiles-daemon.service",
        "/usr/lib/systemd/system/multi-user.target.wants/power-profiles-daemon.service",
        "/run/systemd/units/invocation:power-profiles-daemon.service",
    ],
)
def test_a_power_service_that_is_enabled_or_runs_is_named(host, sign):
    host.write(sign, "")
    (rival,) = rivals(host, **GOVERNOR)
    assert "power-profiles-daemon.service sets governor and wins" in str(rival)
    assert "systemctl disable --now power-profiles-daemon.service" in str(rival)
    assert rivals(host, swappiness=0) == []


def test_the_tuning_daemons_of_openeuler_are_named(host):
    for service in ("atuned", "pwrapis"):
        host.write(f"/etc/systemd/system/multi-user.target.wants/{service}.service", "")
    assert [rival.who for rival in rivals(host, **GOVERNOR)] == ["atuned.service", "pwrapis.service"]


def test_a_power_service_that_is_only_installed_is_no_rival(host):
    host.write("/usr/lib/systemd/system/power-profiles-daemon.service", "[Unit]\n")
    assert rivals(host, **GOVERNOR) == []


def test_a_masked_power_service_is_no_rival(host):
    host.write("/usr/lib/systemd/system/multi-user.target.wants/ondemand.service", "")
    (host.root / "etc/systemd/system").mkdir(parents=True)
    (host.root / "etc/systemd/system/ondemand.service").symlink_to("/dev/null")
    assert rivals(host, **GOVERNOR) == []


def test_an_init_script(host):
    host.write("/etc/rc2.d/S01cpufrequtils", "")
    host.write("/etc/default/cpufrequtils", 'ENABLE="true"\nGOVERNOR="powersave"\n')
    assert [rival.value for rival in rivals(host, **GOVERNOR)] == ["powersave"]


@pytest.mark.parametrize(
    ("service", "file", "text", "value"),
    [
        ("cpupower", "/etc/sysconfig/cpupower", "CPUPOWER_START_OPTS='frequency-set -g {}'\n", "ondemand"),
        ("cpupower", "/etc/sysconfig/cpupower", 'CPUPOWER_START_OPTS="frequency-set --governor {}"\n', "ondemand"),
        ("cpupower", "/etc/default/cpupower", "#governor='x'\ngovernor = {}\n", "ondemand"),
        ("tlp", "/etc/tlp.conf", "CPU_SCALING_GOVERNOR_ON_AC={}\nCPU_SCALING_GOVERNOR_ON_BAT=powersave\n", "schedutil"),
        ("auto-cpufreq", "/etc/auto-cpufreq.conf", "[charger]\ngovernor = {}\n", "powersave"),
    ],
)
def test_what_a_power_service_is_configured_to_set(host, service, file, text, value):
    host.write(f"/etc/systemd/system/multi-user.target.wants/{service}.service", "")
    host.write(file, text.format(value))
    assert [rival.value for rival in rivals(host, **GOVERNOR)] == [value]
    host.write(file, text.format("performance"))
    assert rivals(host, **GOVERNOR) == []


# Scripts at boot ------------------------------------------------------------------------------------------------------


def test_rc_local_is_named_with_its_line(host):
    script = host.write(
        "/etc/rc.local",
        "#!/bin/sh\n# echo 5 > /proc/sys/vm/swappiness\nsysctl -w kernel.numa_balancing=1\n"
        "echo ondemand | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor\n",
    )
    options = {"swappiness": 0, "numa_balancing": 0, "governor": "performance"}
    assert rivals(host, **options) == [], "a script that is not executable is not run at boot"
    script.chmod(0o755)
    found = rivals(host, **options)
    assert {rival.setting for rival in found} == {"kernel.numa_balancing", "governor"}
    assert "sysctl -w kernel.numa_balancing=1" in str(found[0]) + str(found[1])
