# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in of memfabric_hybrid writes where it may, and nowhere else."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from .conftest import REAL


def place(buffer) -> int:
    return ctypes.addressof(buffer)


def member(memfabric, url, role="Decode"):
    engine = memfabric.TransferEngine()
    session = f"127.0.0.1:{engine.get_rpc_port()}"
    return engine, session, engine.initialize(url, session, role, 0, engine.TransDataOpType.SDMA)


@pytest.fixture
def url() -> str:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"tcp://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def pair(memfabric, url):
    """Two engines of one group, and the second one's session."""
    assert memfabric.create_config_store(url) == 0
    sender, _session, status = member(memfabric, url, "Prefill")
    assert status == 0
    receiver, session, status = member(memfabric, url)
    assert status == 0
    return sender, receiver, session


def test_pieces_go_where_they_belong(pair):
    sender, receiver, session = pair
    source = ctypes.create_string_buffer(b"abcdefgh", 8)
    target = ctypes.create_string_buffer(b"--------", 8)
    assert receiver.batch_register_memory([place(target)], [8]) == 0
    sources, targets = [place(source), place(source) + 5], [place(target) + 6, place(target)]
    assert sender.batch_transfer_sync_write(session, sources, targets, [2, 3]) == 0
    assert target.raw == b"fgh---ab"


def test_more_than_a_socket_holds(pair):
    sender, receiver, session = pair
    size = 8 << 20
    source = ctypes.create_string_buffer(os.urandom(size), size)
    target = ctypes.create_string_buffer(size)
    receiver.register_memory(place(target), size)
    assert sender.transfer_sync_write(session, place(source), place(target), size) == 0
    assert target.raw == source.raw


@pytest.mark.parametrize(("offset", "length"), [(-1, 4), (4, 5), (0, 9), (1 << 40, 1)])
def test_memory_that_is_not_registered_is_not_written(pair, offset, length):
    sender, receiver, session = pair
    source = ctypes.create_string_buffer(b"x" * 16, 16)
    target = ctypes.create_string_buffer(b"-" * 16, 16)
    receiver.register_memory(place(target) + 4, 8)
    good, bad = place(target) + 4, place(target) + 4 + offset
    assert sender.batch_transfer_sync_write(session, [place(source)] * 2, [good, bad], [4, length]) == -1
    assert target.raw == b"-" * 16
    # The connection is as good as before.
    assert sender.transfer_sync_write(session, place(source), good, 8) == 0
    assert target.raw == b"----xxxxxxxx----"


def test_what_was_taken_back_is_not_written(pair):
    sender, receiver, session = pair
    buffer = ctypes.create_string_buffer(4)
    receiver.register_memory(place(buffer), 4)
    receiver.unregister_memory(place(buffer))
    assert sender.transfer_sync_write(session, place(buffer), place(buffer), 4) == -1


def test_memory_that_is_none(memfabric):
    engine = memfabric.TransferEngine()
    assert engine.batch_register_memory([0], [8]) == -1
    assert engine.batch_register_memory([4096], [0]) == -1


@pytest.mark.parametrize("session", ["127.0.0.1:1", "nowhere", "127.0.0.1:x"])
def test_nobody_there(pair, session):
    sender, _receiver, _session = pair
    buffer = ctypes.create_string_buffer(4)
    assert sender.transfer_sync_write(session, place(buffer), place(buffer), 4) == -1


def test_a_receiver_that_goes_and_comes_back(memfabric, pair, url):
    """Another process: its end is noticed, and its successor is another session."""
    sender, _receiver, _session = pair
    buffer = ctypes.create_string_buffer(b"data", 4)
    code = (
        "import ctypes, sys; from memfabric_hybrid import TransferEngine as E; e = E();"
        f"s = f'127.0.0.1:{{e.get_rpc_port()}}'; e.initialize('{url}', s, 'Decode', 0, E.TransDataOpType.SDMA);"
        "b = ctypes.create_string_buffer(4); a = ctypes.addressof(b); e.register_memory(a, 4);"
        "print(s, a, flush=True); sys.stdin.readline(); print(b.raw.decode())"
    )
    for _turn in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env={**os.environ, "PYTHONPATH": str(REAL / "site")},
        ) as other:  # fmt: skip
            session, address = other.stdout.readline().split()
            assert sender.transfer_sync_write(session, place(buffer), int(address), 4) == 0
            assert other.communicate("\n", timeout=20)[0] == "data\n"
        assert sender.transfer_sync_write(session, place(buffer), int(address), 4) == -1


def test_rubbish_is_no_message(memfabric, pair):
    sender, receiver, session = pair
    host, port = session.split(":")
    buffer = ctypes.create_string_buffer(4)
    receiver.register_memory(place(buffer), 4)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"\xff" * 4)
        assert connection.recv(1) == b""
    source = ctypes.create_string_buffer(b"data", 4)
    assert sender.transfer_sync_write(session, place(source), place(buffer), 4) == 0


def test_an_address_has_one_store(memfabric, url):
    assert memfabric.create_config_store(url) == 0
    assert memfabric.create_config_store(url) == -1


@pytest.mark.parametrize("wrong", ["", None, "127.0.0.1:5000", "http://127.0.0.1:5000", "tcp://<store>", "tcp://h:x"])
def test_an_address_that_is_none(memfabric, wrong):
    assert memfabric.create_config_store(wrong) == -1
    assert member(memfabric, wrong)[2] == -1


def test_who_comes_first_waits_for_the_store(memfabric, url):
    done = []
    thread = threading.Thread(target=lambda: done.append(member(memfabric, url)[2]), daemon=True)
    thread.start()
    time.sleep(0.3)
    assert not done
    assert memfabric.create_config_store(url) == 0
    thread.join(10)
    assert done == [0]
