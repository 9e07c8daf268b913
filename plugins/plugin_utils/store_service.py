# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dedicated store: the place where prefill and decode meet, as a service of its own on the router's host."""

from __future__ import annotations

from ansible_collections.ascend.sglang.plugins.module_utils import kept_out
from ansible_collections.ascend.sglang.plugins.plugin_utils.allocation import Piece, PortClaim, ServicePorts
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Host
from ansible_collections.ascend.sglang.plugins.plugin_utils.seats import STORE_URL
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

UNIT = "sglang-store"
OWNER = "store"
# memfabric-hybrid's own start script. It takes no arguments: its address is the variable alone.
MODULE = "memfabric_hybrid.launch_ascend_mf_store"


def port_claim(host: Host, port: int) -> PortClaim:
    """The store's one port."""
    return PortClaim(host.name, OWNER, port, (Piece("store"),))


def build(host: Host, ports: ServicePorts, *, python: str, source: tuple[str, ...]) -> Service:
    """The store's service; its library needs the CANN environment of the servers."""
    url = host.address.url(ports.ports["store"], "tcp")
    return Service(
        host=host.name,
        unit=UNIT,
        role="store",
        instance=0,
        rank=0,
        nnodes=1,
        module=MODULE,
        argv=(python, "-m", MODULE),
        env={STORE_URL: url},
        unset=kept_out.OF_ENGINES,
        source=source,
        url=url,
        ports=ports.ports,
        port_ranges=ports.ranges,
        npus=None,
    )
