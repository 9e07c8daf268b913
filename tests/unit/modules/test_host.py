# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading and changing a host, below a temporary directory, with a systemctl that only remembers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import files, reconcile
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer
from ansible_collections.ascend.sglang.plugins.module_utils.host import Host, StepError
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import parse
from ansible_collections.ascend.sglang.plugins.module_utils.unit_file import UnitOptions


class Systemctl:
    """Answers as systemctl does, for units that are loaded when their file exists and run when they were started."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.calls: list[str] = []
        self.running: set[str] = set()
        self.enabled: set[str] = set()
        self.refuse = ""
        self.failed: set[str] = set()
        self.will_fail_stopping: set[str] = set()

    def __call__(self, argv: Sequence[str], timeout: float) -> Answer:
        words = list(argv)[1:]
        units = [word[: -len(".service")] for word in words if word.endswith(".service")]
        if words[0] == "show":
            return Answer(0, "\n".join(map(self._show, units)), "")
        verb = next(word for word in words if not word.startswith("-"))
        self.calls.append(" ".join([verb, *units]))
        if verb == self.refuse:
            return Answer(1, "", "Access denied")
        if verb in ("start", "restart"):
            self.running |= set(units)
        elif verb == "stop":
            self.running -= set(units)
            self.failed |= set(units) & self.will_fail_stopping
        elif verb == "reset-failed":
            self.failed -= set(units)
        elif verb == "enable":
            self.enabled |= set(units)
        elif verb == "disable":
            self.enabled -= set(units)
        return Answer(0, "", "")

    def _show(self, unit: str) -> str:
        exists = Path(self.layout.unit_file(unit)).exists()
        active = "active" if unit in self.running else "failed" if unit in self.failed else "inactive"
        return (
            f"Id={unit}.service\nLoadState={'loaded' if exists else 'not-found'}\nActiveState={active}\n"
            f"SubState={'running' if unit in self.running else 'dead'}\n"
            f"MainPID={2**22 + 1 if unit in self.running else 0}\n"
            f"UnitFileState={'enabled' if unit in self.enabled else 'disabled'}\n"
        )


@pytest.fixture
def layout(tmp_path) -> Layout:
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    return Layout(str(tmp_path))


@pytest.fixture
def systemctl(layout) -> Systemctl:
    return Systemctl(layout)


@pytest.fixture
def host(layout, systemctl) -> Host:
    return Host(layout, systemctl)


def start(host: Host, service: dict[str, Any]) -> list[str]:
    wanted = reconcile.desired(parse(service), host.layout, UnitOptions(), None, "", "")
    observed = host.observe([wanted.unit])
    return host.carry_out(reconcile.to_start([wanted], observed, {}, host.layout), observed)


def test_a_service_is_written_read_enabled_and_started(host, systemctl, layout, decode):
    done = start(host, decode)
    assert systemctl.calls == ["daemon-reload", "enable sglang-decode", "start sglang-decode"]
    assert len(done) == 6
    launch = Path(layout.launch("sglang-decode"))
    assert os.access(launch, os.X_OK)
    assert "--model-path /models/r1" in launch.read_text()
    assert host.own_units() == ["sglang-decode"]
    assert not [name for name in os.listdir(launch.parent) if name.startswith(".")]


def test_a_failing_write_says_what_was_done_before(host, systemctl, layout, decode):
    unit_file = Path(layout.unit_file("sglang-decode"))
    unit_file.mkdir()
    (unit_file / "in the way").touch()
    wanted = reconcile.desired(parse(decode), layout, UnitOptions(), None, "", "")
    steps = reconcile.to_start([wanted], {"sglang-decode": nothing()}, {}, layout)
    with pytest.raises(StepError) as failure:
        host.carry_out(steps, {})
    assert str(failure.value).startswith(f"could not create {unit_file}: ")
    written = [f"create {path}" for path in (layout.launch("sglang-decode"), layout.service("sglang-decode"))]
    assert str(failure.value).endswith(f"Done before: {'; '.join(written)}.")
    assert failure.value.done == written
    assert systemctl.calls == []


def nothing() -> reconcile.Observed:
    return reconcile.Observed(reconcile.UnitState("sglang-decode"))


def test_a_systemctl_that_refuses_is_quoted(host, systemctl, decode):
    systemctl.refuse = "enable"
    with pytest.raises(StepError, match=r"could not enable sglang-decode at boot: Access denied\. Done before: create"):
        start(host, decode)


def test_removing_leaves_no_file_and_no_empty_directory(host, systemctl, layout, decode, tmp_path):
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    start(host, decode)
    for path in layout.data_directories("sglang-decode"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    dynamic = Path(layout.data_directories("sglang-decode")[1])
    (dynamic / "some").mkdir(parents=True)
    Path(layout.home("sglang-decode")).symlink_to(dynamic)
    observed = host.observe(host.own_units())
    host.carry_out(reconcile.to_remove(list(observed.values()), layout, keep_logs=False), observed)
    after = sorted(str(path) for path in tmp_path.rglob("*"))
    assert [path for path in after if "ascend-sglang" in path] == []
    assert [path for path in before if path not in after] == []
    assert systemctl.running == systemctl.enabled == set()
    assert host.own_units() == []


def test_files_of_others_survive_a_removal(host, layout, decode):
    start(host, decode)
    notes = Path(layout.directory("sglang-decode")) / "notes.txt"
    notes.write_text("mine")
    foreign = Path(layout.unit_file("sglang-mine"))
    foreign.write_text("[Service]\nExecStart=/bin/true\n")
    observed = host.observe(host.own_units())
    host.carry_out(reconcile.to_remove(list(observed.values()), layout, keep_logs=False), observed)
    assert notes.read_text() == "mine"
    assert foreign.exists()


def test_a_stop_that_had_to_kill_is_no_failure(host, systemctl, decode):
    start(host, decode)
    systemctl.will_fail_stopping.add("sglang-decode")
    observed = host.observe(["sglang-decode"])
    host.carry_out(reconcile.to_stop(list(observed.values())), observed)
    assert systemctl.calls[-3:] == ["stop sglang-decode", "reset-failed sglang-decode", "disable sglang-decode"]
    assert host.seconds.keys() == {"sglang-decode"}


def test_units_share_one_call(host, systemctl, decode, router):
    start(host, decode)
    start(host, router)
    observed = host.observe(host.own_units())
    host.carry_out(reconcile.to_stop(list(observed.values())), observed)
    assert systemctl.calls[-2:] == ["stop sglang-decode sglang-router", "disable sglang-decode sglang-router"]


def test_a_file_is_replaced_whole_and_closed_to_others_from_the_start(tmp_path):
    old_mask = os.umask(0)
    try:
        path = tmp_path / "a" / "b" / "secrets.env"
        files.write(str(path), b"one", 0o600)
        files.write(str(path), b"two", 0o600)
    finally:
        os.umask(old_mask)
    found = files.look(str(path))
    assert found is not None
    assert (found.content, found.mode) == (b"two", 0o600)
    assert os.listdir(path.parent) == ["secrets.env"]
    assert (path.parent.stat().st_mode & 0o777) == 0o755
