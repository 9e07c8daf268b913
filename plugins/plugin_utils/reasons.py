# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a plan may differ from its recipe page: the closed list.

A new reason needs a line here and, beside it, where it comes from.
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    # The argument parsers of both SGLang versions: `--moe-dense-tp` is accepted as an abbreviation only.
    "flag-in-full": "The page abbreviates the flag or uses its other name; the plan has the one full name.",
    # Observed: four recipes leave the JSON unquoted and the shell tears it into words.
    "json-one-argument": "The page leaves the JSON unquoted, so that the shell tears it apart; it is one argument.",
    # Observed: without these a two-node instance fails on both nodes ("Empty address string").
    "multi-node-rank": "Every node of an instance of several nodes must know its own rank.",
    "multi-node-rendezvous": "All nodes of an instance of several nodes meet at the address of its rank 0.",
    "multi-node-address": "A node of an instance of several nodes must be reachable by the others, so not on loopback.",
    # The loopback rule: only a service whose clients are all on its own host may stay on 127.0.0.1.
    "clients-on-other-hosts": "Its clients (the router) run on another host, so it listens on the data address.",
    # The argument parser: the default backend is mooncake, on NPUs too.
    "transfer-backend": "The default transfer backend does not work between NPUs; the page forgot to name ascend.",
    # The pages' own headers ask for these variables; the two image recipes leave them out.
    "socket-interface": "HCCL and Gloo must use the interface that owns the data address, not the default route's.",
    # Read from source: SGLANG_HOST_IP, then HOST_IP, then a route look-up; --host is not asked.
    "host-address": "The address that a node tells its peers is taken from SGLANG_HOST_IP, not from --host.",
    # From other projects' launch scripts; loopback cannot serve the other nodes.
    "zbal-multi-node": "The ZBAL store of an instance of several nodes is at the address of its rank 0.",
    # Observed: the router's metrics listen on 0.0.0.0:29000 unless told otherwise.
    "router-monitoring-address": "Its metrics would listen on every address; they stay where the router listens.",
    # Observed: the router asks a hub for a tokenizer when the model path does not exist on its host.
    "tokenizer-offline": "The router must not ask a hub on the internet for a tokenizer.",
    # Observed: the router gives up on its workers after 1800 s; loading may take longer.
    "worker-start-limit": "The router waits for its workers as long as the deployment does.",
    # Field cases PROXY-ENV and HOST-IP-ENV; HCCL documentation for RANK_TABLE_FILE and HCCL_IF_IP; CANN documentation
    # for ASCEND_RT_VISIBLE_DEVICES.
    "environment-kept-out": "Wherever it is set, on the host or by the page, this variable would redirect the "
    "service's traffic or give it other NPUs than the plan's.",
    # Two services on one host cannot listen on one port.
    "port-moved": "Another service of the plan on the same host has the page's port.",
    # SGLang's --base-gpu-id: the first device of a server.
    "npu-range": "Several services share the host's NPUs, so each is told where its own begin.",
    # CANN 8.x, 8.5 and later, and custom prefixes install into different directories.
    "cann-location": "CANN or ATB is installed elsewhere on this host.",
    "benchmark-entrance": "The benchmark asks the entrance of this cluster.",
    # Read from source: the tokenizer is --tokenizer, else --model, else the first name that /v1/models tells.
    "benchmark-tokenizer": "Clients know the model by another name than its path, which is where its tokenizer is.",
    "engine-translation": "The SGLang version of this cluster spells it differently than the page's.",
    "override": "A setting of yours.",
}
