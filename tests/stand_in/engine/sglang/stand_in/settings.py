# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the command line and the environment say, as the rest of the stand-in needs it, and how ranks lie on nodes."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

LOOPBACK = ("127.", "::1", "localhost")
WILDCARD = ("0.0.0.0", "::", "")


class SettingsError(Exception):
    """A combination that the real engine refuses before it starts anything. `kind` is the exception's real name."""

    def __init__(self, text, kind="AssertionError"):
        super().__init__(text)
        self.kind = kind


@dataclass
class Settings:
    """One process of one server."""

    args: dict
    version: str
    env: dict = field(default_factory=lambda: dict(os.environ))

    @property
    def mode(self):
        """`null`, `prefill` or `decode`."""
        return self.args["disaggregation_mode"]

    @property
    def role(self):
        """The collection's word for the mode."""
        return "mixed" if self.mode == "null" else self.mode

    @property
    def host(self):
        return self.args["host"]

    @property
    def port(self):
        return self.args["port"]

    @property
    def rank(self):
        return self.args["node_rank"]

    @property
    def nnodes(self):
        return self.args["nnodes"]

    @property
    def tp(self):
        return self.args["tp_size"]

    @property
    def pp(self):
        return self.args["pp_size"]

    @property
    def attention_dp(self):
        """How many groups of ranks share the attention work; 1 without DP attention."""
        if self.args.get("attn_dp_size", 1) > 1:
            return self.args["attn_dp_size"]
        return self.dp if self.args["enable_dp_attention"] else 1

    @property
    def dp(self):
        return max(self.args["dp_size"], self.args.get("attn_dp_size", 1))

    @property
    def world(self):
        """How many NPUs the server has. Without DP attention each replica has its own."""
        replicas = self.dp if self.attention_dp == 1 else 1
        return self.tp * self.pp * replicas

    @property
    def npus_per_node(self):
        return self.world // self.nnodes

    @property
    def is_npu(self):
        """Whether it is to run on NPUs; without --device the real engine takes what it finds."""
        return self.args["device"] in ("npu", None)

    @property
    def local_tp_ranks(self):
        """The ranks of this node."""
        first = self.rank * self.npus_per_node
        return range(first, first + self.npus_per_node)

    @property
    def attn_tp(self):
        return max(1, self.tp // self.attention_dp)

    def nodes_of(self, dp_rank):
        """The nodes that hold the first and the last rank of a DP group, in the order in which decode asks for them."""
        nodes = []
        for pp_rank in sorted({0, self.pp - 1}):
            for tp_rank in sorted({0, self.attn_tp - 1}):
                node = (pp_rank * self.tp + dp_rank * self.attn_tp + tp_rank) // self.npus_per_node
                if node not in nodes:
                    nodes.append(node)
        return nodes

    def dp_rank_of_turn(self, turn):
        """The DP group of a request: round robin, node after node, so that two requests are enough to use two nodes."""
        per_node = max(1, self.attention_dp // self.nnodes)
        return (turn * per_node + turn // self.nnodes) % self.attention_dp

    @property
    def rank_label(self):
        """What the log calls the first rank of this node."""
        if self.world == 1:
            return ""
        first = self.local_tp_ranks[0]
        words = [f"TP{first % self.tp}"]
        if self.attention_dp > 1:
            words.insert(0, f"DP{first // self.attn_tp}")
        if self.args["ep_size"] > 1:
            words.append(f"EP{first % self.args['ep_size']}")
        return " ".join(words)

    @property
    def bootstrap_port(self):
        return self.args["disaggregation_bootstrap_port"]

    @property
    def dist_init(self):
        """Host and port of --dist-init-addr, or None."""
        text = self.args["dist_init_addr"]
        return split_address(text) if text else None

    @property
    def model_name(self):
        return self.args.get("served_model_name") or self.args["model_path"]

    @property
    def url(self):
        """Where the server asks itself."""
        host = "127.0.0.1" if self.host in WILDCARD else self.host
        return f"http://{bracket(host)}:{self.port}"

    @property
    def host_ip(self):
        """The address that peers are told: SGLANG_HOST_IP, then HOST_IP, then a route lookup; --host has no say."""
        return self.env.get("SGLANG_HOST_IP") or self.env.get("HOST_IP") or route_lookup()

    @property
    def is_newer(self):
        """Whether it stands for a version after 0.5.13, whose manners are better."""
        return _version_key(self.version) > (0, 5, 13)


def check(settings):
    """Refuse what the real engine refuses after argparse."""
    args = settings.args
    if args["node_rank"] < 0 or args["nnodes"] < 1:
        raise SettingsError("nnodes must be positive and node_rank must not be negative")
    if settings.world % settings.nnodes:
        raise SettingsError("tp_size must be divisible by number of nodes")
    if settings.attention_dp > 1 and settings.tp % settings.attention_dp:
        raise SettingsError(f"tp_size ({settings.tp}) must be divisible by dp_size ({settings.attention_dp})")
    if settings.nnodes > 1 and not args["dist_init_addr"]:
        raise SettingsError("Empty address string", "ValueError")
    if args.get("moe_dense_tp_size") not in (None, 1, settings.tp):
        raise SettingsError("moe_dense_tp_size only support 1 and None currently")
    chunk = args["chunked_prefill_size"]
    if settings.is_npu and chunk is not None and chunk > 0 and chunk % 128 and settings.mode != "decode":
        raise SettingsError("chunked_prefill_size must be divisible by page_size")
    fraction = args["mem_fraction_static"]
    if fraction is not None and not 0 < fraction < 1:
        raise SettingsError(f"mem_fraction_static must be in (0, 1), got {fraction}", "ValueError")
    if settings.mode == "prefill" and args["disaggregation_transfer_backend"] == "fake":
        raise SettingsError("Prefill server does not support 'fake' as the transfer backend")


def split_address(text):
    """Host and port of `host:port`, `[v6]:port` or a URL of such."""
    text = text.split("://", 1)[-1]
    host, _unused, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise SettingsError(f"Invalid address: {text!r}", "ValueError")
    return host.strip("[]"), int(port)


def bracket(host):
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def is_loopback(host):
    """Whether only this host can ask there."""
    return host.startswith(LOOPBACK)


def route_lookup():
    """The address that the default route would use; no packet is sent."""
    for family, target in ((socket.AF_INET, "8.8.8.8"), (socket.AF_INET6, "2001:4860:4860::8888")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((target, 80))
            except OSError:
                continue
            return probe.getsockname()[0]
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        raise SettingsError("Can not get local ip", "ValueError") from None


def _version_key(text):
    return tuple(int(part) for part in text.split(".")[:3])
