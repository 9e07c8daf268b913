# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prefill and decode: no answer without what prefill handed over, and the real failures where a link is missing."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

CHAT = {"model": "m", "messages": [{"role": "user", "content": "What is an NPU?"}], "max_tokens": 12, "temperature": 0}
ASCEND = ("--disaggregation-transfer-backend", "ascend")


def content(answer):
    status, _unused, body = answer
    assert status == 200, body
    return body["choices"][0]["message"]["content"]


def test_the_answer_is_the_mixed_servers(pair, serve, ask_both):
    prefill, decode = pair()
    mixed = serve().wait_ready()
    from_decode, from_prefill = ask_both(prefill, decode, "/v1/chat/completions", CHAT)
    assert content(from_decode) == content(mixed.ask("/v1/chat/completions", CHAT)) != ""
    assert from_prefill[0] == 200
    assert from_prefill[2]["usage"]["completion_tokens"] == 1
    other = {**CHAT, "messages": [{"role": "user", "content": "And a die?"}]}
    assert content(ask_both(prefill, decode, "/v1/chat/completions", other)[0]) != content(from_decode)


def test_batches_streams_and_many_at_once(pair, ask_both):
    prefill, decode = pair()
    body = {
        "text": ["hello", "world"],
        "sampling_params": {"max_new_tokens": 3},
        "bootstrap_host": ["127.0.0.1"] * 2,
        "bootstrap_port": [prefill.bootstrap] * 2,
        "bootstrap_room": [11, 12],
    }
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda server: server.ask("/generate", body), (prefill, decode)))
    assert [answer[0] for answer in answers] == [200, 200]
    assert [one["meta_info"]["completion_tokens"] for one in answers[1][2]] == [3, 3]
    with ThreadPoolExecutor(64) as pool:
        prompts = [{"text": f"prompt {number}", "sampling_params": {"max_new_tokens": 5}} for number in range(64)]
        many = list(pool.map(lambda body: ask_both(prefill, decode, "/generate", body)[0], prompts))
    assert {answer[0] for answer in many} == {200}
    assert len({answer[2]["text"] for answer in many}) == 64


def test_a_client_that_asks_directly_is_refused(pair):
    prefill, decode = pair()
    for server in (prefill, decode):
        status, _unused, body = server.ask("/generate", {"text": "hello"})
        assert status == 400
        assert body["error"]["message"].startswith(
            "Invalid request: Disaggregated request received without bootstrap room id. req.rid='"
        )


def test_a_wrong_bootstrap_port_fails_the_handshake(pair, ask_both, free_port):
    prefill, decode = pair()
    begun = time.monotonic()
    (status, _unused, body), _unused = ask_both(
        prefill, decode, "/v1/chat/completions", CHAT, room=3333, port=free_port()
    )
    assert 1 <= time.monotonic() - begun < 10
    assert (status, body["type"], body["code"]) == (500, "500", 500)
    assert "Decode handshake failed for request rank=0 decode_req.req.rid='" in body["message"]
    assert body["message"].endswith("with exception KVTransferError(bootstrap_room=3333): Aborted by AbortReq.")
    assert "Error fetching prefill server info from bootstrap" in decode.log


@pytest.mark.parametrize(
    ("asked", "step", "poll"), [(0, "Prefill bootstrap", "Bootstrapping"), (1, "Decode transfer", "WaitingForInput")]
)
def test_half_a_request_times_out(pair, asked, step, poll):
    servers = pair(kv_timeout_seconds=0.5)
    body = {
        "text": "hello",
        "bootstrap_host": "127.0.0.1",
        "bootstrap_port": servers[0].bootstrap,
        "bootstrap_room": 1111,
    }
    status, _unused, answer = servers[asked].ask("/generate", body)
    assert status == 500
    assert answer["message"].startswith(f"{step} failed for request rank=0")
    assert answer["message"].endswith(
        f"KVTransferError(bootstrap_room=1111): Request 1111 timed out after 0.5s in KVPoll.{poll}"
    )


def test_the_limits_are_the_engines_own_variables(pair):
    variables = {"SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": "0.5", "STAND_IN_KV_TIMEOUT_SECONDS": "null"}
    prefill, _unused = pair(prefill_env=variables, kv_timeout_seconds="null")
    body = {"text": "hello", "bootstrap_host": "127.0.0.1", "bootstrap_port": prefill.bootstrap, "bootstrap_room": 5}
    assert "timed out after 0.5s in KVPoll.Bootstrapping" in prefill.ask("/generate", body)[2]["message"]


def test_bootstrap_speaks_as_recorded(pair):
    prefill, _unused = pair(("--tp-size", "4", "--dp-size", "2", "--enable-dp-attention"))

    def ask(path):
        connection = http.client.HTTPConnection("127.0.0.1", prefill.bootstrap, timeout=5)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    assert ask("/health") == (200, "OK")
    route = "/route?prefill_dp_rank={0}&prefill_cp_rank={1}&target_tp_rank={2}&target_pp_rank={1}"
    status, text = ask(route.format(-1, -1, -1))
    recorded = {
        "attn_tp_size", "attn_cp_size", "dp_size", "pp_size", "page_size", "kv_cache_dtype", "follow_bootstrap_room",
        "target_tp_rank", "target_tp_ranks", "target_cp_ranks", "target_pp_ranks", "required_dst_info_num",
        "required_prefill_response_num",
    }  # fmt: skip
    assert (status, set(json.loads(text))) == (200, recorded)
    assert (json.loads(text)["attn_tp_size"], json.loads(text)["dp_size"]) == (2, 2)
    for dp_rank in (0, 1):
        status, text = ask(route.format(dp_rank, 0, 1))
        assert status == 200
        assert json.loads(text)["rank_ip"] == "127.0.0.1"
        socket.create_connection(("127.0.0.1", json.loads(text)["rank_port"]), timeout=2).close()
    assert ask(route.format(7, 0, 0))[0] == 404


def test_a_decode_that_is_asked_without_host_crashes_slowly(pair):
    _unused, decode = pair(crash_seconds=1)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        decode.ask("/generate", {"text": "hello", "bootstrap_room": 4444})
    assert decode.wait_end() == 137
    assert "AttributeError: 'NoneType' object has no attribute 'startswith'" in decode.log
    assert "Waiting 60.0 seconds for CUDA coredumps before exiting." in decode.log


def test_a_crashing_decode_takes_connections_and_answers_nobody(pair):
    _unused, decode = pair(crash_seconds=1.5)
    thread = threading.Thread(
        target=lambda: _ignore(lambda: decode.ask("/generate", {"text": "hello", "bootstrap_room": 4444}))
    )
    thread.start()
    decode.wait_log("SIGQUIT received.")
    with pytest.raises(TimeoutError):
        decode.ask("/health", timeout=0.5)
    assert decode.process.poll() is None
    thread.join()


def _ignore(call):
    with contextlib.suppress(OSError, http.client.HTTPException):
        call()


@pytest.mark.parametrize(
    "url", [None, "tcp://PIP:PORT", "tcp://<store_address>:24670", "http://127.0.0.1:24670", "tcp://127.0.0.1"]
)
def test_a_store_url_that_is_none_fails_the_transfer_engine(serve, url):
    server = serve("--disaggregation-mode", "decode", *ASCEND, env={"ASCEND_MF_STORE_URL": url})
    assert server.wait_end() == 137
    assert "Ascend Transfer Engine initialization failed." in server.log


def test_a_store_that_nobody_serves_is_waited_for(serve, free_port):
    server = serve(
        "--disaggregation-mode", "decode", *ASCEND, env={"ASCEND_MF_STORE_URL": f"tcp://127.0.0.1:{free_port()}"}
    )
    server.wait_log("max_total_num_tokens=")
    time.sleep(0.4)
    assert server.process.poll() is None
    assert "Uvicorn running" not in server.log


def test_somebody_elses_port_is_no_store(serve):
    other = serve().wait_ready()
    server = serve(
        "--disaggregation-mode", "decode", *ASCEND, env={"ASCEND_MF_STORE_URL": f"tcp://127.0.0.1:{other.port}"}
    )
    assert server.wait_end() == 137
    assert "Ascend Transfer Engine initialization failed." in server.log


@pytest.mark.parametrize("mode", ["prefill", "decode"])
def test_the_default_backend_does_not_start_on_npus(serve, free_port, mode):
    server = serve("--disaggregation-mode", mode, "--disaggregation-bootstrap-port", free_port())
    assert server.wait_end() == 137
    assert "Please install mooncake" in server.log


def test_a_second_prefill_is_a_client_of_the_firsts_store(pair, serve, free_port, ask_both):
    first, decode = pair()
    bootstrap = free_port()
    env = {"ASCEND_MF_STORE_URL": first.store, "SGLANG_HOST_IP": "127.0.0.1"}
    second = serve(
        "--disaggregation-mode", "prefill", *ASCEND, "--disaggregation-bootstrap-port", bootstrap, env=env
    ).wait_ready()
    second.bootstrap = bootstrap
    assert content(ask_both(first, decode, "/v1/chat/completions", CHAT)[0]) == content(
        ask_both(second, decode, "/v1/chat/completions", CHAT)[0]
    )


def test_members_of_a_dead_store_are_strangers_to_the_next(pair, serve, ask_both):
    first, decode = pair()
    first.end()
    env = {"ASCEND_MF_STORE_URL": first.store, "SGLANG_HOST_IP": "127.0.0.1"}
    again = serve(
        "--disaggregation-mode", "prefill", *ASCEND, "--disaggregation-bootstrap-port", first.bootstrap, env=env
    ).wait_ready()
    again.bootstrap = first.bootstrap
    (status, _unused, body), _unused = ask_both(again, decode, "/v1/chat/completions", CHAT)
    assert (status, "not a member of this store" in body["message"]) == (500, True)
    decode.end()
    decode = serve("--disaggregation-mode", "decode", *ASCEND, env=env).wait_ready()
    assert content(ask_both(again, decode, "/v1/chat/completions", CHAT)[0])


def test_an_address_that_is_not_the_hosts_ends_the_start(pair, serve, free_port):
    prefill, _unused = pair()
    env = {"ASCEND_MF_STORE_URL": prefill.store, "SGLANG_HOST_IP": "192.0.2.99"}
    server = serve("--disaggregation-mode", "decode", *ASCEND, env=env)
    assert server.wait_end() == 137
    assert "zmq.error.ZMQError: Cannot assign requested address (addr='tcp://192.0.2.99:*')" in server.log


def test_a_taken_bootstrap_port_is_only_logged_and_nothing_is_answered(pair, serve, ask_both):
    first, decode = pair()
    env = {"ASCEND_MF_STORE_URL": first.store, "SGLANG_HOST_IP": "127.0.0.1"}
    second = serve("--disaggregation-mode", "prefill", *ASCEND, "--disaggregation-bootstrap-port", decode.port, env=env)
    second.wait_log("Server error: [Errno 98] Address already in use")
    second.wait_log("Prefill instance failed to register to bootstrap server: HTTP Error 404")
    second.wait_ready()
    second.bootstrap = decode.port
    assert ask_both(second, decode, "/v1/chat/completions", CHAT)[0][0] == 500


def test_instances_of_several_nodes_hand_over_from_and_to_each_node(serve, free_port, ask_both):
    store, bootstrap, http_port = f"tcp://127.0.0.2:{free_port()}", free_port(), free_port()
    dist = [free_port(), free_port()]

    def node(mode, number, rank, *words):
        host = f"127.0.0.{number * 2 + rank + 2}"
        env = {"ASCEND_MF_STORE_URL": store, "SGLANG_HOST_IP": host}
        words = ("--disaggregation-mode", mode, *ASCEND, "--nnodes", "2", "--node-rank", rank, "--tp-size", "4",
                 "--dist-init-addr", f"127.0.0.{number * 2 + 2}:{dist[number]}", *words)  # fmt: skip
        return serve(*words, host=host, port=http_port, env=env)

    prefill, prefill_1 = (node("prefill", 0, rank, "--disaggregation-bootstrap-port", bootstrap) for rank in (0, 1))
    decode, decode_1 = (node("decode", 1, rank, "--dp-size", "4", "--enable-dp-attention") for rank in (0, 1))
    prefill.bootstrap = bootstrap
    prefill.wait_ready()
    decode.wait_ready()
    answers = [
        ask_both(prefill, decode, "/generate", {"text": "hello", "sampling_params": {"max_new_tokens": 4}})[0]
        for _unused in range(4)
    ]
    assert {answer[0] for answer in answers} == {200}
    assert len({answer[2]["text"] for answer in answers}) == 1
    assert [answer[2]["meta_info"]["dp_rank"] for answer in answers] == [0, 2, 1, 3]
    prefill_1.end()
    assert prefill.wait_end() == 137
    assert decode_1.process.poll() is None


def test_the_store_can_be_a_process_of_its_own(serve, free_port, tmp_path):
    engine = os.environ["PATH"], next(path for path in sys.path if path.endswith("stand_in/engine"))
    url = f"tcp://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "memfabric_hybrid.launch_ascend_mf_store"]
    env = {"PATH": engine[0], "PYTHONPATH": engine[1]}
    assert (
        b"env ASCEND_MF_STORE_URL not exist"
        in subprocess.run(command, env=env, capture_output=True, timeout=20, check=False).stderr
    )
    assert (
        subprocess.run(
            command, env={**env, "ASCEND_MF_STORE_URL": "tcp://192.0.2.99:1"}, timeout=20, check=False
        ).returncode
        == 255
    )
    store = subprocess.Popen(command, env={**env, "ASCEND_MF_STORE_URL": url})
    try:
        decode = serve(
            "--disaggregation-mode", "decode", *ASCEND, env={"ASCEND_MF_STORE_URL": url, "SGLANG_HOST_IP": "127.0.0.1"}
        )
        decode.wait_ready()
        store.send_signal(signal.SIGTERM)
        assert store.wait(10) == 0
    finally:
        store.kill()


def test_proxies_of_the_environment_spoil_the_start(serve):
    server = serve(env={"http_proxy": "http://127.0.0.1:9"})
    assert server.wait_end() == 137
    assert "Initialization failed. warmup error:" in server.log
