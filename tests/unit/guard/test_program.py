"""The guard as a program: what it reads, tells, remembers, and does with a systemctl that only remembers."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import guard_files
from ansible_collections.ascend.sglang.plugins.module_utils.guard import (
    answers,
    memory_file,
    own_unit,
    peers,
    rules,
)

SYSTEMCTL = """#!/bin/sh
echo "$@" >>"$CALLS/$(basename "$STATE").calls"
case "$1" in show) cat "$STATE" ;; esac
"""


def shown(active: str, sub: str, run: str = "x1", pid: int = 1, began: float = 0.0) -> str:
    lines = (f"ActiveState={active}", f"SubState={sub}", f"InvocationID={run}", f"MainPID={pid}")
    return "\n".join([*lines, f"ExecMainStartTimestampMonotonic={int(began * 1e6)}", ""])


@pytest.mark.parametrize(
    ("active", "sub", "pid", "phase"),
    [
        ("active", "running", 1, rules.RUNNING),
        ("reloading", "reload", 1, rules.RUNNING),
        ("activating", "start", 1, rules.RUNNING),
        ("activating", "start-pre", 0, rules.STARTING),
        ("activating", "auto-restart", 0, rules.WAITING),
        ("activating", "auto-restart-queued", 0, rules.WAITING),
        ("deactivating", "stop-sigterm", 1, rules.ENDING),
        ("inactive", "dead", 0, rules.STOPPED),
        ("failed", "failed", 0, rules.STOPPED),
    ],
)
def test_phases(active, sub, pid, phase):
    unit = own_unit.parse(shown(active, sub, pid=pid, began=90.0), 100.0)
    assert unit == rules.Unit(phase, "x1", 10.0 if phase in (rules.RUNNING, rules.ENDING) else 0.0)


def test_a_systemctl_that_fails_is_quoted(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_a, **_k: subprocess.CompletedProcess([], 1, "", "Access denied\n"))
    with pytest.raises(own_unit.SystemctlError, match=r"^Access denied$"):
        own_unit.restart("sglang-decode")


def test_what_is_remembered_is_read_again(tmp_path):
    path = str(tmp_path / "memory.json")
    memory = rules.Memory("x1", "a", "b", ("c", "d"), {1: "r1"}, "a", 5.0, {"rank 1": 3.0}, "x1", 4.0, 2, 9.0)
    memory_file.save(path, memory)
    assert memory_file.load(path) == rules.replace(memory, missing={})
    assert os.listdir(tmp_path) == ["memory.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pairs": [1]}', '{"pairs": {"a": "b"}}'])
def test_a_memory_that_cannot_be_read_is_none(tmp_path, text):
    path = tmp_path / "memory.json"
    path.write_text(text)
    assert memory_file.load(str(path)) == rules.Memory()
    assert memory_file.load(str(tmp_path / "no such file")) == rules.Memory()


# Looking at others


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def told() -> dict[str, object]:
    return {"unit": "u", "phase": "running", "invocation": "a", "age": 2.5, "following": "s", "left": ["b"]}


@pytest.fixture
def url(told) -> Iterator[str]:
    url = f"http://127.0.0.1:{free_port()}"
    server = answers.listen(url, lambda: told)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield url
    server.shutdown()
    server.server_close()


def test_one_guard_asks_another(url, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert peers.ask(url) == rules.Unit("running", "a", 2.5, "s", ("b",))


@pytest.mark.parametrize(
    "change",
    [{"phase": None}, {"invocation": 5}, {"age": "old"}, {"left": "b"}, {"left": [1]}, {"following": None}],
)
def test_nonsense_is_no_answer(url, told, change):
    told.update(change)
    assert peers.ask(url) is None


def test_only_one_page_is_served(url):
    assert peers.ask(url) is not None
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"GET /etc/passwd HTTP/1.0\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.0 404")
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"POST / HTTP/1.0\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.0 501")


def test_who_accepts_and_says_nothing_is_no_answer_in_bounded_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        began = time.monotonic()
        assert peers.ask(f"http://127.0.0.1:{port}", limit=0.3) is None
        assert time.monotonic() - began < 2
        assert peers.accepts("127.0.0.1", [free_port(), port])
    assert not peers.accepts("127.0.0.1", [port])


def test_ipv6(told):
    server = answers.listen("http://[::1]:0", lambda: told)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert peers.ask(f"http://[::1]:{server.server_address[1]}") is not None
    server.shutdown()
    server.server_close()


def test_a_name_that_means_loopback_is_refused(told):
    """Debian gives a host's own name 127.0.1.1: nobody else would come there."""
    with pytest.raises(OSError, match="localhost means only this host's loopback address here"):
        answers.listen("http://localhost:29100", lambda: told)


def test_a_name_that_means_loopback_too(told, monkeypatch):
    entries = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.1.1", 80)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.22", 80)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_unused, **__: entries)
    with pytest.raises(OSError, match="Cannot assign requested address"):
        answers.listen("http://d2:80", lambda: told)


def test_silent_callers_do_not_keep_others_waiting(url):
    port = int(url.rpartition(":")[2])
    silent = [socket.create_connection(("127.0.0.1", port)) for _unused in range(5)]
    assert peers.ask(url) is not None
    for one in silent:
        one.close()


def test_a_port_that_is_taken_is_said_once_and_tried_again(told):
    lines: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        answers.serve(url, lambda: told, lines.append)
        time.sleep(1.5)
        assert len(lines) == 1
        assert f"cannot listen at {url}: Address already in use" in lines[0]
    deadline = time.monotonic() + 10
    while peers.ask(url) is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)


# The whole program, as it is on a host


class Host:
    """A directory with an installed guard, and the state of its unit."""

    def __init__(self, root: pathlib.Path, name: str, port: int, **config: object) -> None:
        self.root = root / name
        package = self.root / "guard"
        package.mkdir(parents=True)
        for file, text in guard_files.code().items():
            (package / file).write_text(text)
        (self.root / "bin").mkdir()
        systemctl = self.root / "bin" / "systemctl"
        systemctl.write_text(SYSTEMCTL)
        systemctl.chmod(0o755)
        self.state = self.root / "state"
        self.url = f"http://127.0.0.1:{port}"
        given = {"unit": "sglang-x", "url": self.url, "gone_seconds": 60, "follows": None, "ranks": []}
        (self.root / "guard.json").write_text(json.dumps({**given, "memory": str(self.root / "memory.json"), **config}))
        self.process: subprocess.Popen[str] | None = None

    def runs(self, run: str, seconds: float = 0.0) -> None:
        """A run of it, for so many seconds by now."""
        self.state.write_text(shown("active", "running", run, began=time.monotonic() - seconds))

    def start(self) -> None:
        environment = {
            "PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "PYTHONPATH": str(self.root), "STATE": str(self.state),
            "CALLS": str(self.root), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-s", "-m", "guard.main", str(self.root / "guard.json")],
            env=environment, cwd="/", text=True, stdout=(self.root / "log").open("a"), stderr=subprocess.STDOUT,
        )  # fmt: skip

    def stop(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(5)

    def calls(self) -> list[str]:
        path = self.root / "state.calls"
        return [line for line in path.read_text().splitlines() if not line.startswith("show")] if path.exists() else []

    def until(self, is_so, seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, (self.root / "log").read_text()
            time.sleep(0.1)


@pytest.fixture
def pair(tmp_path) -> Iterator[tuple[Host, Host]]:
    ports = [free_port() for _unused in range(3)]
    head = Host(
        tmp_path, "head", ports[0],
        ranks=[{"rank": 1, "host": "r", "url": f"http://127.0.0.1:{ports[1]}", "ports": [ports[2]]}],
    )  # fmt: skip
    rank = Host(tmp_path, "rank", ports[1], follows={"what": "head", "host": "h", "url": head.url, "ports": [ports[2]]})
    head.runs("a", 60)
    rank.runs("r1", 60)
    for host in (head, rank):
        host.start()
    try:
        yield head, rank
    finally:
        for host in (head, rank):
            host.stop()


def test_two_guards_on_two_hosts(pair):
    head, rank = pair
    rank.until(lambda: (peers.ask(rank.url) or rules.Unit()).following == "a")
    # A guard that is started anew remembers.
    rank.stop()
    rank.start()
    rank.until(lambda: (peers.ask(rank.url) or rules.Unit()).following == "a")
    head.until(lambda: json.loads((head.root / "memory.json").read_text())["pairs"] == {"1": "r1"})
    assert head.calls() == rank.calls() == []
    # Rank 0 died while the other guard was away.
    rank.stop()
    head.runs("b")
    head.until(lambda: (peers.ask(head.url) or rules.Unit()).invocation == "b")
    rank.start()
    rank.until(lambda: len(rank.calls()) == 2)
    assert rank.calls() == [
        "--no-block --job-mode=fail try-restart sglang-x.service",
        "kill --signal=SIGKILL sglang-x.service",
    ]
    log = (rank.root / "log").read_text().splitlines()
    assert log == ["restart sglang-x because rank 0 of its instance started anew"]
    rank.runs("r2")
    rank.until(lambda: (peers.ask(rank.url) or rules.Unit()).following == "b")
    time.sleep(3)
    assert (len(rank.calls()), head.calls()) == (2, [])
    # And the other way round.
    rank.state.write_text(shown("activating", "auto-restart", "r2", pid=0))
    head.until(lambda: len(head.calls()) == 2)
    assert (head.root / "log").read_text() == "restart sglang-x because rank 1 of its instance ended and starts again\n"
