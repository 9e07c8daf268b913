# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bootstrap server of a prefill instance: every rank says where it is to be found, decode asks for it.

Served by rank 0 on --host: `PUT /route` from each rank, `GET /route` (all -1: the layout; else one rank's address),
`GET /health`.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlencode

from sglang.stand_in import http, log
from sglang.stand_in.settings import bracket

RANK_KEYS = ("prefill_dp_rank", "prefill_cp_rank", "target_tp_rank", "target_pp_rank")


class Table:
    """What the ranks of the instance said."""

    def __init__(self, world):
        self.world = world
        self._lock = threading.Lock()
        self._layout = {}
        self._ranks = {}

    def application(self, request):
        """Answer a request to the bootstrap port."""
        if request.path == "/health" and request.method == "GET":
            return http.text_response("OK", vary=False)
        if request.path != "/route":
            return http.text_response("404: Not Found", 404, vary=False)
        if request.method == "PUT":
            return self._put(json.loads(request.body))
        if request.method == "GET":
            return self._get(request.query)
        return http.text_response("Method not allowed", 405, vary=False)

    def _put(self, card):
        key = (card["attn_dp_rank"], card["attn_cp_rank"], card["attn_tp_rank"], card["pp_rank"])
        with self._lock:
            self._layout = card
            self._ranks[key] = {"rank_ip": card["rank_ip"], "rank_port": card["rank_port"]}
        return http.text_response("OK", vary=False)

    def _get(self, query):
        try:
            key = tuple(int(query[name]) for name in RANK_KEYS)
        except (KeyError, ValueError):
            return http.text_response("Missing inputs for bootstrap server.", 400, vary=False)
        with self._lock:
            if key == (-1, -1, -1, -1):
                if len(self._ranks) < self.world:
                    return http.text_response("Prefill server not fully registered yet.", 503, vary=False)
                return _spaced(self._described())
            if key not in self._ranks:
                return http.text_response("Bootstrap info not Found", 404, vary=False)
            return _spaced(self._ranks[key])

    def _described(self):
        card = self._layout
        described = {name: card[name] for name in ("attn_tp_size", "attn_cp_size")}
        described.update(
            dp_size=card["attn_dp_size"],
            pp_size=card["pp_size"],
            page_size=card["page_size"],
            kv_cache_dtype=card["kv_cache_dtype"],
            follow_bootstrap_room=card["load_balance_method"] == "follow_bootstrap_room",
        )
        for name in (
            "target_tp_rank",
            "target_tp_ranks",
            "target_cp_ranks",
            "target_pp_ranks",
            "required_dst_info_num",
            "required_prefill_response_num",
        ):
            described[name] = None
        return described


def serve(settings):
    """Serve the table of an instance on --host. As in the real engine, a port that is taken is only logged."""
    table = Table(settings.tp * settings.pp)
    try:
        http.Server(
            settings.host, settings.bootstrap_port, table.application, name="Python/3.11 aiohttp/3.13", access_log=False
        ).start()
    except OSError as error:
        log.line(f"Server error: {error}")
        return
    log.line(f"CommonKVBootstrapServer started successfully on {settings.host}:{settings.bootstrap_port}")


def register(settings, address, port):
    """Tell the instance's bootstrap server where this node's ranks are found. Returns whether it took all."""
    host = settings.dist_init[0] if settings.dist_init else settings.url.rsplit(":", 1)[0].split("//")[1].strip("[]")
    url = f"http://{bracket(host)}:{settings.bootstrap_port}/route"
    for tp_rank in settings.local_tp_ranks:
        card = {
            "attn_tp_size": settings.attn_tp,
            "attn_tp_rank": tp_rank % settings.attn_tp,
            "attn_cp_size": 1,
            "attn_cp_rank": 0,
            "attn_dp_size": settings.attention_dp,
            "attn_dp_rank": tp_rank // settings.attn_tp % settings.attention_dp,
            "pp_size": settings.pp,
            "pp_rank": tp_rank // settings.tp % settings.pp,
            "system_dp_size": 1,
            "system_dp_rank": 0,
            "rank_ip": address,
            "rank_port": port,
            "page_size": settings.args["page_size"] or (128 if settings.is_npu else 1),
            "kv_cache_dtype": settings.args["kv_cache_dtype"],
            "load_balance_method": "follow_bootstrap_room",
        }
        request = urllib.request.Request(
            url, json.dumps(card).encode(), {"Content-Type": "application/json"}, method="PUT"
        )
        try:
            with _open(request):
                pass
        except OSError as error:
            log.rank(f"Prefill instance failed to register to bootstrap server: {error}")
            return False
    return True


def ask(address, **ranks):
    """GET /route of `host:port`; what it says, or OSError."""
    with _open(
        urllib.request.Request(f"http://{address}/route?{urlencode({name: ranks[name] for name in RANK_KEYS})}")
    ) as answer:
        return json.load(answer)


def is_healthy(address):
    """The heartbeat that decode keeps up with each bootstrap server it knows."""
    try:
        with _open(urllib.request.Request(f"http://{address}/health"), 3):
            return True
    except OSError:
        return False


def layout(address, seconds, is_wanted=lambda: True):
    """The layout of the instance behind a bootstrap address, asked for each second; None where it stays away."""
    deadline = time.monotonic() + seconds
    while is_wanted():
        try:
            return ask(address, **dict.fromkeys(RANK_KEYS, -1))
        except (OSError, ValueError) as error:
            log.rank(f"Error fetching prefill server info from bootstrap: {error}")
        if time.monotonic() + 1 > deadline:
            time.sleep(max(0, deadline - time.monotonic()))
            return None
        time.sleep(1)
    return None


def _open(request, seconds=5):
    # As the real engine's `requests`, this heeds http_proxy and its like.
    return urllib.request.urlopen(request, timeout=seconds)


def _spaced(value):
    return http.Response(200, json.dumps(value).encode(), "application/json; charset=utf-8", vary=False)
