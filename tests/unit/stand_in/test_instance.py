# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of one instance: they find each other, or say why not, or are silent where the real ones are."""

from __future__ import annotations

import signal
import socket
import time

import pytest


@pytest.fixture
def node(serve, free_port):
    """A function that starts a node of one instance; node rank i listens on 127.0.0.(i + 2)."""
    dist, http = free_port(), free_port()

    def start(rank, *words, nnodes=2, tp=4, env=None, **knobs):
        words = (
            "--dist-init-addr",
            f"127.0.0.2:{dist}",
            "--nnodes",
            nnodes,
            "--node-rank",
            rank,
            "--tp-size",
            tp,
            *words,
        )
        return serve(*words, host=f"127.0.0.{rank + 2}", port=http, env=env, **knobs)

    start.dist = dist
    return start


def test_rank_1_answers_a_dummy_health_before_rank_0_is_ready(node):
    head, member = node(0, warmup_seconds=0.8), node(1)
    member.wait_log("Dummy health check server started in background thread at 127.0.0.3")
    assert [member.ask(path)[::2] for path in ("/health", "/health_generate", "/ping")] == [(200, "")] * 3
    assert member.ask("/model_info")[::2] == (404, {"detail": "Not Found"})
    assert member.ask("/v1/models")[0] == 404
    head.wait_log("Uvicorn running")
    assert head.ask("/health")[0] == 503
    assert head.ask("/model_info")[0] == 200
    head.wait_ready()
    assert head.ask("/health")[0] == 200
    assert "TP0] Load weight begin" in head.log
    assert "TP2] Load weight begin" in member.log


def test_the_order_of_the_starts_does_not_matter(node):
    members = [node(rank, nnodes=3, tp=6) for rank in (2, 1)]
    node(0, nnodes=3, tp=6).wait_ready()
    assert all(member.process.poll() is None for member in members)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_missing_rank_is_waited_for_in_silence(node, rank):
    server = node(rank)
    server.wait_log("Init torch distributed begin.")
    before = server.log
    time.sleep(0.4)
    assert server.log == before
    assert server.process.poll() is None
    with pytest.raises(ConnectionRefusedError):
        server.ask("/health")


def test_dist_timeout_bounds_the_wait(node):
    head = node(0, "--dist-timeout", "1")
    assert head.wait_end() == 137
    assert (
        "torch.distributed.DistStoreError: Timed out after 2 seconds waiting for clients. 1/2 clients joined."
        in head.log
    )
    member = node(1, "--dist-timeout", "1")
    assert member.wait_end() == 137
    said = f"The client socket has timed out after 1000ms while trying to connect to (127.0.0.2, {node.dist})."
    assert f"torch.distributed.DistNetworkError: {said}" in member.log


@pytest.mark.parametrize(
    ("words", "kwargs"),
    [
        ((), {"nnodes": 4}),
        ((), {"tp": 8}),
        (("--dp-size", "2", "--enable-dp-attention"), {}),
        (("--disaggregation-mode", "decode"), {}),
    ],
)
def test_a_node_of_another_shape_is_refused_and_the_head_waits_on(node, words, kwargs):
    head, stranger = node(0), node(1, *words, **kwargs)
    assert stranger.wait_end() == 137
    assert "world size mismatch" in stranger.log
    assert head.process.poll() is None
    node(1).wait_log("Dummy health check server started")
    head.wait_ready()


def test_of_a_rank_that_comes_twice_the_late_one_hangs_in_silence(node):
    head, first = node(0), node(1)
    head.wait_ready()
    late = node(1)
    late.wait_log("Init torch distributed begin.")
    time.sleep(0.4)
    assert late.log.rstrip().endswith("Init torch distributed begin.")
    assert [server.process.poll() for server in (head, first, late)] == [None] * 3


def test_a_rank_that_died_while_waiting_may_come_again(node):
    head = node(0, nnodes=3, tp=6)
    first = node(1, nnodes=3, tp=6)
    first.wait_log("Init torch distributed begin.")
    time.sleep(0.3)
    first.end()
    node(1, nnodes=3, tp=6)
    node(2, nnodes=3, tp=6)
    head.wait_ready()


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_takes_the_others_along(node, victim):
    servers = [node(0), node(1)]
    servers[0].wait_ready()
    servers[victim].process.kill()
    survivor = servers[1 - victim]
    assert survivor.wait_end() == 137
    assert "Connection closed by peer [127.0.0.2]" in survivor.log
    assert "No live scheduler processes found; skipping py-spy and CUDA coredump." in survivor.log


def test_sigterm_on_the_head_ends_all_at_once(node):
    head, member = node(0), node(1, peer_death_seconds=60)
    head.wait_ready()
    head.process.send_signal(signal.SIGTERM)
    assert [server.wait_end() for server in (head, member)] == [137, 137]
    assert "Received sigquit from a child process" in member.log


def test_a_head_that_does_not_own_the_address_dies(serve, free_port):
    server = serve(
        "--dist-init-addr", f"192.0.2.99:{free_port()}", "--nnodes", "2", "--node-rank", "0", "--tp-size", "2"
    )
    assert server.wait_end() == 137
    assert "EADDRNOTAVAIL" in server.log


def test_a_taken_dist_init_port_ends_the_head(node):
    with socket.create_server(("127.0.0.2", node.dist)):
        head = node(0)
        assert head.wait_end() == 137
    assert "EADDRINUSE" in head.log


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nnodes", "2", "--tp-size", "2"], "ValueError: Empty address string"),
        (
            ["--nnodes", "2", "--tp-size", "3", "--dist-init-addr", "127.0.0.1:5000"],
            "AssertionError: tp_size must be divisible by number of nodes",
        ),
        (["--tp-size", "6", "--dp-size", "4", "--enable-dp-attention"], "must be divisible by dp_size"),
        (["--tp-size", "8", "--moe-dense-tp-size", "2"], "moe_dense_tp_size"),
        (["--chunked-prefill-size", "100"], "chunked_prefill_size"),
        (["--mem-fraction-static", "1.5"], "mem_fraction_static"),
        (
            ["--disaggregation-mode", "prefill", "--disaggregation-transfer-backend", "fake"],
            "Prefill server does not support 'fake' as the transfer backend",
        ),
    ],
)
def test_what_argparse_does_not_check_ends_with_1(serve, words, said):
    server = serve(*words)
    assert server.wait_end() == 1
    assert said in server.log


def test_a_rank_beyond_the_world_dies(node):
    server = node(2)
    assert server.wait_end() == 137
    assert "out of range" in server.log


@pytest.mark.parametrize("with_dist", [True, False])
def test_dp_attention_opens_its_derived_ports(serve, free_port, with_dist):
    base = free_port()
    words = ["--tp-size", "2", "--dp-size", "2", "--enable-dp-attention"]
    own = {"port": base - 233}
    first = serve(*words, "--dist-init-addr", f"127.0.0.1:{base}") if with_dist else serve(*words, **own)
    first.wait_ready()
    for offset in (1, 2, 5):
        socket.create_connection(("127.0.0.1", base + offset), timeout=2).close()
    second = serve(*words, port=base - 233 + 1)
    assert second.wait_end() == 137
    assert f"zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:{base + 2}')" in second.log
    info = first.ask("/server_info")[2]
    assert len(info["internal_states"]) == 2


def zbal(port, host="127.0.0.2"):
    return {"SGLANG_ZBAL_BOOTSTRAP_URL": f"tcp://{host}:{port}", "SGLANG_ZBAL_LOCAL_MEM_SIZE": "60416"}


def test_zbal_brings_the_nodes_together_at_rank_0(node, free_port):
    env = zbal(free_port())
    head, member = node(0, env=env), node(1, env=env)
    head.wait_ready()
    assert member.process.poll() is None


def test_zbal_on_an_address_that_is_not_rank_0s_fails(node, free_port):
    env = zbal(free_port(), "192.0.2.99")
    head, member = node(0, env=env), node(1, env=env)
    assert [server.wait_end() for server in (head, member)] == [137, 137]
    assert "[ZBAL] zbal init failed!" in head.log


def test_a_member_with_another_zbal_url_fails(node, free_port):
    port = free_port()
    head, member = node(0, env=zbal(port)), node(1, env=zbal(port, "127.0.0.3"))
    assert [server.wait_end() for server in (member, head)] == [137, 137]
    assert "[ZBAL] zbal init failed!" in member.log


def test_two_instances_cannot_share_a_zbal_port(serve, free_port):
    env = zbal(free_port(), "127.0.0.1")
    serve(env=env).wait_ready()
    second = serve(env=env)
    assert second.wait_end() == 137
    assert "[ZBAL] zbal init failed!" in second.log
