# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers become addresses and names that fit."""

from __future__ import annotations

import pytest
from lab import network
from lab.host import Host, up
from lab.settings import DATA, MANAGEMENT, LabError


def test_addresses():
    assert (MANAGEMENT.address(11), DATA.address(11)) == ("198.51.100.11", "203.0.113.11")


@pytest.mark.parametrize("number", [2, 99, 254])
def test_names_and_hardware_addresses_fit_and_differ(number):
    cables = {net.cable(number) for net in (MANAGEMENT, DATA)}
    macs = {net.mac(number) for net in (MANAGEMENT, DATA)}
    assert len(cables) == len(macs) == 2
    assert all(len(name) <= 15 for name in cables)
    assert all(len(bytes.fromhex(mac.replace(":", ""))) == 6 for mac in macs)


def test_a_cable_that_no_host_has():
    with pytest.raises(LabError, match="no interface 'eth7'; test hosts have eth0 and eth1"):
        network.set_link(11, "eth7", "down")


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (Host("p1", 1, "p1"), "number 1 is the last part of its addresses, from 2 to 254"),
        (Host("../x", 11, "x"), "is no name for a host"),
        (Host("p1", 11, "p1", kernel="newest"), "kernel 'newest' is none of new, old, locked"),
    ],
)
def test_a_host_that_cannot_be(host, said):
    with pytest.raises(LabError, match=said):
        up(host)
