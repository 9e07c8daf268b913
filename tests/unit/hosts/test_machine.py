# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run left behind is said, one line a thing."""

from __future__ import annotations

import os
import pathlib

import pytest
from lab import machine

BEFORE = {"interfaces": {"eth0": "UP"}, "sysctl": {"vm/swappiness": "60"}, "mounts": {"/": "mounted"}}


def test_the_same_is_the_same():
    assert machine.compare(BEFORE, BEFORE) == []


@pytest.mark.parametrize(
    ("section", "after", "said"),
    [
        ("interfaces", {"eth0": "UP", "asl-mgmt": "UP"}, "interfaces: asl-mgmt is new ('UP')"),
        ("sysctl", {"vm/swappiness": "0"}, "sysctl: vm/swappiness was '60', is '0'"),
        ("mounts", {}, "mounts: / is gone (was 'mounted')"),
        ("hosts", {"p1": "exists"}, "hosts: p1 is new ('exists')"),
    ],
)
def test_a_difference_is_named(section, after, said):
    assert machine.compare(BEFORE, BEFORE | {section: after}) == [said]


@pytest.mark.parametrize("name", ["fs/file-nr", "kernel/random/uuid", "net/ipv4/conf/eth7/forwarding"])
def test_what_moves_by_itself_is_not_looked_at(name):
    assert machine.VOLATILE.match(name)


@pytest.mark.parametrize("name", ["vm/swappiness", "kernel/numa_balancing", "net/ipv4/ip_forward", "fs/file-max"])
def test_what_a_run_may_change_is_looked_at(name):
    assert not machine.VOLATILE.match(name)


@pytest.mark.parametrize(
    ("difference", "cleared"),
    [
        ("hosts: p1 is gone (was 'exists')", True),
        ("files: /var/lib/ascend-sglang-test-hosts/ssh_key is gone (was 'exists')", True),
        ("interfaces: asl-data is gone (was 'DOWN mtu 1500 []')", True),
        ("routes: fe80::/64 dev asl-mgmt proto kernel metric 256 pref medium is gone (was 'exists')", True),
        ("interfaces: aslm64 is gone (was 'UP mtu 1500 []')", True),
        ("routes: multicast ff00::/8 dev asld64 table local is gone (was 'exists')", True),
        ("hosts: p1 is new ('exists')", False),
        ("interfaces: asl-data is new ('UP')", False),
        ("interfaces: eth0 is gone (was 'UP')", False),
        ("files: /root/.ssh/known_hosts is gone (was 'exists')", False),
    ],
)
def test_only_hosts_of_an_earlier_run_may_go(difference, cleared):
    assert machine.is_cleared_leftover(difference) is cleared


# Eight characters behind the number, and a time and a number around it. No process has one above 2**22.
TEMPORARY = ("ansible-local-{}1k2m3n4_", "ansible-tmp-1796071286.33-{}-125007442727463")


@pytest.mark.parametrize("name", TEMPORARY)
@pytest.mark.parametrize("below", ["", "inventory"])
def test_what_an_ansible_beside_uses_at_this_moment_is_its_own(tmp_path, monkeypatch, name, below):
    monkeypatch.setattr(pathlib.Path, "home", lambda: tmp_path)
    (tmp_path / ".ansible/tmp" / name.format(os.getpid()) / below).mkdir(parents=True)
    assert not [path for path in machine.snapshot()["files"] if path.startswith(str(tmp_path))]


@pytest.mark.parametrize("name", [name.format(9999999) for name in TEMPORARY] + ["ansible-local-x", "other"])
def test_what_an_ansible_has_left_is_said(tmp_path, monkeypatch, name):
    monkeypatch.setattr(pathlib.Path, "home", lambda: tmp_path)
    left = tmp_path / ".ansible/tmp" / name
    left.mkdir(parents=True)
    assert [path for path in machine.snapshot()["files"] if path.startswith(str(tmp_path))] == [str(left)]
