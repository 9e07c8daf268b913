# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting: what is told meanwhile, and how hosts hear of a death on another one."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.ascend.sglang.plugins.action import wait_ready
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations import waiting


def status(phase: str = "loading", **values: Any) -> dict[str, Any]:
    return {
        "unit": "sglang-decode",
        "ready": phase == "ready",
        "phase": phase,
        "health": "",
        "active": "active",
        "sub": "running",
        "pid": 5,
        "invocation": "a",
        "restarts": 0,
        "dead": phase == "dead",
        "ending": "killed by signal 9" if phase == "dead" else "",
        "cause": "",
        "log": ["the last line"],
        **values,
    }


def test_pauses_grow_to_five_seconds():
    pauses = list(islice(waiting.pauses(), 12))
    assert pauses[0] == 0.5
    assert pauses == sorted(pauses)
    assert pauses[-1] == 5.0


def test_a_new_phase_is_told_at_once_and_numbers_sparsely():
    progress = waiting.Progress()
    told = [
        progress.line("u", phase, seconds)
        for phase, seconds in [
            ("starting", 0),
            ("loading 1/163 shards", 5),
            ("loading 2/163 shards", 10),
            ("loading 9/163 shards", 36),
            ("loading 9/163 shards", 100),
            ("loading 9/163 shards", 160),
            ("ready", 161),
        ]
    ]
    assert told == [
        "u: starting (0 s)",
        "u: loading 1/163 shards (5 s)",
        None,
        "u: loading 9/163 shards (36 s)",
        None,
        "u: loading 9/163 shards (2 min 40 s)",
        "u: ready (2 min 41 s)",
    ]


def test_hosts_hear_of_the_first_death_elsewhere(tmp_path):
    meeting = waiting.Rendezvous(tmp_path / "not" / "yet")
    assert meeting.elsewhere("d1") is None
    meeting.report("d1", "first")
    meeting.report("d2", "second")
    assert meeting.elsewhere("p1") == ("d1", "first")
    assert meeting.elsewhere("d1") == ("d2", "second")


class Action(wait_ready.ActionModule):
    """The action, with looks that are given and a clock that only pauses move."""

    def __init__(self, args: dict[str, Any], looks: list[Any], check_mode: bool = False) -> None:
        self._task = SimpleNamespace(args=args, check_mode=check_mode, _uuid="uuid", async_val=0, action="wait_ready")
        self._looks = looks
        self.asked: list[dict[str, Any]] = []

    def _execute_module(self, **kwargs: Any) -> dict[str, Any]:
        self.asked.append(kwargs["module_args"])
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        if isinstance(look, Exception):
            raise look
        return look if isinstance(look, dict) else {"services": look}


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    now = SimpleNamespace(seconds=1000.0)
    fake = SimpleNamespace(
        monotonic=lambda: now.seconds, sleep=lambda pause: setattr(now, "seconds", now.seconds + pause)
    )
    monkeypatch.setattr(wait_ready, "time", fake)
    monkeypatch.setattr(wait_ready.ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
    return now


@pytest.fixture
def lines(monkeypatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(wait_ready.Display, "display", lambda self, text, **rest: told.append(text))
    monkeypatch.setattr(wait_ready.Display, "warning", lambda self, text, **rest: told.append("WARNING " + text))
    return told


def wait(looks: list[Any], tmp_path: Path, check_mode: bool = False, **args: Any) -> tuple[dict[str, Any], Action]:
    services = [
        {"host": "d2", "role": "decode", "unit": "sglang-decode"},
        {"host": "p1", "role": "prefill", "unit": "x"},
    ]
    action = Action({"services": services, "rendezvous": str(tmp_path / "meeting"), **args}, looks, check_mode)
    return action.run(None, {"inventory_hostname": "d2"}), action


@pytest.mark.usefixtures("clock")
def test_it_ends_when_all_are_ready(tmp_path, lines):
    result, action = wait([[status("starting", restarts=4)], [status()], [status("ready")]], tmp_path)
    assert "failed" not in result
    assert (result["changed"], result["seconds"]) == (False, 1.2)
    assert lines == [
        "d2: sglang-decode: starting (0 s)",
        "d2: sglang-decode: loading (0 s)",
        "d2: sglang-decode: ready (1 s)",
    ]
    assert [one["unit"] for one in action.asked[0]["services"]] == ["sglang-decode"]
    # Restarts count from the first look.
    assert [one["restarts"] for one in action.asked[1:]] == [{"sglang-decode": 4}] * 2


@pytest.mark.usefixtures("clock", "lines")
def test_a_death_ends_it_at_once_with_cause_and_log(tmp_path):
    result, _action = wait([[status()], [status("dead", cause="HBM exhausted.")]], tmp_path)
    assert result["failed"]
    assert result["seconds"] == 0.5
    assert result["msg"] == (
        "sglang-decode on d2 died (killed by signal 9). HBM exhausted.\n"
        "Last lines of its log (on d2: journalctl -u sglang-decode):\n  the last line"
    )
    assert waiting.Rendezvous(tmp_path / "meeting").elsewhere("p1") == (
        "d2",
        "sglang-decode on d2 died (killed by signal 9)",
    )


@pytest.mark.usefixtures("clock", "lines")
def test_a_death_elsewhere_ends_it_too(tmp_path):
    waiting.Rendezvous(tmp_path / "meeting").report("p1", "sglang-prefill on p1 died (exit status 1)")
    result, _action = wait([[status("loading 3/10 shards")]], tmp_path)
    assert result["failed"]
    assert result["msg"] == (
        "stopped waiting for sglang-decode (loading 3/10 shards) because sglang-prefill on p1 died (exit status 1); "
        "see what is said of p1"
    )


RANK_1 = {
    "host": "d2", "role": "decode", "unit": "sglang-decode",
    "guard": {"follows": {"what": "head", "host": "d1", "unit": "sglang-decode"}},
}  # fmt: skip


def head_waits(tmp_path, done=False):
    waiting.Board(tmp_path / "meeting" / "board").put("d1", [status()], 1.0, done=done)


@pytest.mark.usefixtures("clock", "lines")
def test_a_rank_that_is_ready_is_looked_at_until_rank_0_is(tmp_path):
    """It dies of the first thing that all ranks compute together."""
    head_waits(tmp_path)
    looks = [[status("ready")], [status("ready")], [status("dead", cause="No compiler.")]]
    result, _action = wait(looks, tmp_path, services=[RANK_1])
    assert result["failed"]
    assert "sglang-decode on d2 died (killed by signal 9). No compiler." in result["msg"]


@pytest.mark.usefixtures("clock", "lines")
@pytest.mark.parametrize("head", ["done", "not begun", "dead"])
def test_a_rank_that_is_ready_waits_for_no_rank_0_that_is_not_waited_for(tmp_path, head):
    if head != "not begun":
        head_waits(tmp_path, done=head == "done")
    if head == "dead":
        waiting.Rendezvous(tmp_path / "meeting").report("d1", "sglang-decode on d1 died (exit status 1)")
    result, action = wait([[status("ready")]], tmp_path, services=[RANK_1])
    assert "failed" not in result
    assert len(action.asked) == 1


@pytest.mark.usefixtures("lines")
def test_a_rank_that_is_ready_is_ready_at_the_limit(tmp_path, clock):
    head_waits(tmp_path)
    result, _action = wait([[status("ready")]], tmp_path, services=[RANK_1], timeout=60)
    assert "failed" not in result
    assert clock.seconds - 1000 <= 60


@pytest.mark.usefixtures("lines")
def test_the_limit_ends_it_with_what_can_be_seen(tmp_path, clock):
    result, _action = wait([[status("loading 3/10 shards", health="does not listen yet")]], tmp_path, timeout=600)
    assert result["failed"]
    assert 590 < clock.seconds - 1000 <= 600
    assert "sglang-decode on d2 is not ready after 10 min 0 s: loading 3/10 shards" in result["msg"]
    assert "(unit active, running; does not listen yet). Last line of its log: the last line" in result["msg"]
    assert "It was left running" in result["msg"]


@pytest.mark.usefixtures("clock")
def test_a_host_out_of_reach_for_a_moment_is_waited_for(tmp_path, lines):
    lost = AnsibleConnectionFailure("lost")
    result, _action = wait([[status()], lost, lost, [status("ready")]], tmp_path)
    assert "failed" not in result
    assert lines[1].startswith("WARNING d2 cannot be reached at the moment")


@pytest.mark.usefixtures("lines")
def test_a_host_out_of_reach_for_longer_is_not(tmp_path, clock):
    with pytest.raises(AnsibleConnectionFailure):
        wait([AnsibleConnectionFailure("lost")], tmp_path)
    assert clock.seconds - 1000 < 90


@pytest.mark.usefixtures("clock", "lines")
def test_a_look_that_fails_is_passed_on(tmp_path):
    result, _action = wait([{"failed": True, "msg": "systemctl show: no"}], tmp_path)
    assert (result["failed"], result["msg"]) == (True, "systemctl show: no")


@pytest.mark.usefixtures("clock", "lines")
def test_check_mode_and_hosts_without_services_wait_for_nothing(tmp_path):
    result, action = wait([[status()]], tmp_path, check_mode=True)
    assert (result["skipped"], action.asked) == (True, [])
    result, action = wait([[status()]], tmp_path, roles=["router"])
    assert (result["msg"], action.asked) == ("there is nothing to wait for on this host", [])


def board_of(tmp_path: Path, **phases: str) -> waiting.Board:
    board = waiting.Board(tmp_path / "board")
    for seconds, (host, phase) in enumerate(phases.items()):
        board.put(host, [status(phase)], 10.0 * seconds, done=phase == "ready")
    return board


def test_the_table_has_the_slowest_last(tmp_path):
    board = board_of(tmp_path, p1="starting", d1="loading 70/163 shards", d2="loading 9/163 shards", p2="ready")
    assert board.lines(79) == [
        "1 of 4 services are ready",
        "  p2  sglang-decode  ready (30 s)",
        "  d1  sglang-decode  loading 70/163 shards (10 s)",
        "  d2  sglang-decode  loading 9/163 shards (20 s)",
        "  p1  sglang-decode  starting (0 s)",
    ]
    assert all(len(line) <= 20 for line in board.lines(20))


def test_the_table_keeps_when_a_service_became_ready(tmp_path):
    board = board_of(tmp_path, p1="ready")
    board.put("p1", [status("ready")], 99.0, done=True)
    assert board.lines(79)[1] == "  p1  sglang-decode  ready (0 s)"


def test_one_worker_draws_and_leaves_the_screen_to_results(tmp_path):
    board = board_of(tmp_path, p1="ready", p2="loading", d1="loading")
    assert [host for host in ("p1", "p2", "d1") if board.draws(host, 2e9)] == ["d1"]
    board.leave()
    assert not any(board.draws(host, (tmp_path / "board" / "left").stat().st_mtime) for host in ("p2", "d1"))


def test_a_drawing_is_replaced_by_the_next_one(tmp_path):
    drawing = board_of(tmp_path, p1="loading").drawing(79)
    assert drawing.startswith(waiting.CLEAR)
    assert drawing.endswith("\n\033[2A\r")
    assert drawing.count("\n") == 2


def test_nothing_is_drawn_where_there_is_no_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / str(wait_ready.os.getppid()) / "fd").mkdir(parents=True)
    link = tmp_path / str(wait_ready.os.getppid()) / "fd" / "1"
    monkeypatch.setattr(wait_ready.os, "isatty", lambda number: False)
    link.symlink_to("/tmp/a-log")
    assert not wait_ready.on_terminal(str(tmp_path))
    link.unlink()
    link.symlink_to("/dev/pts/3")
    assert wait_ready.on_terminal(str(tmp_path))
    monkeypatch.setenv("TERM", "dumb")
    assert not wait_ready.on_terminal(str(tmp_path))


@pytest.mark.usefixtures("clock")
def test_on_a_terminal_the_table_is_drawn_and_cleared(tmp_path, lines, monkeypatch):
    monkeypatch.setattr(wait_ready, "on_terminal", lambda: True)
    monkeypatch.setattr(wait_ready.time, "time", lambda: 1e12, raising=False)
    wait([[status("loading")], [status("ready")]], tmp_path)
    drawn = [line for line in lines if "\033" in line]
    assert "loading" in drawn[0]
    assert drawn[-1] == waiting.CLEAR
