# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs stand-in servers as processes on loopback, each ended by its own number when its test ends."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ENGINE = Path(__file__).resolve().parents[2] / "stand_in" / "engine"
sys.path.insert(0, str(ENGINE))

QUICK = {
    "start_seconds": "0",
    "load_seconds": "0.02",
    "graph_seconds": "0",
    "warmup_seconds": "0.02",
    "health_seconds": "0.05",
    "token_seconds": "0.001",
    "peer_death_seconds": "0.2",
    "crash_seconds": "0.5",
    "port_taken_seconds": "0.1",
    "warmup_retry_seconds": "0.5",
    "drain_poll_seconds": "0.15",
    "drain_repeat_seconds": "0.15",
    "kv_timeout_seconds": "2",
    "handshake_timeout_seconds": "1.2",
    "zbal_timeout_seconds": "0.5",
    "npu_dir": "/nonexistent/npus",
    "cann_dir": "/nonexistent/cann",
    "hccl_ports": "false",
}
# Below what the system gives to outgoing connections; each parallel worker of pytest-xdist has a range of its own.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
_ports = itertools.count(10000 + _WORKER * 2000 + random.randrange(0, 1000, 10), 10)


class Server:
    """One stand-in process."""

    def __init__(self, arguments, env, log_path, host, port, module="sglang.launch_server", engine=ENGINE):
        self.host, self.port = host, port
        self.log_path = log_path
        knobs = {f"STAND_IN_{name.upper()}": value for name, value in QUICK.items()}
        base = {"PATH": os.environ["PATH"], "PYTHONPATH": str(engine), "PYTHONDONTWRITEBYTECODE": "1", **knobs}
        base["STAND_IN_CONFIG"] = str(log_path.with_suffix(".json"))
        with log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *map(str, arguments)],
                env={name: value for name, value in {**base, **env}.items() if value is not None},
                stdout=log,
                stderr=log,
                cwd=log_path.parent,
            )

    @property
    def log(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace").replace("\r", "\n")

    @property
    def shown(self):
        """The log with its long lines cut."""
        return "\n".join(line[:300] for line in self.log.splitlines())

    def configure(self, **knobs):
        """Write the host's knob file."""
        self.log_path.with_suffix(".json").write_text(json.dumps(knobs), encoding="utf-8")

    def wait_log(self, text, seconds=15):
        wait_until(
            lambda: text in self.log or self.process.poll() is not None, seconds, lambda: f"{text!r} in\n{self.shown}"
        )
        assert text in self.log, self.shown

    def wait_ready(self, seconds=15):
        self.wait_log("The server is fired up and ready to roll!", seconds)
        return self

    def wait_end(self, seconds=15):
        """The exit status as a shell has it: 128 + the signal that killed it."""
        status = self.process.wait(seconds)
        return 128 - status if status < 0 else status

    def ask(self, path, body=None, method=None, headers=None, timeout=20):
        """(status, headers, decoded body)."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(
            method or ("GET" if body is None else "POST"),
            path,
            data,
            {"Content-Type": "application/json", **(headers or {})},
        )
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        return answer.status, dict(answer.getheaders()), value

    def events(self, path, body):
        """The server-sent events of a streamed answer, decoded, without the last `[DONE]`."""
        status, headers, text = self.ask(path, body)
        assert status == 200, text
        assert headers["content-type"] == "text/event-stream; charset=utf-8"
        blocks = [block.removeprefix("data: ") for block in text.split("\n\n") if block]
        assert blocks[-1] == "[DONE]"
        return [json.loads(block) for block in blocks[:-1]]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.02)


def give_port():
    """A port with nine free ones behind it."""
    for first in _ports:
        if all(_is_free(port) for port in range(first, first + 10)):
            return first
    raise AssertionError("no free ports")


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True


def make_model(path):
    path.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "max_position_embeddings": 4096}
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return path


class Launcher:
    """Starts servers in a directory, and pairs of them."""

    def __init__(self, directory, model):
        self.directory = directory
        self.model = model
        self.started = []

    def serve(self, *arguments, host="127.0.0.1", port=None, env=None, **knobs):
        port = port or give_port()
        own = {f"STAND_IN_{name.upper()}": str(value) for name, value in knobs.items()}
        words = ["--model-path", self.model, "--host", host, "--port", port, "--device", "npu", *arguments]
        log_path = self.directory / f"{len(self.started)}.log"
        self.started.append(Server(words, {**(env or {}), **own}, log_path, host, port))
        return self.started[-1]

    def pair(self, prefill=(), decode=(), prefill_env=None, decode_env=None, **knobs):
        """One prefill and one decode of one store, ready to answer."""
        env = {"ASCEND_MF_STORE_URL": f"tcp://127.0.0.1:{give_port()}", "SGLANG_HOST_IP": "127.0.0.1"}
        backend = ("--disaggregation-transfer-backend", "ascend")
        bootstrap = give_port()
        words = ("--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", bootstrap, *backend, *prefill)
        first = self.serve(*words, env={**env, **(prefill_env or {})}, **knobs)
        words = ("--disaggregation-mode", "decode", *backend, *decode)
        second = self.serve(*words, env={**env, **(decode_env or {})}, **knobs)
        first.bootstrap, first.store = bootstrap, env["ASCEND_MF_STORE_URL"]
        return first.wait_ready(), second.wait_ready()

    def end(self):
        for server in self.started:
            server.end()


@pytest.fixture
def free_port():
    """A function that gives a port with nine free ones behind it."""
    return give_port


@pytest.fixture
def model(tmp_path):
    return make_model(tmp_path / "model")


@pytest.fixture
def launcher(tmp_path, model):
    """Starts servers that end with the test."""
    launcher = Launcher(tmp_path, model)
    yield launcher
    launcher.end()


@pytest.fixture(scope="module")
def module_launcher(tmp_path_factory):
    """Starts servers that end with the module's tests."""
    directory = tmp_path_factory.mktemp("servers")
    launcher = Launcher(directory, make_model(directory / "model"))
    yield launcher
    launcher.end()


@pytest.fixture
def serve(launcher):
    """A function that starts a server."""
    return launcher.serve


@pytest.fixture
def pair(launcher):
    """A function that starts one prefill and one decode of one store."""
    return launcher.pair


@pytest.fixture
def ask_both():
    """What the router does: the same body to prefill and decode at once. Gives decode's answer and prefill's."""

    def post(prefill, decode, path, body, room=None, port=None):
        told = {
            "bootstrap_host": prefill.host,
            "bootstrap_port": port or prefill.bootstrap,
            "bootstrap_room": random.getrandbits(62) if room is None else room,
        }
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(prefill.ask, path, {**body, **told})
            second = pool.submit(decode.ask, path, {**body, **told})
            return second.result(), first.result()

    return post
