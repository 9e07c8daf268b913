# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards: which services have one, on which port, and whom it watches.

A service that others belong to, or that belongs to others, has a guard beside it: every rank of an instance of several
nodes, all of a PD group, and the dedicated store. What they do on the hosts is in module_utils/guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.addresses import Address
from ansible_collections.ascend.sglang.plugins.plugin_utils.allocation import Piece, PortClaim
from ansible_collections.ascend.sglang.plugins.plugin_utils.seats import Seat
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import BY_NAME

PORT = "guard"
_SETTING = BY_NAME["sglang_guard_port"]
_PD_GROUP = ("prefill", "decode")
# The ports of an instance's head that show that its process is there: from the rendezvous on, and when it serves.
_HEAD_PORTS = ("http", "dist_init")


def port_claims(places: Sequence[Seat], store: PortClaim | None, base: int) -> Iterator[PortClaim]:
    """A port for each guard, to come after all others: it may be any.

    store: the claim of the dedicated store, where there is one; base: the first number to try. One that the user chose
    is kept by the first guard of each host; only its further ones move on.
    """
    claims = [] if store is None else [replace(store, base=base, pieces=(Piece(PORT),), user_set="")]
    claims += [
        PortClaim(seat.host.name, seat.owner, base, (Piece(PORT),))
        for seat in places
        if seat.multi_node or seat.launch.role in _PD_GROUP
    ]
    chosen = _SETTING.name if base != _SETTING.default else ""
    before: Counter[str] = Counter()
    for claim in claims:
        place = before[claim.host]
        yield replace(claim, base=base + place, user_set="" if place else chosen)
        before[claim.host] += 1


def attach(services: Sequence[Service], addresses: Mapping[str, Address], gone_seconds: int) -> list[Service]:
    """The services with their guards: those that have a port for one.

    addresses: data address by host; gone_seconds: how long a member of an instance may be out of sight.
    """
    store = next((one for one in services if "store" in one.ports), None)

    def watched(one: Service, ports: Sequence[str]) -> dict[str, Any]:
        return {
            "host": one.host,
            "unit": one.unit,
            "url": addresses[one.host].url(one.ports[PORT]),
            "ports": [one.ports[name] for name in ports if name in one.ports],
        }

    def guard(one: Service) -> dict[str, Any]:
        mates = [other for other in services if (other.role, other.instance) == (one.role, one.instance)]
        follows = None
        if one.rank > 0:
            follows = {"what": "head", **watched(mates[0], _HEAD_PORTS)}
        elif store is not None and one is not store and one.role in _PD_GROUP:
            follows = {"what": "store", **watched(store, ("store",))}
        return {
            "url": addresses[one.host].url(one.ports[PORT]),
            "gone_seconds": gone_seconds,
            "follows": follows,
            "ranks": [
                {"rank": other.rank, **watched(other, ("http",))} for other in mates if one.rank == 0 < other.rank
            ],
        }

    return [replace(one, guard=guard(one)) if PORT in one.ports else one for one in services]
