# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seats: one for each process that an instance starts on a node, and what it claims of that host."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.allocation import NpuClaim, Piece, PortClaim
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Host
from ansible_collections.ascend.sglang.plugins.plugin_utils.role_launch import RoleLaunch
from ansible_collections.ascend.sglang.plugins.plugin_utils.topology import Instance, Topology

# SGLang's own defaults (its command grammar), and the pages' where the grammar has none.
HTTP_PORT = 30000
BOOTSTRAP_PORT = 8998
DIST_INIT_PORT = 5000
STORE_PORT = 24670
ZBAL_PORT = 24699
# Observed: with DP attention the server also listens on some of http + 233 … + 239, or of dist-init … + 6.
DP_PIECE = Piece("dp_attention", 233, 7)
DIST_INIT_PIECES = (Piece("dist_init"), Piece("dist_init", 1, 6))
# HCCL's documentation: HCCL_IF_BASE_PORT defaults to 60000, and 16 ports from there are used.
HCCL_PORT = 60000
HCCL_PIECE = Piece("hccl", 0, 16)

STORE_URL = "ASCEND_MF_STORE_URL"
# The one transfer backend between NPUs, and the only one that needs a store; mooncake, the parser's default, has none.
TRANSFER_BACKEND = "ascend"
_TRANSFER_FLAG = "disaggregation-transfer-backend"
ZBAL_URL = "SGLANG_ZBAL_BOOTSTRAP_URL"

_TRAILING_PORT = re.compile(r":(\d+)\Z")


@dataclass(frozen=True)
class Seat:
    """The place of one engine process: a rank of an instance."""

    launch: RoleLaunch
    instance: Instance
    rank: int
    unit: str

    @property
    def host(self) -> Host:
        return self.instance.nodes[self.rank]

    @property
    def owner(self) -> str:
        """In messages: `decode-0 rank 1`."""
        return self.instance.name if len(self.instance.nodes) == 1 else f"{self.instance.name} rank {self.rank}"

    @property
    def multi_node(self) -> bool:
        return len(self.instance.nodes) > 1

    @property
    def pinned_bootstrap(self) -> int | None:
        """A bootstrap port that the user set on the head's host."""
        return self.instance.head.bootstrap_port if self.instance.role == "prefill" else None


def seats(topology: Topology, launches: Mapping[str, RoleLaunch]) -> list[Seat]:
    """All seats, instance by instance, rank by rank. A unit gets a suffix where its host has several of the role."""
    crowd = Counter((one.role, node.name) for one in topology.instances for node in one.nodes)
    return [
        Seat(
            launches[one.role],
            one,
            rank,
            f"sglang-{one.role}" + (f"-{one.index}" if crowd[(one.role, node.name)] > 1 else ""),
        )
        for one in topology.instances
        for rank, node in enumerate(one.nodes)
    ]


def grown(launch: RoleLaunch, name: str, index: int) -> int:
    """By how much the number of a flag or variable grows up to this instance."""
    return launch.profile.per_instance.get(name, 0) * index


def trailing_port(text: object, default: int) -> int:
    """The port at the end of `address:port`."""
    hit = _TRAILING_PORT.search(str(text))
    return int(hit.group(1)) if hit else default


def dp_attention(launch: RoleLaunch) -> bool:
    """Whether the server runs data-parallel attention, whose processes meet on TCP ports."""
    return launch.args.get("enable-dp-attention") is True or launch.integer("attn-dp-size", 1) > 1


def port_claims(seat: Seat, *, holds_store: bool) -> Iterator[PortClaim]:
    """Every port that the process listens on, at its page's or derived number."""
    launch, index = seat.launch, seat.instance.index
    setting = f"sglang_{launch.role}_args"

    def claim(base: int, *pieces: Piece, user_set: str = "", step: int = 1) -> PortClaim:
        return PortClaim(seat.host.name, seat.owner, base, pieces, user_set, step)

    rendezvous = seat.multi_node or "dist-init-addr" in launch.args
    yield claim(
        launch.integer("port", HTTP_PORT) + grown(launch, "port", index),
        Piece("http"),
        *([DP_PIECE] if dp_attention(launch) and not rendezvous else []),
        user_set=f"{setting}.port" if "port" in launch.user_args else "",
    )
    yield claim(
        _number(launch.env.get("HCCL_IF_BASE_PORT"), HCCL_PORT),
        HCCL_PIECE,
        user_set=f"sglang_{launch.role}_env.HCCL_IF_BASE_PORT" if "HCCL_IF_BASE_PORT" in launch.user_env else "",
        step=HCCL_PIECE.count,
    )
    if seat.rank != 0:
        return
    if "nccl-port" in launch.args:
        # Left out, it is a free port; given, nothing but the giver can move it.
        by = f"{setting}.nccl-port" if "nccl-port" in launch.user_args else "the profile"
        yield claim(launch.integer("nccl-port", 0) + grown(launch, "nccl-port", index), Piece("nccl"), user_set=by)
    if rendezvous:
        address = launch.args.get("dist-init-addr", "")
        base = trailing_port(address, DIST_INIT_PORT) + grown(launch, "dist-init-addr", index)
        user_set = f"{setting}.dist-init-addr" if "dist-init-addr" in launch.user_args else ""
        yield claim(base, *DIST_INIT_PIECES, user_set=user_set)
    if launch.role == "prefill":
        yield claim(bootstrap_port(seat), Piece("bootstrap"), user_set=_bootstrap_setting(seat))
    if ZBAL_URL in launch.env:
        base = trailing_port(launch.env[ZBAL_URL], ZBAL_PORT) + grown(launch, ZBAL_URL, index)
        user_set = f"sglang_{launch.role}_env.{ZBAL_URL}" if ZBAL_URL in launch.user_env else ""
        yield claim(base, Piece("zbal"), user_set=user_set)
    if holds_store:
        yield claim(store_port(launch), Piece("store"))


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() else default


def bootstrap_port(seat: Seat) -> int:
    """The port that a prefill instance's rank 0 serves: the host's setting, else the page's plus the instance."""
    flag = "disaggregation-bootstrap-port"
    return seat.pinned_bootstrap or seat.launch.integer(flag, BOOTSTRAP_PORT) + grown(
        seat.launch, flag, seat.instance.index
    )


def _bootstrap_setting(seat: Seat) -> str:
    if seat.pinned_bootstrap is not None:
        return "sglang_bootstrap_port"
    flag = "disaggregation-bootstrap-port"
    return f"sglang_prefill_args.{flag}" if flag in seat.launch.user_args else ""


def names_no_backend(launch: RoleLaunch) -> bool:
    """Whether a prefill or decode is left to the parser's transfer backend by the page, and not by the user."""
    return _TRANSFER_FLAG not in launch.args and _TRANSFER_FLAG not in launch.user_args


def transfer_backend(launch: RoleLaunch) -> str | None:
    """What moves the KV cache of a prefill or decode; None: the parser's own choice."""
    named = launch.args.get(_TRANSFER_FLAG)
    return TRANSFER_BACKEND if names_no_backend(launch) else None if named is None else str(named)


def uses_store(launch: RoleLaunch) -> bool:
    """Whether a prefill or decode meets the others of its PD group at a store."""
    return transfer_backend(launch) == TRANSFER_BACKEND


def store_port(launch: RoleLaunch) -> int:
    """The port of the store where prefill and decode meet."""
    return trailing_port(launch.env.get(STORE_URL, ""), STORE_PORT)


def npu_claim(seat: Seat) -> tuple[NpuClaim | None, Finding | None]:
    """How many NPUs the process uses: tensor x pipeline parallel size, shared evenly by the instance's nodes."""
    launch, nodes = seat.launch, len(seat.instance.nodes)
    tp, pp = launch.integer("tp-size", 1), launch.integer("pp-size", 1)
    # Without DP attention each data-parallel replica has NPUs of its own.
    replicas = 1 if dp_attention(launch) else launch.integer("dp-size", 1)
    world = tp * pp * replicas
    if world % nodes:
        what = f"tp-size {tp} x pp-size {pp} = {world} NPUs cannot be shared by {nodes} nodes"
        return None, error("npus", f"{launch.role} services", what, f"Make it a multiple of {nodes}")
    # The user's first NPU stays; a page's gives way where services share a host.
    first = launch.integer("base-gpu-id", 0) if "base-gpu-id" in launch.user_args & set(launch.args) else None
    # A server uses every gpu-id-step-th NPU from its first one on.
    span = (world // nodes - 1) * max(launch.integer("gpu-id-step", 1), 1) + 1
    return NpuClaim(seat.host.name, seat.owner, span, first), None
