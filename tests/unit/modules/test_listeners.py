# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Listening sockets and their owners."""

from __future__ import annotations

import os
import socket

from ansible_collections.ascend.sglang.plugins.module_utils.listeners import Listener, listening

TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0B7100CB:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0 100 0 0 10 0
   1: 0100007F:1F41 00000000:0000 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0 100 0 0 10 0
   2: 00000000:1F42 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 103 1 0 100 0 0 10 0
"""
TCP6 = """  sl  local_address                         remote_address                        st
   0: B80D0120000000000000000001000000:2328 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 104 1 0 0 0 0 0 0
"""


def fake_proc(tmp_path) -> str:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(TCP)
    (tmp_path / "net" / "tcp6").write_text(TCP6)
    for pid, inode, cmdline in (
        (20, 101, "python3\0-m\0sglang.launch_server\0--api-key\0s3cret\0--port=8000\0"),
        (21, 104, "x\0--token=t\0"),
    ):
        (tmp_path / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / str(pid) / "fd" / "3").symlink_to(f"socket:[{inode}]")
        (tmp_path / str(pid) / "cmdline").write_text(cmdline)
        (tmp_path / str(pid) / "cgroup").write_text("0::/system.slice/sglang-prefill.service\n")
    return str(tmp_path)


def test_only_listeners_and_whose_they_are(tmp_path):
    found = listening(proc=fake_proc(tmp_path))
    assert [(one.address, one.port, one.pid, one.unit) for one in found] == [
        ("203.0.113.11", 8000, 20, "sglang-prefill"),
        ("0.0.0.0", 8002, None, None),
        ("2001:db8::1", 9000, 21, "sglang-prefill"),
    ]
    assert str(found[1]) == "an unknown process on 0.0.0.0"


def test_only_the_ports_asked_for(tmp_path):
    assert [one.port for one in listening([8002, 1], fake_proc(tmp_path))] == [8002]


def test_what_looks_like_a_secret_is_not_shown(tmp_path):
    found = listening([8000, 9000], fake_proc(tmp_path))
    assert found[0].command == "python3 -m sglang.launch_server --api-key *** --port=8000"
    assert found[1].command == "x --token=***"


def test_a_host_without_ipv6(tmp_path):
    proc = fake_proc(tmp_path)
    os.unlink(f"{proc}/net/tcp6")
    assert [one.port for one in listening(proc=proc)] == [8000, 8002]


def test_a_real_socket_of_this_process():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (found,) = listening([port])
        assert (found.address, found.pid) == ("127.0.0.1", os.getpid())
    assert listening([port]) == []


def test_an_ipv4_address_behind_a_socket_of_both_families(tmp_path):
    proc = fake_proc(tmp_path)
    row = "   0: 0000000000000000FFFF00000B7100CB:1F43 0:0000 0A 0:0 0:0 0 0 0 105 1 0 0 0 0 0 0\n"
    (tmp_path / "net" / "tcp6").write_text(TCP6 + row)
    assert [one.address for one in listening([8003], proc)] == ["203.0.113.11"]


def test_it_reads_as_a_sentence():
    assert str(Listener("::", 1, 7, "nginx", "web")) == "process 7 (nginx, unit web)"
    assert str(Listener("::", 1, 7, "nginx")) == "process 7 (nginx)"
