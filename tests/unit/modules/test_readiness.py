# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a service is ready: asked of real sockets."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import http_probe, listeners, readiness
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import parse, parse_watched

Answers = dict[str, tuple[int, Any]]


@contextmanager
def server(answers: Answers) -> Iterator[str]:
    """A server that answers by path, 404 for others."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, {"detail": "Not Found"}))
            data = json.dumps(body).encode() if body is not None else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()
        thread.join()


def systemd_says(log: str = "", **values: Any) -> Callable[..., Answer]:
    shown = {
        "LoadState": "loaded",
        "ActiveState": "active",
        "SubState": "running",
        "MainPID": "5",
        "NRestarts": "0",
        "InvocationID": "a" * 32,
        "Job": "0",
        **values,
    }

    def ask(argv: list[str], timeout: float) -> Answer:
        if argv[0] == "journalctl":
            return Answer(0, log, "")
        return Answer(0, "\n".join(f"{name}={value}" for name, value in shown.items()), "")

    return ask


@pytest.fixture
def ours(monkeypatch) -> None:
    """Whatever listens on this machine belongs to the unit that is asked for."""
    listening = listeners.listening

    def as_ours(ports: list[int]) -> list[listeners.Listener]:
        return [listeners.Listener(one.address, one.port, one.pid, one.command, "sglang-x") for one in listening(ports)]

    monkeypatch.setattr(readiness.listeners, "listening", as_ours)


def look(service: dict[str, Any], ask: Callable[..., Answer], restarts: int | None = None) -> readiness.Status:
    before = {} if restarts is None else {service["unit"]: restarts}
    (status,) = readiness.look([parse(service)], before, 1.0, 3, ask)
    return status


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize(
    ("role", "answers", "ready", "phase"),
    [
        ("decode", {"/health": (200, None)}, True, "ready"),
        ("decode", {"/health": (503, None)}, False, "warming up"),
        ("router", {"/health": (200, None), "/readiness": (200, {"status": "ready"})}, True, "ready"),
        (
            "router",
            {"/health": (200, None), "/readiness": (503, {"reason": "insufficient healthy workers"})},
            False,
            "waiting for its workers",
        ),
        # mini-lb has no /readiness.
        ("router", {"/health": (200, None)}, True, "ready"),
    ],
)
def test_what_ready_is(decode, router, role, answers, ready, phase):
    service = {"decode": decode, "router": router}[role]
    with server(answers) as url:
        status = look({**service, "unit": "sglang-x", "url": url}, systemd_says())
    assert (status.ready, status.phase) == (ready, phase)
    assert status.log == ()


def test_another_servers_answer_on_its_port_proves_nothing(decode):
    with server({"/health": (200, None)}) as url:
        status = look({**decode, "url": url}, systemd_says("Load weight begin\n"))
    assert not status.ready
    assert status.phase.startswith(f"port {url.rpartition(':')[2]} is held by process ")


def test_while_it_does_not_listen_its_log_tells(decode):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        log = "one\ntwo\nLoad weight begin\nLoading x shards:  25% Completed | 1/4 [?]\n"
        status = look({**decode, "url": url}, systemd_says(log))
    assert (status.ready, status.phase, status.health) == (False, "loading 1/4 shards", "does not listen yet")
    assert status.log == ("two", "Load weight begin", "Loading x shards:  25% Completed | 1/4 [?]")


@pytest.mark.usefixtures("ours")
def test_a_server_that_accepts_and_never_answers_costs_its_time_limit_only(decode):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        status = look({**decode, "unit": "sglang-x", "url": url}, systemd_says())
    assert (status.ready, status.health) == (False, "no answer in time")
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("values", "phase"),
    [
        ({"ActiveState": "failed", "SubState": "failed", "MainPID": "0"}, "dead"),
        ({"ActiveState": "inactive", "SubState": "dead", "MainPID": "0", "Result": "success"}, "stopped"),
        ({"ActiveState": "inactive", "SubState": "dead", "MainPID": "0", "LoadState": "not-found"}, "not installed"),
        ({"ActiveState": "inactive", "SubState": "dead", "MainPID": "0", "Result": "exit-code"}, "dead"),
        ({"ActiveState": "activating", "SubState": "auto-restart", "MainPID": "0"}, "dead"),
        ({"ActiveState": "activating", "SubState": "start-pre", "MainPID": "0", "NRestarts": "3"}, "dead"),
        ({"ActiveState": "activating", "SubState": "start-pre", "MainPID": "0"}, "starting"),
        ({"ActiveState": "inactive", "SubState": "dead", "MainPID": "0", "Job": "7"}, "starting"),
        ({"ActiveState": "activating", "SubState": "auto-restart", "MainPID": "0", "Job": "7"}, "starting"),
        ({"ActiveState": "deactivating", "SubState": "stop-sigterm"}, "stopping"),
    ],
)
def test_dead_is_what_does_not_run_and_phase_says_why(decode, values, phase):
    status = look(decode, systemd_says(**values))
    assert (status.phase, status.dead) == (phase, phase in ("dead", "stopped", "not installed"))


def test_one_that_runs_again_died_since_it_was_looked_at(decode):
    log = """Started sglang-decode.service - SGLang decode instance 0, node rank 1 of 2.
NPU out of memory. Tried to allocate 2.00 GiB
sglang-decode.service: Deactivated successfully.
sglang-decode.service: Scheduled restart job, restart counter is at 1.
Started sglang-decode.service - SGLang decode instance 0, node rank 1 of 2.
server_args=ServerArgs()
"""
    ask = systemd_says(log, NRestarts="1", ExecMainStatus="0")
    assert not look(decode, ask, restarts=1).dead
    status = look(decode, ask, restarts=0)
    assert status.dead
    assert "HBM exhausted" in status.cause
    assert status.log[-1] == "sglang-decode.service: Scheduled restart job, restart counter is at 1."
    # systemd has the new process's status only.
    assert status.ending == "started again since"


@pytest.mark.parametrize(
    ("exited", "ending", "cause"),
    [
        ("code=exited, status=1/FAILURE", "exit status 1", "Option not in this version"),
        ("code=killed, status=11/SEGV", "killed by signal 11", "Option not in this version"),
        (
            "code=exited, status=2/INVALIDARGUMENT",
            "exit status 2",
            "It does not accept its arguments: unrecognized arguments: --nope",
        ),
    ],
)
def test_how_one_ended_that_runs_again_is_in_its_log(decode, exited, ending, cause):
    log = f"""Started SGLang decode instance 0.
sglang serve: error: unrecognized arguments: --nope
sglang-decode.service: Main process exited, {exited}
sglang-decode.service: Scheduled restart job, restart counter is at 1.
Started SGLang decode instance 0.
"""
    status = look(decode, systemd_says(log, NRestarts="1", ExecMainStatus="0"), restarts=0)
    assert status.ending == ending
    assert status.cause.startswith(cause)


def test_the_cause_is_that_of_the_last_run(decode):
    log = """Started SGLang decode instance 0.
NPU out of memory. Tried to allocate 2.00 GiB
sglang-decode.service: Main process exited, code=exited, status=1/FAILURE
Started SGLang decode instance 0.
sglang serve: error: unrecognized arguments: --nope
sglang-decode.service: Main process exited, code=exited, status=2/INVALIDARGUMENT
"""
    values = {"ActiveState": "failed", "SubState": "failed", "MainPID": "0", "ExecMainStatus": "2", "ExecMainCode": "1"}
    status = look(decode, systemd_says(log, **values))
    assert status.cause == "It does not accept its arguments: unrecognized arguments: --nope"
    assert status.ending == "exit status 2"


def test_requests_ignore_proxies(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with server({"/health": (200, None)}) as url:
        assert http_probe.request(url + "/health", 2).status == 200


def test_no_answer_is_told_in_words():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        assert http_probe.request(url, 2).error == "connection refused"
    assert http_probe.request("http://name.invalid:1", 2).status == 0


def test_a_long_line_of_a_log_is_clipped_and_still_searched_for_the_cause(decode):
    log = "Started SGLang decode\nserver_args=" + "x" * 5000 + " [ZBAL] zbal init failed!\n"
    status = look(decode, systemd_says(log, ActiveState="failed", SubState="failed", MainPID="0"))
    assert len(status.log[-1]) == 300
    assert status.log[-1].endswith("[...]")
    assert status.dead
    assert status.cause


@pytest.mark.usefixtures("ours")
def test_a_store_is_ready_when_it_listens(decode):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        status = look({**decode, "role": "store", "unit": "sglang-x", "url": url}, systemd_says())
    assert (status.ready, status.phase) == (True, "ready")


@pytest.mark.usefixtures("ours")
def test_details_are_what_the_server_and_its_guard_say(decode):
    answers = {
        "/health": (200, None),
        "/server_info": (200, {"version": "0.5.13.post1", "disaggregation_mode": "null"}),
    }
    with server(answers) as url, server({"/": (200, {"phase": "running", "last": ""})}) as guard:
        watched = parse_watched([{**decode, "unit": "sglang-x", "url": url, "guard": {"url": guard + "/"}}])
        (status,) = readiness.look(watched, {}, 1.0, 3, systemd_says(), keys={})
    assert (status.version, status.mode) == ("0.5.13.post1", "mixed")
    assert status.guard == {"phase": "running", "last": ""}
