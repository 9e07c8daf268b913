# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's manners: how it starts when it cannot, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time

import pytest


@pytest.mark.parametrize(("version", "status"), [("0.5.13.post1", 137), ("0.5.23", 0)])
def test_a_good_stop_drains_and_ends_with(serve, version, status):
    # Long enough for all that is asked meanwhile, on a machine that does other things as well.
    server = serve(version=version, token_seconds=0.08, drain_poll_seconds=0.5).wait_ready()
    answers = []
    body = {"text": "hello", "sampling_params": {"max_new_tokens": 60, "ignore_eos": True}}
    running = threading.Thread(target=lambda: answers.append(server.ask("/generate", body)))
    running.start()
    time.sleep(0.2)
    server.process.send_signal(signal.SIGTERM)
    server.wait_log("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    assert server.ask("/health")[0] == 503
    assert server.ask("/model_info")[0] == server.ask("/v1/models")[0] == 200
    assert server.ask("/generate", {"text": "late", "sampling_params": {"max_new_tokens": 2}})[0] == 200
    assert server.wait_end() == status
    running.join()
    assert answers[0][0] == 200
    assert len(answers[0][2]["output_ids"]) == 60
    assert "Gracefully exiting... Remaining number of requests 1. Remaining requests remaining_rids=['" in server.log
    assert "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[]." in server.log
    assert "Health check request received during shutdown. Returning 503." in server.log


REFUSED = [
    ("/generate", {"input_ids": [10] * 5000}, 400),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 100000}, 400),
    (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 100000, "stream": True},
        400,
    ),
    ("/generate", {"text": "a", "sampling_params": {"nope": 1}}, 500),
]
HARMLESS = [
    ("/generate", {}, 400),
    ("/v1/chat/completions", {"messages": []}, 400),
    ("/v1/chat/completions", {"model": "m"}, 400),
]


def test_requests_refused_in_tokenisation_block_the_drain_for_ever(serve):
    server = serve(drain_poll_seconds=0.1).wait_ready()
    for path, body, status in REFUSED + HARMLESS:
        assert server.ask(path, body)[0] == status
    server.process.send_signal(signal.SIGTERM)
    server.wait_log(f"Gracefully exiting... Remaining number of requests {len(REFUSED)}.")
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert server.process.poll() is None
    assert server.log.count("SIGTERM received.") == 2
    server.process.kill()
    assert server.wait_end() == 137


def test_the_newer_version_forgets_them(serve):
    server = serve(version="0.5.23").wait_ready()
    for path, body, status in REFUSED + HARMLESS:
        assert server.ask(path, body)[0] == (400 if status == 500 else status)
    server.process.send_signal(signal.SIGTERM)
    assert server.wait_end() == 0


def test_a_drain_can_be_told_to_be_stuck_and_to_go_on(serve):
    server = serve().wait_ready()
    server.configure(drain_stuck=True)
    server.process.send_signal(signal.SIGTERM)
    server.wait_log("Remaining number of requests 1.")
    server.configure(drain_stuck=False, exit_code_on_term=3)
    assert server.wait_end() == 3


def test_sigterm_while_loading_ends_it_as_any_process(serve):
    server = serve(load_seconds=30)
    server.wait_log("Load weight begin.")
    server.process.send_signal(signal.SIGTERM)
    assert server.wait_end() == 128 + signal.SIGTERM


@pytest.mark.parametrize("status", [137, 3])
def test_a_taken_port_is_noticed_after_loading_and_the_log_lies(serve, status):
    first = serve().wait_ready()
    second = serve(port=first.port, port_taken_status=status)
    assert second.wait_end() == status
    order = [
        "Load weight end.",
        "Application startup complete.",
        f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {first.port}): address already in use",
        "The server is fired up and ready to roll!",
        "Application shutdown complete.",
        *(["Received sigquit from a child process."] if status == 137 else []),
    ]
    positions = [second.log.index(text) for text in order]
    assert positions == sorted(positions)
    assert first.ask("/health")[0] == 200


def test_a_taken_port_where_nobody_answers_is_tried_until_the_limit(serve, free_port):
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as other:
        other.settimeout(1)
        server = serve(port=port, warmup_retry_seconds=0.2)
        server.wait_log("address already in use")
        # It takes the connection and hangs up: an answer it is not.
        threading.Thread(target=_hang_up, args=(other,), daemon=True).start()
        assert server.wait_end() == 137
    assert "Initialization failed. warmup error:" in server.log
    assert "ready to roll" not in server.log


def _hang_up(listener):
    while True:
        try:
            listener.accept()[0].close()
        except TimeoutError:
            continue
        except OSError:
            return


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/nonexistent", "OSError: Repo id must use alphanumeric chars"),
        ("org/model", "OSError: We couldn't connect to 'https://huggingface.co'"),
        (None, "does not appear to have a file named config.json"),
    ],
)
def test_a_missing_model_ends_with_1(serve, tmp_path, name, said):
    server = serve("--model-path", name or tmp_path)
    assert server.wait_end() == 1
    assert said in server.log


def test_bad_json_for_the_loader_is_found_while_loading(serve):
    server = serve("--model-loader-extra-config", "{enable_multithread_load: true}")
    assert server.wait_end() == 137
    assert "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes" in server.log


def test_loading_takes_its_time_and_says_how_far_it_is(serve, model):
    server = serve(load_seconds=1, shards=163)
    server.wait_log("Loading safetensors checkpoint shards:  25% Completed | 40/163 [00:00<00:0")
    with pytest.raises(ConnectionRefusedError):
        server.ask("/health")
    server.wait_ready()
    raw = server.log_path.read_bytes()
    assert b"\rLoading safetensors checkpoint shards: 100% Completed | 163/163 [00:01<00:00, " in raw
    for number in range(3):
        (model / f"model-{number}.safetensors").touch()
    again = serve(progress_newlines=True, load_seconds=1).wait_ready()
    assert b"\nLoading safetensors checkpoint shards:  33% Completed | 1/3 [00:00<00:0" in again.log_path.read_bytes()


PHASES = [
    "Init torch distributed begin.",
    "Init torch distributed ends.",
    "Load weight begin.",
    "Load weight end.",
    "KV Cache is allocated.",
    "Memory pool end.",
    "Capture npu graph begin.",
    "Capture npu graph end.",
    "max_total_num_tokens=",
    "Started server process",
    "Application startup complete.",
    "Uvicorn running on",
    "GET /model_info",
    "POST /generate",
    "The server is fired up and ready to roll!",
]


def test_the_phases_are_logged_in_order(serve):
    log = serve().wait_ready().log
    positions = [log.index(text) for text in PHASES]
    assert positions == sorted(positions)
    newer = serve(version="0.5.23").wait_ready().log
    assert "Init torch distributed" not in newer
    assert "Capture target decode NPU graph begin." in newer


@pytest.mark.parametrize("phase", ["start", "dist", "load", "graph", "transfer", "warmup", "ready"])
def test_it_fails_and_hangs_where_it_is_told_to(serve, phase):
    failing = serve(crash_at=phase, crash_line="RuntimeError: HCCL_BUFFSIZE is too SMALL")
    hanging = serve(hang_at=phase)
    assert failing.wait_end() == 137
    assert "HCCL_BUFFSIZE is too SMALL" in failing.log
    assert ("ready to roll" in failing.log) == (phase == "ready")
    time.sleep(0.3)
    assert hanging.process.poll() is None
    assert ("ready to roll" in hanging.log) == (phase == "ready")


def test_it_can_end_with_another_status_and_say_more(serve):
    server = serve(crash_at="load", crash_status=3, log_line='["noise one", "noise two"]')
    assert server.wait_end() == 3
    assert "noise one" in server.log
    assert "noise two" in server.log


def test_a_request_can_be_told_to_hang(serve):
    server = serve().wait_ready()
    server.configure(hang_at="request")
    with pytest.raises(TimeoutError):
        server.ask("/generate", {"text": "hello"}, timeout=0.5)
    assert server.ask("/health")[0] == 200
    server.configure(crash_at="request")
    with pytest.raises(ConnectionError):
        server.ask("/generate", {"text": "hello"}, timeout=5)
    assert server.wait_end() == 137


def test_it_can_leave_a_child_that_keeps_the_port(serve):
    server = serve(leave_child=True).wait_ready()
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True, text=True, check=True
    )
    child = int(children.stdout)
    server.process.send_signal(signal.SIGTERM)
    assert server.wait_end() == 137
    try:
        second = serve(port=server.port)
        second.wait_log("address already in use")
    finally:
        _kill(child)


def _kill(number):
    os.kill(number, signal.SIGKILL)


def test_an_idle_server_uses_no_processor(serve):
    server = serve("--tp-size", "2").wait_ready()
    before = _ticks(server.process.pid)
    time.sleep(1)
    assert _ticks(server.process.pid) - before <= 1


def _ticks(number):
    words = open(f"/proc/{number}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()  # noqa: SIM115
    return int(words[11]) + int(words[12])
