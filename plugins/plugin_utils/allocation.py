# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports and NPUs each service of a host gets, so that no two collide.

A port number belongs to one service per host, whatever address it binds. What the page states or the compiler derives
moves up to make room; what a user set never moves, and nothing moves for it: that clash is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error

LAST_PORT = 65535


@dataclass(frozen=True)
class Piece:
    """`count` ports from base + `offset` on, under the name that the plan gives them."""

    name: str
    offset: int = 0
    count: int = 1


@dataclass(frozen=True)
class PortClaim:
    """Ports that one service listens on and that move together.

    base: where the page, the derivation or the user puts them; user_set: the setting that fixed the base, or an empty
    string; step: by how much it moves at a time.
    """

    host: str
    owner: str
    base: int
    pieces: tuple[Piece, ...]
    user_set: str = ""
    step: int = 1

    def ports(self, base: int) -> Iterable[int]:
        for piece in self.pieces:
            yield from range(base + piece.offset, base + piece.offset + piece.count)

    def __str__(self) -> str:
        names = ", ".join(dict.fromkeys(piece.name for piece in self.pieces))
        return f"{self.owner} ({names}{f', set by {self.user_set}' if self.user_set else ''})"


@dataclass(frozen=True)
class ServicePorts:
    """What a service listens on: single ports by name, and ranges by name (first and last, inclusive)."""

    ports: Mapping[str, int]
    ranges: Mapping[str, list[int]]


@dataclass(frozen=True)
class NpuClaim:
    """The NPUs of one service: how many, and the first one where the user named it (--base-gpu-id)."""

    host: str
    owner: str
    count: int
    first: int | None = None


def place_ports(claims: Sequence[PortClaim]) -> tuple[dict[tuple[str, str], ServicePorts], list[Finding]]:
    """(host, owner) -> the ports of that service."""
    findings: list[Finding] = []
    by_host: dict[str, list[PortClaim]] = {}
    for claim in claims:
        by_host.setdefault(claim.host, []).append(claim)
    ports: dict[tuple[str, str], dict[str, int]] = {}
    ranges: dict[tuple[str, str], dict[str, list[int]]] = {}
    for host, own in by_host.items():
        bases, found = _place_on_host(host, own)
        findings += found
        for claim, base in bases:
            for piece in claim.pieces:
                first = base + piece.offset
                if piece.count == 1:
                    ports.setdefault((host, claim.owner), {})[piece.name] = first
                else:
                    ranges.setdefault((host, claim.owner), {})[piece.name] = [first, first + piece.count - 1]
    return {key: ServicePorts(ports.get(key, {}), ranges.get(key, {})) for key in (*ports, *ranges)}, findings


def _place_on_host(host: str, claims: Sequence[PortClaim]) -> tuple[list[tuple[PortClaim, int]], list[Finding]]:
    taken: dict[int, PortClaim] = {}
    bases: list[tuple[PortClaim, int]] = []
    findings: list[Finding] = []
    movers: list[PortClaim] = []
    # What a user set comes first, then what can stay; movers must not take a place that somebody could keep.
    for claim in sorted(claims, key=lambda one: not one.user_set):
        clash = next(((port, taken[port]) for port in claim.ports(claim.base) if port in taken), None)
        if clash and (clash[1].user_set or claim.user_set):
            what = f"port {clash[0]} is wanted by {clash[1]} and by {claim}"
            findings.append(error("port-clash", f"host {host}", what, "Set one of them to another port"))
        elif clash:
            movers.append(claim)
        else:
            bases.append((claim, claim.base))
            taken.update(dict.fromkeys(claim.ports(claim.base), claim))
    for claim in movers:
        base = claim.base + claim.step
        while any(port in taken for port in claim.ports(base)) and base <= LAST_PORT:
            base += claim.step
        bases.append((claim, base))
        taken.update(dict.fromkeys(claim.ports(base), claim))
    findings += [
        error(
            "port-range",
            f"host {host}",
            f"{claim} would listen on port {_outside(claim, base)}",
            f"Choose a port from 1 to {LAST_PORT}",
        )
        for claim, base in bases
        if _outside(claim, base) is not None
    ]
    return bases, findings


def _outside(claim: PortClaim, base: int) -> int | None:
    """A port of the claim that is no port number."""
    return next((port for port in claim.ports(base) if not 1 <= port <= LAST_PORT), None)


def place_npus(
    claims: Sequence[NpuClaim], available: Mapping[str, int]
) -> tuple[dict[tuple[str, str], tuple[int, int]], list[Finding]]:
    """(host, owner) -> first and last NPU, inclusive, in the order of the claims."""
    placed: dict[tuple[str, str], tuple[int, int]] = {}
    findings: list[Finding] = []
    by_host: dict[str, list[NpuClaim]] = {}
    for claim in claims:
        by_host.setdefault(claim.host, []).append(claim)
    for host, own in by_host.items():
        have = available[host]
        wanted = " and ".join(f"{claim.owner} {claim.count}" for claim in own)
        total = sum(claim.count for claim in own)
        if total > have:
            what = f"{wanted} NPUs do not fit: together {total}, and the host has {have}"
            do = "Give the services hosts of their own, or correct sglang_npus if the host has more"
            findings.append(error("npus", f"host {host}", what, do))
            continue
        taken: dict[int, str] = {}
        for claim in sorted(own, key=lambda one: one.first is None):
            first = claim.first if claim.first is not None else _first_free(taken, claim.count, have)
            span = range(first, first + claim.count)
            owner = next((taken[npu] for npu in span if npu in taken), None)
            if owner is not None or span.stop > have or first < 0:
                clash = f"{owner} has some of them" if owner else f"the host has {have}, counted from 0"
                what = f"{claim.owner} wants NPUs {first} to {span.stop - 1}, and {clash}"
                findings.append(error("npus", f"host {host}", what, "Correct base-gpu-id, or leave it out"))
            taken.update(dict.fromkeys(span, claim.owner))
            placed[(host, claim.owner)] = (first, span.stop - 1)
    return placed, findings


def _first_free(taken: Mapping[int, str], count: int, have: int) -> int:
    """The lowest NPU from which `count` are free; beyond the host's last when there is no such place."""
    return next(
        (first for first in range(have - count + 1) if not any(npu in taken for npu in range(first, first + count))),
        have,
    )
