# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host before, after, after a second run and after its way back, on made-up trees as people's hosts have them."""

from __future__ import annotations

import errno
import json
import os
import stat

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import tuning, tuning_files, tuning_host
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_machine import Machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def by_name(report):
    return {outcome.name: outcome for outcome in report.outcomes}


def test_everything_is_set_read_back_and_made_to_last(host, recipe):
    report = host.apply(recipe=recipe)
    assert report.changed
    assert report.missed == []
    assert host.read("/proc/sys/vm/swappiness") == "0"
    assert host.read("/proc/sys/kernel/numa_balancing") == "0"
    assert host.read("/sys/kernel/debug/sched/migration_cost_ns") == "50000"
    assert host.governor(0) == host.governor(1) == "performance"
    assert {outcome.lasts_by for outcome in report.outcomes} == {tuning_files.SYSCTL_FILE, tuning_files.BOOT_SCRIPT}
    assert (host.root / tuning_files.UNIT_LINK.lstrip("/")).readlink().as_posix() == tuning_files.UNIT


def test_a_second_run_changes_nothing(host, recipe):
    host.apply(recipe=recipe)
    before = host.snapshot()
    report = host.apply(recipe=recipe)
    assert not report.changed
    assert host.snapshot() == before
    assert {outcome.status for outcome in report.outcomes} == {tuning_host.KEPT}


@pytest.mark.parametrize("options", [{}, {"swappiness": 10}, {"transparent_hugepage_enabled": True}])
def test_check_mode_says_what_a_run_does_and_changes_nothing(host, recipe, options):
    before = host.snapshot()
    foretold = host.apply(recipe=recipe, check=True, **options)
    assert host.snapshot() == before
    assert host.apply(recipe=recipe, **options) == foretold


def test_check_mode_of_the_way_back(host, recipe):
    host.apply(recipe=recipe)
    before = host.snapshot()
    foretold = host.restore(check=True)
    assert host.snapshot() == before
    assert host.restore() == foretold


def test_the_way_back_leaves_no_trace(host, recipe):
    before = host.snapshot()
    host.apply(recipe=recipe, reserved_ports=[8000], reserved_ports_enabled=True)
    assert host.restore().changed
    after = host.snapshot()
    assert {name: text.strip() for name, text in after.items()} == {
        name: text.strip().replace("always [madvise] never", after[name].strip()) for name, text in before.items()
    }
    assert not host.exists("/etc/ascend-sglang")
    assert not host.exists("/var/lib/ascend-sglang")
    assert not host.restore().changed


def test_deploy_restore_deploy_ends_where_deploy_ended(host, recipe):
    host.apply(recipe=recipe)
    first = host.snapshot()
    host.restore()
    host.apply(recipe=recipe)
    assert host.snapshot() == first


def test_a_host_tuned_by_hand_gets_its_own_values_back(host, recipe):
    host.write("/proc/sys/vm/swappiness", "17\n")
    host.cpu(1, "powersave")
    host.apply(recipe=recipe)
    host.apply(recipe=recipe, swappiness=10)
    host.apply(recipe=recipe)
    host.restore()
    assert host.read("/proc/sys/vm/swappiness") == "17"
    assert (host.governor(0), host.governor(1)) == ("schedutil", "powersave")


def test_a_value_that_was_right_already_is_made_to_last_and_stays_on_the_way_back(host):
    host.write("/proc/sys/vm/swappiness", "0\n")
    report = host.apply(swappiness=0)
    assert by_name(report)["vm.swappiness"].status == tuning_host.KEPT
    assert "vm.swappiness = 0\n" in (host.root / tuning_files.SYSCTL_FILE.lstrip("/")).read_text()
    host.restore()
    assert host.read("/proc/sys/vm/swappiness") == "0"


def test_what_is_not_asked_for_any_more_is_put_back(host, recipe):
    host.apply(recipe=recipe)
    report = host.apply(recipe=recipe, swappiness_enabled=False, governor_enabled=False)
    assert by_name(report)["vm.swappiness"].status == tuning_host.RESTORED
    assert host.read("/proc/sys/vm/swappiness") == "60"
    assert host.governor(0) == "schedutil"
    assert "swappiness" not in host.read(tuning_files.SYSCTL_FILE)
    assert "scaling_governor" not in host.read(tuning_files.BOOT_SCRIPT)
    assert set(json.loads(host.read(tuning_files.RECORD))["before"]) == {
        "kernel.numa_balancing",
        "kernel.sched_migration_cost_ns",
    }


def test_without_anything_for_the_boot_script_there_is_no_unit(host):
    host.apply(governor="performance")
    host.apply(swappiness=0)
    for path in (tuning_files.BOOT_SCRIPT, tuning_files.UNIT):
        assert not host.exists(path)
    assert not (host.root / tuning_files.UNIT_LINK.lstrip("/")).is_symlink()


def test_modes_and_texts_of_files_are_kept_up(host):
    host.apply(swappiness=0, governor="performance")
    script = host.root / tuning_files.BOOT_SCRIPT.lstrip("/")
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    script.chmod(0o600)
    host.write(tuning_files.SYSCTL_FILE, "vm.swappiness = 99\n")
    assert host.apply(swappiness=0, governor="performance").changed
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert "vm.swappiness = 0\n" in (host.root / tuning_files.SYSCTL_FILE.lstrip("/")).read_text()


# The governor ---------------------------------------------------------------------------------------------------------


def test_each_cpu_for_itself(bare):
    bare.cpu(0, "ondemand", "ondemand performance")
    bare.cpu(1, "performance")
    bare.cpu(2, "powersave", "powersave")
    report = bare.apply(governor="performance")
    outcomes = by_name(report)
    assert [outcomes[f"governor cpu{n}"].status for n in range(3)] == ["set", "kept", "skipped"]
    assert [bare.governor(n) for n in range(3)] == ["performance", "performance", "powersave"]
    assert tuning_host.sentences(report.missed) == [
        "governor of cpu2 is left as it is: performance is not on offer there, only powersave"
    ]
    assert not bare.apply(governor="performance").changed
    bare.restore()
    assert [bare.governor(n) for n in range(3)] == ["ondemand", "performance", "powersave"]


def test_no_cpufreq_tree_is_one_sentence_and_no_change(bare):
    bare.write("/sys/devices/system/cpu/cpu0/online", "1\n")
    bare.write("/sys/devices/system/cpu/cpuidle/current_driver", "none\n")
    report = bare.apply(governor="performance")
    assert not report.changed
    (sentence,) = tuning_host.sentences(report.missed)
    assert "no cpufreq tree" in sentence


def test_many_cpus_with_one_fate_are_one_sentence(bare):
    for number in range(64):
        bare.cpu(number, "powersave", "powersave ondemand")
    report = bare.apply(governor="performance")
    (sentence,) = tuning_host.sentences(report.missed)
    assert sentence.startswith("governor of cpu0-63 is left")


def test_cpus_that_share_a_policy(bare):
    bare.write("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "ondemand\n")
    for number in (0, 1):
        (bare.root / f"sys/devices/system/cpu/cpu{number}").mkdir()
        (bare.root / f"sys/devices/system/cpu/cpu{number}/cpufreq").symlink_to("../cpufreq/policy0")
    outcomes = by_name(bare.apply(governor="performance"))
    assert [outcomes[f"governor cpu{n}"].status for n in range(2)] == ["set", "set"]


def test_a_cpu_that_is_gone_does_not_hinder_the_way_back(bare):
    bare.cpu(0, "ondemand")
    bare.cpu(1, "ondemand")
    bare.apply(governor="performance")
    (bare.root / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor").unlink()
    report = bare.restore()
    assert bare.governor(0) == "ondemand"
    assert (
        "there is no /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor" in tuning_host.sentences(report.missed)[0]
    )
    assert not bare.restore().changed
    assert not bare.exists(tuning_files.RECORD)


# The migration cost on three kernels ----------------------------------------------------------------------------------


def test_migration_cost_as_sysctl(bare):
    bare.write("/proc/sys/kernel/sched_migration_cost_ns", "500000\n")
    bare.apply(sched_migration_cost_ns=50000)
    assert bare.read("/proc/sys/kernel/sched_migration_cost_ns") == "50000"
    assert "kernel.sched_migration_cost_ns = 50000" in bare.read(tuning_files.SYSCTL_FILE)
    assert not bare.exists(tuning_files.UNIT)


def test_migration_cost_in_debugfs(bare):
    bare.write("/sys/kernel/debug/sched/migration_cost_ns", "500000\n")
    bare.apply(sched_migration_cost_ns=50000)
    assert bare.read("/sys/kernel/debug/sched/migration_cost_ns") == "50000"
    assert not bare.exists(tuning_files.SYSCTL_FILE)
    assert "put 50000 /sys/kernel/debug/sched/migration_cost_ns" in bare.read(tuning_files.BOOT_SCRIPT)


def test_migration_cost_nowhere(bare):
    bare.write("/proc/sys/vm/swappiness", "60\n")
    report = bare.apply(sched_migration_cost_ns=50000, swappiness=0)
    (sentence,) = tuning_host.sentences(report.missed)
    assert "no /proc/sys/kernel/sched_migration_cost_ns and no /sys/kernel/debug/sched/migration_cost_ns" in sentence
    # A name that the kernel does not know would make all of `sysctl --system` fail.
    assert "migration" not in bare.read(tuning_files.SYSCTL_FILE)


def test_a_new_kernel_between_two_deployments_and_the_way_back(bare):
    old = bare.write("/proc/sys/kernel/sched_migration_cost_ns", "400000\n")
    bare.apply(sched_migration_cost_ns=50000)
    old.unlink()
    bare.write("/sys/kernel/debug/sched/migration_cost_ns", "500000\n")
    bare.apply(sched_migration_cost_ns=50000)
    assert not bare.exists(tuning_files.SYSCTL_FILE)
    assert bare.exists(tuning_files.BOOT_SCRIPT)
    bare.restore()
    assert bare.read("/sys/kernel/debug/sched/migration_cost_ns") == "400000"


@pytest.mark.parametrize("name", ["kernel.sched_latency_ns", "kernel.numa_balancing_scan_delay_ms"])
def test_other_values_of_the_scheduler_have_moved_too(bare, name):
    moved = {
        "kernel.sched_latency_ns": "latency_ns",
        "kernel.numa_balancing_scan_delay_ms": "numa_balancing/scan_delay_ms",
    }
    bare.write(f"/sys/kernel/debug/sched/{moved[name]}", "6\n")
    bare.apply(sysctl={name: 24})
    assert bare.read(f"/sys/kernel/debug/sched/{moved[name]}") == "24"


# What cannot be changed -----------------------------------------------------------------------------------------------


def refusing(host, **refused):
    """A machine whose kernel refuses to open (obstacle) or to take (put) some files."""

    class Refusing(Machine):
        def look(self, path):
            look = super().look(path)
            return look._replace(obstacle=refused["obstacle"]) if look and "obstacle" in refused else look

        def put(self, path, value):
            if "clamp" in refused:
                return super().put(path, refused["clamp"])
            return refused.get("put") or super().put(path, value)

    return Refusing(root=str(host.root))


def test_read_only_is_skipped_and_not_remembered(host, recipe):
    before = host.snapshot()
    report = tuning_host.apply(refusing(host, obstacle="it is read-only here"), tuning.wish_of({"recipe": recipe}))
    assert not report.changed
    assert host.snapshot() == before
    assert {outcome.why for outcome in report.missed} == {"it is read-only here"}


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EROFS, "it is read-only here, as in a container"),
        (errno.EPERM, "the kernel does not let it be used"),
        (errno.EACCES, "the kernel does not let it be used"),
        (errno.EIO, "the kernel says: Input/output error"),
    ],
)
def test_why_a_file_cannot_be_written(host, monkeypatch, number, words):
    def refuse(path, *_flags):
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "open", refuse)
    assert host.machine().look("/proc/sys/vm/swappiness") == ("60\n", words)


def test_why_a_file_cannot_be_read(host):
    (host.root / "proc/sys/vm/swappiness").unlink()
    (host.root / "proc/sys/vm/swappiness").mkdir()
    look = host.machine().look("/proc/sys/vm/swappiness")
    assert look == (None, "the kernel says: Is a directory")


def test_a_refused_value_is_reported_and_not_made_to_last(host):
    machine = refusing(host, put="the kernel does not take 150 (Invalid argument)")
    report = tuning_host.apply(machine, tuning.wish_of({"swappiness": 150}))
    assert tuning_host.sentences(report.missed) == [
        "vm.swappiness was to be 150 and is not: the kernel does not take 150 (Invalid argument)"
    ]
    assert not host.exists(tuning_files.SYSCTL_FILE)
    assert not tuning_host.apply(machine, tuning.wish_of({"swappiness": 150})).changed


def test_a_value_that_reads_back_as_another_is_reported(host):
    report = tuning_host.apply(refusing(host, clamp="100"), tuning.wish_of({"swappiness": 150}))
    assert "it was written, and reads 100 afterwards" in tuning_host.sentences(report.missed)[0]
    assert report.changed


def test_strict_says_all_of_it_before_anything_is_changed(host, recipe):
    host.cpu(1, "powersave", "powersave")
    (host.root / "sys/kernel/debug/sched/migration_cost_ns").unlink()
    before = host.snapshot()
    with pytest.raises(tuning_host.NotPossibleError) as raised:
        host.apply(recipe=recipe, strict=True)
    assert "cpu1" in str(raised.value)
    assert "migration_cost_ns" in str(raised.value)
    assert host.snapshot() == before


def test_strict_is_content_with_a_host_that_has_everything(host, recipe):
    assert host.apply(recipe=recipe, strict=True).missed == []


def test_a_broken_record_stops_everything(host, recipe):
    host.write(tuning_files.RECORD, "{")
    before = host.snapshot()
    with pytest.raises(ValueError, match=r"host_tuning\.json"):
        host.apply(recipe=recipe)
    assert host.snapshot() == before


def test_a_record_that_is_there_and_cannot_be_read_is_not_taken_for_none(host, recipe):
    (host.root / tuning_files.RECORD.lstrip("/")).mkdir(parents=True)
    before = host.snapshot()
    for run in (lambda: host.apply(recipe=recipe), host.restore):
        with pytest.raises(
            ValueError, match=r"host_tuning\.json, the record of this host's own values, cannot be used"
        ):
            run()
    assert host.snapshot() == before


def test_the_record_is_there_before_the_first_change(host, recipe):
    class Stopping(Machine):
        def put(self, path, value):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuning_host.apply(Stopping(root=str(host.root)), tuning.wish_of({"recipe": recipe}))
    assert json.loads(host.read(tuning_files.RECORD))["before"]["vm.swappiness"] == "60"
    host.restore()
    assert not host.exists(tuning_files.RECORD)


# Huge pages and ports -------------------------------------------------------------------------------------------------


def test_huge_pages_there_and_back(host):
    host.apply(transparent_hugepage="never", transparent_hugepage_enabled=True)
    assert host.read("/sys/kernel/mm/transparent_hugepage/enabled") == "never"
    assert "transparent_hugepage/enabled" in host.read(tuning_files.BOOT_SCRIPT)
    host.restore()
    assert host.read("/sys/kernel/mm/transparent_hugepage/enabled") == "madvise"


def test_huge_pages_that_the_kernel_does_not_know(host, bare):
    host.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [never]\n")
    report = host.apply(transparent_hugepage="madvise", transparent_hugepage_enabled=True)
    assert "madvise is not on offer there, only always, never" in report.missed[0].why
    (host.root / "sys/kernel/mm/transparent_hugepage/enabled").unlink()
    report = host.apply(transparent_hugepage="madvise", transparent_hugepage_enabled=True)
    assert "no transparent huge pages" in report.missed[0].why


def test_reserved_ports_of_others_stay(host):
    path = "/proc/sys/net/ipv4/ip_local_reserved_ports"
    host.write(path, "111,8001\n")
    host.apply(reserved_ports=[8000, 8001, "60000-60015"], reserved_ports_enabled=True)
    assert host.read(path) == "111,8000-8001,60000-60015"
    assert "ip_local_reserved_ports = 111,8000-8001,60000-60015" in host.read(tuning_files.SYSCTL_FILE)
    # Somebody reserves one more; the plan has others now.
    host.write(path, "111,222,8000-8001,60000-60015\n")
    host.apply(reserved_ports=[9000], reserved_ports_enabled=True)
    assert host.read(path) == "111,222,8001,9000"
    assert not host.apply(reserved_ports=[9000], reserved_ports_enabled=True).changed
    host.restore()
    assert host.read(path) == "111,222,8001"


def test_reserved_ports_switched_off_again(host):
    host.apply(reserved_ports=[8000], reserved_ports_enabled=True)
    host.apply(reserved_ports=[8000])
    assert host.read("/proc/sys/net/ipv4/ip_local_reserved_ports") == ""
    assert not host.exists(tuning_files.RECORD)


# debugfs that is not mounted ------------------------------------------------------------------------------------------


class Kernel:
    """Answers the module's `unshare … mount -t debugfs` as a kernel would."""

    def __init__(self, value="500000\n", read=0, write=0):
        self.value, self.read, self.write = value, read, write
        self.calls = []

    def __call__(self, argv, _timeout):
        self.calls.append(argv)
        if len(argv) == 9:
            if not self.write:
                self.value = argv[8] + "\n"
            return Answer(self.write, "", "Operation not permitted")
        return Answer(self.read, self.value if self.read in (0, 93) else "", "mount: permission denied")


def private(kernel):
    machine = Machine(ask=kernel)
    machine.debugfs_is_private = True
    return machine


def test_a_private_debugfs_is_read_and_written():
    kernel = Kernel()
    machine = private(kernel)
    path = "/sys/kernel/debug/sched/migration_cost_ns"
    assert machine.look(path) == ("500000\n", "")
    assert machine.put(path, "50000") == ""
    assert machine.look(path) == ("50000\n", "")
    assert all(call[:4] == ["unshare", "--mount", "sh", "-c"] for call in kernel.calls)


def test_a_private_debugfs_without_the_file():
    assert private(Kernel(read=91)).look("/sys/kernel/debug/sched/migration_cost_ns") is None


def test_a_private_debugfs_that_cannot_be_mounted():
    look = private(Kernel(read=90)).look("/sys/kernel/debug/sched/migration_cost_ns")
    assert look.value is None
    assert "debugfs cannot be mounted or read" in look.obstacle


def test_a_private_debugfs_that_is_locked():
    machine = private(Kernel(read=93, write=1))
    path = "/sys/kernel/debug/sched/migration_cost_ns"
    assert "does not let it be used" in machine.look(path).obstacle
    assert "does not take 50000" in machine.put(path, "50000")


def test_out_of_a_container_nobody_mounts_debugfs(bare):
    assert not bare.machine().debugfs_is_private
    bare.write("/run/systemd/container", "systemd-nspawn\n")
    assert bare.machine().in_container


def test_lockdown_is_named(bare):
    bare.write("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
    assert "locked down (integrity)" in bare.machine()._why(PermissionError(1, "Operation not permitted"))


# systemd --------------------------------------------------------------------------------------------------------------


def test_systemd_is_told_and_its_refusal_is_heard(host, monkeypatch):
    calls = []

    def systemctl(argv, _timeout):
        calls.append(argv)
        return Answer(1, "", "Failed to connect to bus")

    machine = host.machine()
    machine.ask = systemctl
    monkeypatch.setattr(Machine, "is_real", property(lambda _self: True))
    host.write("/run/systemd/system/x", "")
    with pytest.raises(tuning_host.SystemdRefusedError, match="systemctl daemon-reload: Failed to connect to bus"):
        tuning_host.apply(machine, tuning.wish_of({"governor": "performance"}))
    assert calls == [["systemctl", "daemon-reload"]]


# Any host -------------------------------------------------------------------------------------------------------------

VALUES = st.integers(0, 100).map(str)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    swappiness=st.none() | VALUES,
    migration=st.sampled_from([None, "proc", "debug"]),
    governors=st.lists(st.sampled_from(["ondemand", "performance", "powersave"]), max_size=4),
    offered=st.sampled_from([None, "ondemand performance powersave", "ondemand powersave"]),
    runs=st.lists(st.tuples(st.none() | st.integers(0, 100), st.booleans()), min_size=1, max_size=4),
)
def test_whatever_is_done_to_it_a_host_gets_its_own_back(
    tmp_path_factory, swappiness, migration, governors, offered, runs
):
    from .conftest import Tree

    host = Tree(tmp_path_factory.mktemp("host"))
    if swappiness is not None:
        host.write("/proc/sys/vm/swappiness", swappiness + "\n")
    if migration:
        place = {
            "proc": "/proc/sys/kernel/sched_migration_cost_ns",
            "debug": "/sys/kernel/debug/sched/migration_cost_ns",
        }
        host.write(place[migration], "500000\n")
    for number, governor in enumerate(governors):
        host.cpu(number, governor, offered)
    before = host.snapshot()
    for wanted, with_governor in runs:
        options = {"swappiness": wanted, "sched_migration_cost_ns": 50000, "governor": "performance"}
        foretold = host.apply(check=True, governor_enabled=with_governor, **options)
        assert host.apply(governor_enabled=with_governor, **options) == foretold
        assert not host.apply(governor_enabled=with_governor, **options).changed
    host.restore()
    assert host.snapshot() == before
    assert not host.restore().changed
