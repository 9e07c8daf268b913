# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What else is read from a host: driver, device files, room, the services' Python."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import sys

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import ascend_driver, host_room, service_python
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer, run
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Observed
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState
from ansible_collections.ascend.sglang.plugins.modules import host_facts

SAMPLES = pathlib.Path(__file__).parent / "samples"


def tree(root: pathlib.Path, **files: str) -> str:
    for path, name in files.items():
        target = root / path.replace("__", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((SAMPLES / name).read_text())
    return str(root)


@pytest.mark.parametrize("version", ["24.1.rc3", "25.2.1", "25.5.1", "26.0.rc1"])
def test_driver(tmp_path, version: str):
    place = {"usr__local__Ascend__driver__version.info": f"driver_version.info_{version}.txt"}
    record = {"etc__ascend_install.info": "etc_ascend_install.info_complete.txt"}
    firmware = {"usr__local__Ascend__firmware__version.info": "firmware_version.info_7.8.txt"}
    found = ascend_driver.look(tree(tmp_path, **place, **record, **firmware))
    assert found == {"driver": version, "firmware": "7.8.0.6.201", "status": "complete"}


def test_driver_elsewhere_and_half_installed(tmp_path):
    root = tree(tmp_path, etc__ascend_install__info="etc_ascend_install.info_incomplete.txt")
    record = tmp_path / "etc/ascend_install.info"
    text = (SAMPLES / "etc_ascend_install.info_incomplete.txt").read_text().replace("/usr/local", "/opt")
    record.write_text(text)
    tree(tmp_path, **{"opt__Ascend__driver__version.info": "driver_version.info_no_package_version_old.txt"})
    assert ascend_driver.look(root) == {"driver": "23.0.5", "firmware": "", "status": "uncomplete"}


def test_no_driver(tmp_path):
    assert ascend_driver.look(str(tmp_path)) == {"driver": "", "firmware": "", "status": ""}
    assert ascend_driver.devices(str(tmp_path))["npus"] == []


def test_devices(tmp_path):
    (tmp_path / "dev").mkdir()
    for name in (
        "davinci0",
        "davinci15",
        "davinci2",
        "davinci_manager",
        "hisi_hdc",
        "devmm_svm",
        "davinci_cdev",
        "null",
    ):
        (tmp_path / "dev" / name).touch()
    (tmp_path / "dev" / "davinci15").chmod(0o660)
    found = ascend_driver.devices(str(tmp_path))
    assert found["npus"] == [0, 2, 15]
    assert found["managers"] == ["davinci_manager", "hisi_hdc", "devmm_svm"]
    assert set(found["files"]) == {"davinci0", "davinci2", "davinci15", *found["managers"]}
    assert found["files"]["davinci15"] == {"mode": 0o660, "uid": os.getuid(), "gid": os.getgid()}


def proc(root: pathlib.Path, memlock: str = "unlimited", capabilities: str = "000001ffffffffff") -> str:
    (root / "1").mkdir()
    (root / "1/limits").write_text(
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        f"Max open files            1024                 524288               files     \n"
        f"Max locked memory         8388608              {memlock:<20} bytes     \n"
    )
    (root / "1/status").write_text(f"Name:\tsystemd\nCapEff:\t{capabilities}\n")
    (root / "sys/fs").mkdir(parents=True)
    (root / "sys/fs/nr_open").write_text("1048576\n")
    (root / "sys/net/ipv4").mkdir(parents=True)
    (root / "sys/net/ipv4/ip_local_port_range").write_text("32768\t60999\n")
    (root / "sys/net/ipv4/ip_local_reserved_ports").write_text("60000-60015,24670\n")
    return str(root)


def test_limits_and_ports(tmp_path):
    root = proc(tmp_path)
    assert host_room.limits(root) == {
        "memlock": None, "nofile": 524288, "nr_open": 1048576, "raises": True, "locks": True,
    }  # fmt: skip
    assert host_room.local_ports(root) == {"range": [32768, 60999], "reserved": [[60000, 60015], [24670, 24670]]}


def test_limits_of_a_container(tmp_path):
    found = host_room.limits(proc(tmp_path, "8388608", "00000000a80425fb"))
    assert (found["memlock"], found["raises"], found["locks"]) == (8388608, False, False)


def test_limits_that_nobody_tells(tmp_path):
    found = host_room.limits(str(tmp_path))
    assert found == {"memlock": None, "nofile": None, "nr_open": None, "raises": False, "locks": False}
    assert host_room.local_ports(str(tmp_path)) == {"range": None, "reserved": []}


def test_shared_memory(tmp_path):
    (tmp_path / "psm_deadbeef").write_bytes(bytes(3000))
    (tmp_path / "small").write_bytes(bytes(10))
    (tmp_path / "nothing").touch()
    found = host_room.shared_memory(str(tmp_path))
    assert found is not None
    assert [one["name"] for one in found["files"]] == ["psm_deadbeef", "small"]
    assert found["files"][0]["owner"] in ("root", str(os.getuid())) or found["files"][0]["owner"]
    assert 0 < found["free"] <= found["size"]
    assert host_room.shared_memory(str(tmp_path / "none")) is None


def test_the_disk_of_a_directory_that_is_yet_to_be_made(tmp_path):
    assert host_room.disk(str(tmp_path / "a/b"))["at"] == str(tmp_path)


def test_python_and_its_packages():
    found = service_python.look(sys.executable, ["pytest", "sglang-router", "json"])
    assert found["path"] == sys.executable
    assert found["version"].startswith("3.")
    assert set(found["packages"]) == {"pytest", "json"}
    # A module without metadata is there, in a version that nobody knows.
    assert found["packages"]["json"] == ""


def test_files_that_a_user_cannot_read(tmp_path):
    (tmp_path / "a").touch()
    told = service_python.look(sys.executable, [], paths=[str(tmp_path), str(tmp_path / "none")])
    assert told["closed"] == {str(tmp_path): []}


def test_no_python():
    assert service_python.look("/nowhere/python3", [])["error"] == "/nowhere/python3 is no executable file"
    assert "no executable file in /" in service_python.look("no-such-python", [])["error"]


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("root", []),
        ("", ["--property=DynamicUser=yes"]),
        ("sglang", ["--property=User=sglang", "--property=SupplementaryGroups=HwHiAiUser"]),
    ],
)
def test_asked_by_systemd_as_each_user(user: str, words: list[str]):
    calls = []

    def ask(argv, _limit):
        calls.append(list(argv))
        return Answer(0, json.dumps({"version": "3.11.4", "packages": {}, "closed": {}}), "")

    service_python.look_as(sys.executable, [], [user], [], ask, npu_group=True)
    (argv,) = calls
    place = argv.index(sys.executable)
    assert argv[0] == "systemd-run"
    # systemd ends what does not answer: ending systemd-run would not.
    assert argv[5:place] == ["--property=RuntimeMaxSec=20", "--property=TimeoutStopSec=2", *words]


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (203, "", "systemd cannot execute {python} as sglang (203/EXEC)"),
        (217, "", "there is no user sglang (217/USER)"),
        (1, "ModuleNotFoundError: x", "{python} as sglang: ModuleNotFoundError: x"),
    ],
)
def test_why_systemd_cannot_run_it(status: int, said: str, expected: str):
    found = service_python.look(sys.executable, [], lambda _argv, _limit: Answer(status, "", said), user="sglang")
    assert found["error"].startswith(expected.format(python=sys.executable))


def test_what_one_user_cannot_tell_another_may():
    def ask(argv, _limit):
        whole = json.dumps({"version": "3.11.4", "packages": {"sglang": "1"}, "closed": {}})
        return Answer(203, "", "") if "--property=User=other" in argv else Answer(0, whole, "")

    found = service_python.look_as(sys.executable, ["sglang"], ["other", "root"], [], ask)
    assert found["packages"] == {"sglang": "1"}
    assert "203/EXEC" in found["users"]["other"]["error"]
    assert found["users"]["root"]["error"] == ""


def test_without_users_nobody_is_asked_by_systemd():
    found = service_python.look_as(sys.executable, [], [], [], run)
    assert found["users"] == {}
    assert found["version"]


@pytest.mark.parametrize(
    ("record", "running", "expected"),
    [
        ('{"npus": [8, 15]}', "a", [8, 15]),
        ('{"npus": [8, 15]}', None, [8, 15]),
        # It was written anew, and what runs is older.
        ('{"npus": [8, 15]}', "b", None),
        ('{"npus": null}', "a", None),
        ("[]", "a", None),
        ("{", "a", None),
        (None, "a", None),
    ],
)
def test_the_npus_of_what_runs(record: str | None, running: str | None, expected: list[int] | None):
    layout = Layout()
    found = {} if record is None else {layout.service("sglang-decode"): Found(record.encode(), 0o600, 0, 0)}
    state = UnitState("sglang-decode", "loaded", "active", "running", "enabled")
    assert host_facts.npus_of(Observed(state, found, {"launch": "a"}, running), layout) == expected


def test_who_listens_on_a_port():
    """Asked again of ports that turned out to be taken."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (told,) = host_facts.look_at_listeners([port])
        assert told in host_facts.look_at_listeners()
    assert (told["address"], told["port"], told["pid"]) == ("127.0.0.1", port, os.getpid())
    assert host_facts.look_at_listeners([]) == []


def test_a_device_file_that_leads_nowhere_is_none(tmp_path):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "davinci0").touch()
    (tmp_path / "dev" / "davinci1").symlink_to("gone")
    (tmp_path / "dev" / "hisi_hdc").symlink_to("gone")
    found = ascend_driver.devices(str(tmp_path))
    assert (found["npus"], found["managers"], list(found["files"])) == ([0], [], ["davinci0"])
