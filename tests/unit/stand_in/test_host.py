# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's interfaces and NPUs: what the environment names must be there and be ours."""

from __future__ import annotations

import fcntl
import socket

import pytest
from sglang.stand_in import interfaces, npus
from sglang.stand_in.settings import Settings

FOUND = {
    "lo": {"127.0.0.1"},
    "eth0": {"198.51.100.11"},
    "eth1": {"203.0.113.11"},
    "eth10": {"203.0.113.99"},
    "down0": set(),
}
ARGS = {
    "disaggregation_mode": "null",
    "host": "203.0.113.11",
    "port": 8000,
    "node_rank": 0,
    "nnodes": 1,
    "tp_size": 16,
    "pp_size": 1,
    "dp_size": 1,
    "enable_dp_attention": False,
    "device": "npu",
    "dist_init_addr": None,
    "base_gpu_id": 0,
    "gpu_id_step": 1,
}


def settings(env=None, **args):
    return Settings({**ARGS, **args}, "0.5.13.post1", env or {})


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"GLOO_SOCKET_IFNAME": "eth1", "HCCL_SOCKET_IFNAME": "=eth1"},
        {"HCCL_SOCKET_IFNAME": "eth1"},  # a prefix: eth10 too
        {"HCCL_SOCKET_IFNAME": "eth"},
        {"HCCL_SOCKET_IFNAME": "^lo"},
        {"GLOO_SOCKET_IFNAME": "eth1", "SGLANG_HOST_IP": "203.0.113.11"},
    ],
)
def test_interfaces_that_own_the_address_are_fine(env):
    interfaces.check(settings(env), FOUND)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"GLOO_SOCKET_IFNAME": "eth"}, "Unable to find address for: eth"),
        ({"GLOO_SOCKET_IFNAME": "<network_interface>"}, "Unable to find address for: <network_interface>"),
        ({"GLOO_SOCKET_IFNAME": "eth0,eth1"}, "Unable to find address for: eth0,eth1"),
        ({"GLOO_SOCKET_IFNAME": "down0"}, "Unable to find address for: down0"),
        ({"GLOO_SOCKET_IFNAME": "eth0"}, "203.0.113.11 is not an address of it"),
        ({"GLOO_SOCKET_IFNAME": "lo"}, "203.0.113.11 is not an address of it"),
        ({"GLOO_SOCKET_IFNAME": "eth1", "SGLANG_HOST_IP": "198.51.100.11"}, "198.51.100.11 is not an address of it"),
        ({"GLOO_SOCKET_IFNAME": "eth1", "HOST_IP": "198.51.100.11"}, "198.51.100.11 is not an address of it"),
        ({"HCCL_SOCKET_IFNAME": "bond0"}, "EI0001"),
        ({"HCCL_SOCKET_IFNAME": "=eth"}, "EI0001"),
        ({"HCCL_SOCKET_IFNAME": "=eth0"}, "203.0.113.11 is not an address of it"),
    ],
)
def test_interfaces_that_do_not_are_refused(env, said):
    with pytest.raises(interfaces.InterfaceError) as refused:
        interfaces.check(settings(env), FOUND)
    assert said in str(refused.value)


def test_a_service_on_loopback_may_name_any_interface_that_exists():
    interfaces.check(settings({"GLOO_SOCKET_IFNAME": "eth0", "HCCL_SOCKET_IFNAME": "lo"}, host="127.0.0.1"), FOUND)


def test_peers_told_an_address_of_another_network_get_nothing():
    assert interfaces.carries(settings({"GLOO_SOCKET_IFNAME": "eth1"}), "203.0.113.11", FOUND)
    assert not interfaces.carries(settings({"GLOO_SOCKET_IFNAME": "eth1"}), "198.51.100.11", FOUND)
    assert not interfaces.carries(settings({"HCCL_SOCKET_IFNAME": "=eth1"}), "203.0.113.99", FOUND)
    assert interfaces.carries(settings(), "198.51.100.11", FOUND)


def test_this_hosts_addresses_are_found_with_and_without_ip(monkeypatch):
    found = interfaces.addresses()
    assert "127.0.0.1" in found["lo"]
    monkeypatch.setenv("PATH", "/nonexistent")
    without = interfaces.addresses()
    assert set(without) == set(found)
    assert {name: {a for a in seen if ":" not in a} for name, seen in without.items()} == {
        name: {a for a in seen if ":" not in a} for name, seen in found.items()
    }


def test_the_server_dies_of_a_wrong_interface(serve):
    server = serve(env={"GLOO_SOCKET_IFNAME": "nosuch0"})
    assert server.wait_end() == 137
    assert "Unable to find address for: nosuch0" in server.log
    assert "Received sigquit from a child process" in server.log


@pytest.fixture
def devices(tmp_path):
    path = tmp_path / "npus"
    path.mkdir()
    for number in range(8):
        (path / f"davinci{number}").touch()
    return path


@pytest.mark.parametrize(
    ("args", "env", "wanted"),
    [
        ({"tp_size": 4}, {}, [0, 1, 2, 3]),
        ({"tp_size": 4, "base_gpu_id": 4}, {}, [4, 5, 6, 7]),
        ({"tp_size": 4, "nnodes": 2}, {}, [0, 1]),
        ({"tp_size": 2, "pp_size": 2}, {}, [0, 1, 2, 3]),
        ({"tp_size": 2, "dp_size": 2}, {}, [0, 1, 2, 3]),
        ({"tp_size": 2, "dp_size": 2, "enable_dp_attention": True}, {}, [0, 1]),
        ({"tp_size": 2, "gpu_id_step": 2}, {}, [0, 2]),
        ({"tp_size": 2}, {"ASCEND_RT_VISIBLE_DEVICES": "6,7"}, [6, 7]),
    ],
)
def test_npus_are_those_of_this_node(devices, args, env, wanted):
    assert [device for _unused, device in npus.wanted_devices(settings(env, **args))] == wanted


def test_npus_are_held_by_one_process_at_a_time(serve, devices):
    first = serve("--tp-size", "4", npu_dir=devices).wait_ready()
    second = serve("--tp-size", "4", "--base-gpu-id", "3", npu_dir=devices)
    assert second.wait_end() == 137
    assert "NPU out of memory. Tried to allocate 1.50 GiB (NPU 3;" in second.log
    serve("--tp-size", "4", "--base-gpu-id", "4", npu_dir=devices).wait_ready()
    first.end()
    with (devices / "davinci3").open("rb+") as free:
        fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_too_few_npus_end_it(serve, devices):
    server = serve("--tp-size", "16", npu_dir=devices)
    assert server.wait_end() == 137
    assert "Invalid device ID. Check the device ID (8)" in server.log


def test_cann_and_atb_must_have_been_sourced_where_they_are(serve, tmp_path):
    cann = tmp_path / "cann"
    (cann / "nnal").mkdir(parents=True)
    env = {"ASCEND_HOME_PATH": "/usr/local/Ascend/cann", "ATB_HOME_PATH": "/usr/local/Ascend/nnal/atb/latest"}
    for missing, library in (("ASCEND_HOME_PATH", "libhccl.so"), ("ATB_HOME_PATH", "libatb.so")):
        server = serve(cann_dir=cann, env={**env, missing: None})
        assert server.wait_end() == 1
        assert f"ImportError: {library}: cannot open shared object file" in server.log
    serve(cann_dir=cann, env=env).wait_ready()
    (cann / "nnal").rmdir()
    serve(cann_dir=cann, env={"ASCEND_HOME_PATH": "x"}).wait_ready()


def test_hccl_has_a_host_port_a_rank(serve, free_port):
    first = free_port()
    server = serve("--tp-size", "2", hccl_ports=True, env={"HCCL_IF_BASE_PORT": str(first)}).wait_ready()
    for port in (first, first + 1):
        socket.create_connection((server.host, port), timeout=2).close()
    second = serve("--tp-size", "2", hccl_ports=True, env={"HCCL_HOST_SOCKET_PORT_RANGE": f"{first + 1}-{first + 9}"})
    assert second.wait_end() == 137
    assert f"EI0019: socket type[2], listen on ip[127.0.0.1] and specific port[{first + 1}] fail" in second.log


def test_a_rank_table_is_refused(serve):
    server = serve(env={"RANK_TABLE_FILE": "/etc/hccl.json"})
    assert server.wait_end() == 137
    assert "EI0004" in server.log
