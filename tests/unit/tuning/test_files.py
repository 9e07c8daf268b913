# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The texts of the files that make values last, and the shell in them, run for real."""

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import tuning_files
from ansible_collections.ascend.sglang.plugins.module_utils.commands import run
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_machine import Machine


def boot(text):
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def no_mount(tmp_path, monkeypatch):
    """A `mount` that writes down how it was called, before the real one on PATH."""
    stub = tmp_path / "bin" / "mount"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/mounted\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:/usr/sbin:/usr/bin:/sbin:/bin")
    return tmp_path / "mounted"


def test_no_values_no_files():
    assert tuning_files.sysctl_text({}) is None
    assert tuning_files.script_text(None, "/sys/devices/system/cpu", {}, None) is None
    assert set(tuning_files.files(None, None).values()) == {None}


def test_the_sysctl_file_is_sorted_and_says_whose_it_is():
    lines = tuning_files.sysctl_text({"vm.swappiness": "0", "kernel.numa_balancing": "0"}).splitlines()
    assert lines[0].startswith("# Ansible managed (ascend.sglang.host_tuning)")
    assert lines[1:] == ["kernel.numa_balancing = 0", "vm.swappiness = 0"]


@pytest.mark.parametrize("name", ["99-sysctl.conf", "99-zz-local.conf", "zz-local.conf", "zz-zz.conf", "Zzzz.conf"])
def test_the_sysctl_file_is_read_after_what_people_call_last(name):
    assert name < tuning_files.SYSCTL_FILE.rsplit("/", 1)[1]


def test_at_boot_each_cpu_gets_the_governor_that_it_offers(bare):
    bare.cpu(0, "ondemand", "ondemand performance")
    bare.cpu(1, "ondemand")
    bare.cpu(2, "powersave", "powersave performance_not")
    bare.write("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "untouched\n")
    text = tuning_files.script_text("performance", f"{bare.root}/sys/devices/system/cpu", {}, None)
    assert boot(text) == ""
    assert [bare.governor(n) for n in range(3)] == ["performance", "performance", "powersave"]


def test_at_boot_a_path_with_blanks_and_quotes_is_one_path(bare):
    file = bare.write("/it's a place/value", "1\n")
    boot(tuning_files.script_text(None, "/none", {str(file): "50000"}, None))
    assert file.read_text() == "50000\n"


def test_at_boot_what_is_gone_is_said_and_the_rest_is_done(bare):
    file = bare.write("/value", "1\n")
    text = tuning_files.script_text("performance", f"{bare.root}/cpu", {f"{bare.root}/a": "1", str(file): "2"}, None)
    assert f"{bare.root}/a is not there: not set to 1" in boot(text)
    assert file.read_text() == "2\n"


def test_at_boot_debugfs_is_mounted_where_it_is_not(bare, no_mount):
    file = bare.write("/debug/sched/migration_cost_ns", "500000\n")
    boot(tuning_files.script_text(None, "/none", {str(file): "50000"}, f"{bare.root}/debug"))
    assert no_mount.read_text() == f"-t debugfs debugfs {bare.root}/debug\n"
    assert file.read_text() == "50000\n"


def test_the_unit_is_one_that_systemd_understands(tmp_path):
    script = tmp_path / "host-tuning.sh"
    script.write_text("#!/bin/sh\n")
    unit = tmp_path / tuning_files.UNIT_NAME
    unit.write_text(tuning_files.unit_text().replace(tuning_files.BOOT_SCRIPT, str(script)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_debugfs_in_a_mount_of_its_own(bare, no_mount):
    """The shell that reads and writes there, without the privilege to mount."""
    file = bare.write("/sys/kernel/debug/sched/migration_cost_ns", "500000\n")
    machine = Machine(sys=f"{bare.root}/sys", ask=lambda argv, timeout: run(argv[2:], timeout))
    machine.debugfs_is_private = True
    assert machine.look(str(file)) == ("500000\n", "")
    assert machine.put(str(file), "50000") == ""
    assert file.read_text() == "50000\n"
    assert machine.look(f"{file}_not") is None
    assert no_mount.read_text().splitlines() == [f"-t debugfs debugfs {bare.root}/sys/kernel/debug"] * 3
