# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CANN in four layouts: found or refused, proven, compared, and what a service really gets."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest
import testinfra

INVENTORY = str(pathlib.Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent)
LAB = pathlib.Path(os.environ.get("LABHOSTS_ROOT", "/var/lib/ascend-sglang-test-hosts"))
CONVERGE = str(pathlib.Path(os.environ["MOLECULE_SCENARIO_DIRECTORY"]) / "converge.yml")
ADDRESSES = {"p1": "198.51.100.123", "p2": "198.51.100.124", "d1": "198.51.100.125", "d2": "198.51.100.126"}
KEPT_OUT = (
    "http_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "all_proxy",
    "RANK_TABLE_FILE",
    "HOST_IP",
    "ASCEND_LAUNCH_BLOCKING",
)


def run(*words):
    """The scenario's plays; (status, what they said)."""
    environment = os.environ | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
    done = subprocess.run(
        ["ansible-playbook", "-i", INVENTORY, CONVERGE, *words],
        text=True,
        capture_output=True,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)


@pytest.fixture(scope="session")
def lab():
    options = "-F none -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR"
    options += " -o UserKnownHostsFile=/dev/null"
    return {
        name: testinfra.get_host(
            f"ssh://root@{address}",
            ssh_identity_file=str(LAB / "ssh_key"),
            ssh_extra_args=options,
            controlpath=str(LAB / "cp" / f"{address}-testinfra"),
        )
        for name, address in ADDRESSES.items()
    }


@pytest.fixture(scope="session")
def first(lab):
    """All four hosts at once: one is refused, on the others a service is started."""
    status, text = run()
    return status, text


@pytest.fixture(scope="session")
def environments(lab, first):
    """What the services' processes really have."""
    found = {}
    for name in ("p1", "p2", "d2"):
        text = lab[name].check_output(
            "tr '\\0' '\\n' < /proc/$(systemctl show --value -p MainPID sglang-mixed)/environ"
        )
        found[name] = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return found


def test_a_dangling_link_is_refused_by_name_and_nothing_is_started_there(lab, first):
    status, text = first
    assert status != 0
    assert "/usr/local/Ascend/ascend-toolkit/latest is a link to 8.3.RC1, which does not exist" in text
    assert "set cann_toolkit to the set_env.sh of a whole one" in text
    assert "Traceback" not in text
    assert not lab["d1"].file("/etc/systemd/system/sglang-mixed.service").exists


def test_versions_that_differ_are_named_with_their_hosts(first):
    assert "the CANN toolkit is not the same on all hosts: 8.2.RC1 on p1; 9.0.0 on p2, d2" in first[1]
    assert "ATB's C++ ABI is not the same on all hosts: cxx_abi_1 on p1, p2; cxx_abi_0 on d2" in first[1]


def test_what_is_kept_out_is_named_with_its_file(first):
    for entry in (
        "http_proxy (/etc/environment)",
        "RANK_TABLE_FILE (/etc/profile.d/proxy.sh)",
        "HOST_IP (/etc/systemd/system.conf.d/site.conf)",
    ):
        assert f"{entry} on p2 is kept out of services" in first[1]


@pytest.mark.parametrize(
    ("name", "toolkit", "atb"),
    [
        ("p1", "/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1"),
        ("p2", "/usr/local/Ascend/cann-9.0.0", "/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1"),
        ("d2", "/opt/my ascend/cann", "/opt/my ascend/nnal/atb/latest/atb/cxx_abi_0"),
    ],
)
def test_the_service_has_what_was_proven(environments, name, toolkit, atb):
    environment = environments[name]
    assert environment["ASCEND_HOME_PATH"] == toolkit
    assert environment["ATB_HOME_PATH"] == atb
    assert f"{toolkit}/lib64" in environment["LD_LIBRARY_PATH"].split(":")
    assert environment["HCCL_BUFFSIZE"] == "650"


def test_systemd_would_give_what_is_kept_out(lab):
    """Or the next test could not fail."""
    text = lab["p2"].check_output("systemd-run --quiet --wait --pipe env")
    for name in ("HOST_IP", "ASCEND_LAUNCH_BLOCKING", "HTTP_PROXY"):
        assert f"{name}=" in text


@pytest.mark.parametrize("variable", KEPT_OUT)
def test_nothing_of_the_hosts_defaults_reaches_the_service(environments, variable):
    assert variable not in environments["p2"]


def test_launch_sh_by_hand_in_an_empty_environment(lab, first):
    command = "env -i bash /etc/ascend-sglang/sglang-mixed/launch.sh --dry-run"
    assert lab["p2"].check_output(command).strip() == "python3 -m http.server 8000"
    assert lab["d2"].check_output(command).strip() == "/opt/the\\ engine/bin/python3 -m http.server 8000"


def test_strict_refuses_hosts_that_differ(first):
    status, text = run("--limit", "p2,d2", "-e", "cann_strict=true", "--check")
    assert status != 0
    assert "ATB's C++ ABI is not the same on all hosts: cxx_abi_1 on p2; cxx_abi_0 on d2" in text


def test_strict_refuses_a_pair_of_two_releases(first):
    status, text = run("--limit", "p1", "-e", "cann_strict=true", "--check")
    assert status != 0
    assert "cann is strict: the CANN toolkit is 8.2.RC1, ATB is 9.0.0" in text


def test_the_abi_can_be_pinned(first):
    status, text = run("--limit", "d2", "-e", "cann_cxx_abi=1", "--check", "-v")
    assert status == 0
    assert "/opt/my ascend/nnal/atb/latest/atb/cxx_abi_1" in text


def test_the_home_of_a_user_who_is_not_root(lab, first):
    lab["d1"].check_output(
        "useradd --create-home sglang && rm -r /usr/local/Ascend/ascend-toolkit"
        " && mkdir -p /home/sglang/Ascend/cann/lib64"
        " && mv /usr/local/Ascend/nnal /home/sglang/Ascend/nnal"
        " && touch /home/sglang/Ascend/cann/lib64/libascendcl.so /home/sglang/Ascend/cann/lib64/libhccl.so"
        " && echo 'export ASCEND_HOME_PATH=$HOME/Ascend/cann' > /home/sglang/Ascend/cann/set_env.sh"
        " && chown -R sglang: /home/sglang && chmod 0700 /home/sglang"
    )
    status, text = run("--limit", "d1", "-e", "cann_user=sglang", "--check", "-v")
    assert status == 0, text
    assert '"ASCEND_HOME_PATH": "/home/sglang/Ascend/cann"' in text
    # Another account may neither find nor read it there.
    status, text = run(
        "--limit", "d1", "-e", "cann_user=daemon", "-e", "cann_toolkit=/home/sglang/Ascend/cann", "--check"
    )
    assert status != 0
    assert "/home/sglang/Ascend/cann/set_env.sh is not a file that this user can read" in text


def test_an_account_that_does_not_exist(first):
    status, text = run("--limit", "p2", "-e", "cann_user=nobody-here", "--check")
    assert status != 0
    assert "there is no account nobody-here on this host" in text


def test_a_second_run_changes_nothing(first):
    status, text = run("--limit", "p1,p2,d2")
    assert status == 0
    assert re.findall(r"changed=(\d+)", text) == ["0", "0", "0"]
