# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two bridges. Cables from them to the hosts are plugged at power on (see the script `power`)."""

from __future__ import annotations

import pathlib
import subprocess

from lab.settings import MANAGEMENT, NETWORKS, LabError, Network, run

SYS_NET = pathlib.Path("/sys/class/net")


def exists(interface: str) -> bool:
    """Whether the machine has this interface."""
    return (SYS_NET / interface).exists()


def build_bridges() -> None:
    """Make the bridges that are missing; call it with the lock held."""
    for network in NETWORKS:
        if not exists(network.bridge):
            run("ip", "link", "add", network.bridge, "type", "bridge")
            # The machine is on the management network only: nothing that it does itself may take a hosts' data path.
            if network is MANAGEMENT:
                run("ip", "address", "add", f"{network.address(1)}/24", "dev", network.bridge)
            run("ip", "link", "set", network.bridge, "up")


def remove_bridges() -> None:
    """Remove the bridges that no host is plugged into, of this state folder or another; call it with the lock held."""
    for network in NETWORKS:
        if exists(network.bridge) and not list((SYS_NET / network.bridge / "brif").iterdir()):
            run("ip", "link", "delete", network.bridge)


def pull_cables(number: int) -> None:
    """Remove a host's cables, both ends. The kernel would do it too, some time after the host's last process."""
    for network in NETWORKS:
        # Between a look and the deletion the kernel may have been quicker.
        subprocess.run(["ip", "link", "delete", network.cable(number)], capture_output=True, check=False)


def set_link(number: int, interface: str, state: str) -> None:
    """Pull (`down`) or plug (`up`) a cable at the bridge: the host sees the carrier go, its addresses stay."""
    found: Network | None = next((network for network in NETWORKS if network.interface == interface), None)
    if found is None:
        raise LabError(f"no interface {interface!r}; test hosts have {' and '.join(n.interface for n in NETWORKS)}")
    run("ip", "link", "set", found.cable(number), state)
