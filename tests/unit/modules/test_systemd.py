# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemctl prints, and what /proc says of control groups and environments."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import commands, systemd
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState

SHOWN = """Id=sglang-prefill.service
LoadState=loaded
ActiveState=activating
SubState=auto-restart
UnitFileState=enabled
NeedDaemonReload=no
Job=0
MainPID=0
InvocationID=15c7b2ab69d24756892678ee9c02e2fa
NRestarts=3
Result=signal
ExecMainStatus=9
ExecMainCode=2
ControlGroup=

Id=sglang-none.service
LoadState=not-found
ActiveState=inactive
SubState=dead
NRestarts=[not set]
"""


def test_units_are_read_in_the_order_asked():
    found = systemd.show(["sglang-prefill", "sglang-none"], lambda argv, timeout: Answer(0, SHOWN, ""))
    prefill, none = found["sglang-prefill"], found["sglang-none"]
    assert (prefill.phase, prefill.restarts, prefill.enabled, prefill.running) == (
        "activating (auto-restart)",
        3,
        True,
        False,
    )
    assert prefill.ending == "killed by signal 9"
    assert (none.load, none.restarts, none.ending) == ("not-found", 0, "exit status 0")


def test_no_unit_asks_nobody():
    assert systemd.show([], lambda argv, timeout: pytest.fail("asked")) == {}


def test_a_host_without_systemd_is_told_in_its_words():
    why = "System has not been booted with systemd as init system (PID 1). Can't operate.\n"
    with pytest.raises(systemd.SystemdError, match="systemctl show: System has not been booted with systemd"):
        systemd.show(["sglang-x"], lambda argv, timeout: Answer(1, "", why))


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/sglang-prefill.service\n", "sglang-prefill"),
        ("9:name=systemd:/machine/x/system.slice/sglang-a.service/worker\n0::/\n", "sglang-a"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", None),
    ],
)
def test_the_unit_of_a_process(tmp_path, cgroup, unit):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(cgroup)
    assert systemd.unit_of(7, str(tmp_path)) == unit
    assert systemd.unit_of(8, str(tmp_path)) is None


def test_processes_below_a_control_group_are_found(tmp_path):
    group = tmp_path / "system.slice" / "x.service"
    (group / "below").mkdir(parents=True)
    (group / "cgroup.procs").write_text("12\n11\n")
    (group / "below" / "cgroup.procs").write_text("13\n")
    assert systemd.processes("/system.slice/x.service", [str(tmp_path), str(tmp_path / "none")]) == [11, 12, 13]
    assert systemd.processes("", [str(tmp_path)]) == []


def test_the_digest_is_in_the_environment_of_the_process():
    child = subprocess.Popen(
        [sys.executable, "-c", "print('up', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "ASCEND_SGLANG_LAUNCH": "abc123"},
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        state = UnitState("sglang-x", active="active", sub="running", pid=child.pid)
        assert systemd.launch_of(state) == "abc123"
    finally:
        child.communicate(b"\n")
    assert systemd.launch_of(UnitState("sglang-x", active="active", pid=os.getpid())) is None
    assert systemd.launch_of(UnitState("sglang-x", active="failed", pid=0)) is None


def test_a_program_that_hangs_or_is_missing_is_an_answer():
    assert commands.run(["sleep", "5"], 0.1) == Answer(124, "", "sleep gave no answer within 0.1 s")
    assert commands.run(["no-such-program-here"], 1).rc == 127


def test_programs_are_asked_without_proxies(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "x")
    assert "proxy" not in commands.run(["env"], 5).out.lower()


def test_when_a_process_began(tmp_path):
    began = time.time()
    with subprocess.Popen(["sleep", "60"]) as child:
        found = systemd.started_at(child.pid)
        child.kill()
    assert abs(found - began) < 2
    assert systemd.started_at(4, str(tmp_path)) == 0.0
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "stat").write_text("5 (a) b) S 1")
    assert systemd.started_at(5, str(tmp_path)) == 0.0
