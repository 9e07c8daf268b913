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
    "load_seconds": "0.1",
    "graph_seconds": "0",
    "warmup_seconds": "0.1",
    "health_seconds": "0.05",
    "token_seconds": "0.001",
    "peer_death_seconds": "0.3",
    "crash_seconds": "0.5",
    "port_taken_seconds": "0.2",
    "warmup_retry_seconds": "1",
    "drain_poll_seconds": "0.3",
    "kv_timeout_seconds": "3",
    "handshake_timeout_seconds": "1.5",
    "zbal_timeout_seconds": "1",
    "npu_dir": "/nonexistent/npus",
    "cann_dir": "/nonexistent/cann",
    "hccl_ports": "false",
}
_ports = itertools.count(random.randrange(20000, 28000, 10), 10)


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
        wait_until(lambda: text in self.log or self.process.poll() is not None, seconds, lambda: f"{text!r} in\n{self.shown}")
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
        connection.request(method or ("GET" if body is None else "POST"), path, data, {"Content-Type": "application/json", **(headers or {})})
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


@pytest.fixture
def free_port():
    """A function that gives a port with nine free ones behind it."""

    def give():
        for first in _ports:
            if all(_is_free(port) for port in range(first, first + 10)):
                return first
        raise AssertionError("no free ports")

    return give


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model"
    path.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "max_position_embeddings": 4096}
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return path


@pytest.fixture
def serve(tmp_path, model, free_port):
    """A function that starts a server; what it started is ended when the test is."""
    started = []

    def start(*arguments, host="127.0.0.1", port=None, env=None, **knobs):
        port = port or free_port()
        own = {f"STAND_IN_{name.upper()}": str(value) for name, value in knobs.items()}
        words = ["--model-path", model, "--host", host, "--port", port, "--device", "npu", *arguments]
        started.append(Server(words, {**(env or {}), **own}, tmp_path / f"{len(started)}.log", host, port))
        return started[-1]

    yield start
    for server in started:
        server.end()


@pytest.fixture
def pair(serve, free_port):
    """A function that starts one prefill and one decode of one store, ready to answer."""

    def start(prefill=(), decode=(), prefill_env=None, decode_env=None, **knobs):
        env = {"ASCEND_MF_STORE_URL": f"tcp://127.0.0.1:{free_port()}", "SGLANG_HOST_IP": "127.0.0.1"}
        backend = ("--disaggregation-transfer-backend", "ascend")
        bootstrap = free_port()
        p = serve("--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", bootstrap, *backend, *prefill,
                  env={**env, **(prefill_env or {})}, **knobs)
        d = serve("--disaggregation-mode", "decode", *backend, *decode, env={**env, **(decode_env or {})}, **knobs)
        p.bootstrap, p.store = bootstrap, env["ASCEND_MF_STORE_URL"]
        return p.wait_ready(), d.wait_ready()

    return start


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
