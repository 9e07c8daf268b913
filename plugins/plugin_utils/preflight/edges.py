# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who connects to whom in a plan: one edge for each host, port and host that needs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

# Facts about the engine: each NPU rank picks random ports in this range for the hand-over; the middle stands for all.
HAND_OVER_PORT = 20000

# A running service takes a connection that says nothing for a client's here, and closes it. At the other ports a
# rendezvous counts those who come: nobody has seen what one that says nothing does to it.
HARMLESS = frozenset({"http", "bootstrap", "guard"})

_PASSING = frozenset({"hand-over", "hccl", "dist_init"})


@dataclass(frozen=True)
class Edge:
    """`source` connects to `port` of `target`, which the service `unit` there listens on.

    purpose: the port's name in the plan, or `hand-over` or `hccl`.
    """

    source: str
    target: str
    port: int
    purpose: str
    unit: str

    @property
    def lasting(self) -> bool:
        """Whether the running service always listens there: of a range it takes what it needs, when it needs it."""
        return self.purpose not in _PASSING


def edges(services: Sequence[Service]) -> tuple[Edge, ...]:
    """Every connection between hosts that the services of a plan make, each once, in the order of the plan."""
    found = (
        *_instances(services),
        *_pd_group(services),
        *_router(services),
        *_guards(services),
    )
    between = (one for one in found if one.source != one.target)
    return tuple({(one.source, one.target, one.port): one for one in between}.values())


def _to(sources: Iterable[Service], target: Service, *names: str) -> Iterator[Edge]:
    """From each source to the target's ports of these names."""
    for source in sources:
        for name in names:
            if name in target.ports:
                yield Edge(source.host, target.host, target.ports[name], name, target.unit)
            first, last = target.port_ranges.get(name, (0, -1))
            for port in range(first, last + 1):
                yield Edge(source.host, target.host, port, name, target.unit)


def _instances(services: Sequence[Service]) -> Iterator[Edge]:
    """The ranks of an instance: to their rank 0, and to one another through HCCL."""
    for head in (one for one in services if one.rank == 0 and one.nnodes > 1):
        ranks = [one for one in services if (one.role, one.instance) == (head.role, head.instance)]
        yield from _to(ranks[1:], head, "dist_init", "zbal")
        # Each prefill rank tells the bootstrap server of its instance where it is.
        yield from _to(ranks[1:], head, "bootstrap")
        for one in ranks:
            for other in ranks:
                if "hccl" in other.port_ranges:
                    # Which of the sixteen a rank takes is HCCL's business; a firewall treats them alike.
                    yield Edge(one.host, other.host, other.port_ranges["hccl"][0], "hccl", other.unit)


def _pd_group(services: Sequence[Service]) -> Iterator[Edge]:
    """Everybody to the store; decode to the bootstrap servers; the hand-over both ways."""
    prefills = [one for one in services if one.role == "prefill"]
    decodes = [one for one in services if one.role == "decode"]
    for holder in (one for one in services if "store" in one.ports):
        yield from _to([*prefills, *decodes], holder, "store")
    for prefill in prefills:
        yield from _to(decodes, prefill, "bootstrap")
        for decode in decodes:
            yield Edge(prefill.host, decode.host, HAND_OVER_PORT, "hand-over", decode.unit)
            yield Edge(decode.host, prefill.host, HAND_OVER_PORT, "hand-over", prefill.unit)


def _router(services: Sequence[Service]) -> Iterator[Edge]:
    routers = [one for one in services if one.role == "router"]
    for head in (one for one in services if one.rank == 0 and one.npus is not None):
        yield from _to(routers, head, "http")


def _guards(services: Sequence[Service]) -> Iterator[Edge]:
    """A guard asks the guards that it watches, and tries the ports of their services where those are mute."""
    by_unit = {one.key: one for one in services}
    for one in (one for one in services if one.guard):
        guard = one.guard or {}
        for watched in filter(None, (guard.get("follows"), *guard.get("ranks", ()))):
            other = by_unit[(watched["host"], watched["unit"])]
            yield from _to([one], other, "guard")
            names = (name for name, port in other.ports.items() if port in watched["ports"])
            yield from _to([one], other, *names)
