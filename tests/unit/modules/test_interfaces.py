# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interfaces and addresses, from iproute2 and from the kernel."""

from __future__ import annotations

import json

from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer
from ansible_collections.ascend.sglang.plugins.module_utils.interfaces import from_ip, from_kernel, interfaces

PRINTED = json.dumps(
    [
        {
            "ifname": "lo",
            "flags": ["LOOPBACK", "UP", "LOWER_UP"],
            "mtu": 65536,
            "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8}],
        },
        {},
        {
            "ifname": "eth1",
            "flags": ["NO-CARRIER", "BROADCAST", "UP"],
            "mtu": 9000,
            "addr_info": [
                {"family": "inet", "local": "192.0.2.11", "prefixlen": 24},
                {"family": "inet6", "local": "2001:0db8:0::11", "prefixlen": 64},
            ],
        },
    ]
)


def test_what_iproute2_prints():
    assert from_ip(PRINTED) == {
        "lo": {"addresses": ["127.0.0.1"], "up": True, "loopback": True, "mtu": 65536},
        "eth1": {"addresses": ["192.0.2.11", "2001:db8::11"], "up": False, "loopback": False, "mtu": 9000},
    }


def test_the_kernel_knows_the_same_of_loopback():
    found = from_kernel()
    assert "127.0.0.1" in found["lo"]["addresses"]
    assert found["lo"]["loopback"]


def test_without_iproute2_or_without_its_json_the_kernel_is_asked():
    for answer in (Answer(127, "", "ip: not found"), Answer(0, "1: lo: <LOOPBACK,UP>", "")):
        found = interfaces(lambda argv, timeout, answer=answer: answer)
        assert found == from_kernel()


def test_ipv6_addresses_of_the_kernel(tmp_path):
    (tmp_path / "net" / "eth9").mkdir(parents=True)
    (tmp_path / "net" / "eth9" / "flags").write_text("0x1003\n")
    (tmp_path / "net" / "eth9" / "carrier").write_text("1\n")
    (tmp_path / "net" / "eth9" / "mtu").write_text("1500\n")
    (tmp_path / "if_inet6").write_text("20010db8000000000000000000000011 02 40 00 80     eth9\n")
    assert from_kernel(str(tmp_path / "net"), str(tmp_path / "if_inet6")) == {
        "eth9": {"addresses": ["2001:db8::11"], "up": True, "loopback": False, "mtu": 1500}
    }
