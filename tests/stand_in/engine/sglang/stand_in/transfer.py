# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hand-over of a prompt's cache from prefill to decode.

Every PD node listens on its own address (`Settings.host_ip`). Decode finds the prefill ranks through the bootstrap
server, tells them the room and its own address; they connect back and hand over. What is handed over is one secret per
room, cut in as many parts as there are prefill nodes: with any part missing decode cannot answer.
"""

from __future__ import annotations

import hashlib
import queue
import secrets
import threading
import time

from sglang.stand_in import bootstrap, interfaces, wire
from sglang.stand_in.settings import bracket

FAKE_HOST = "2.2.2.2"


class TransferError(Exception):
    """A hand-over that failed; the text is what comes after KVTransferError(...)."""


class HandshakeError(TransferError):
    """Decode never learnt where prefill is."""


def cut(secret, count):
    """A secret (hex) in `count` parts, all of which are needed."""
    parts = [secrets.token_bytes(32) for _unused in range(count - 1)]
    last = bytes.fromhex(secret)
    for part in parts:
        last = bytes(a ^ b for a, b in zip(last, part))
    return [part.hex() for part in (*parts, last)]


def join(parts):
    """The secret again."""
    whole = bytes(32)
    for part in parts:
        whole = bytes(a ^ b for a, b in zip(whole, bytes.fromhex(part)))
    return whole.hex()


class Endpoint:
    """One node's side of it."""

    def __init__(self, settings, knobs, store_number):
        self.settings = settings
        self.knobs = knobs
        self.store_number = store_number
        self.address = settings.host_ip
        self.port = None
        self._lock = threading.Condition()
        # Towards a peer on another network than this one's interface every packet is lost.
        self._is_deaf = False
        self._asked = {}
        self._awaited = {}
        self._layouts = {}

    def open(self):
        """Listen on the address that peers are told; OSError where it is not this host's."""
        server = wire.listen(self.address, 0)
        self._is_deaf = not interfaces.carries(self.settings, self.address)
        self.port = server.getsockname()[1]
        wire.serve(server, self._serve, "transfer")

    def _serve(self, line):
        message = line.receive() or {}
        if self._is_deaf:
            pass
        elif "want" in message:
            with self._lock:
                self._asked[message["want"]] = message
                self._lock.notify_all()
            line.send(ok=True)
        elif "give" in message:
            box = self._awaited.get(message["ticket"])
            if box:
                box.put(message)
            line.send(ok=box is not None)
        line.close()

    # Prefill

    def give(self, room, part):
        """Hand a room's part to the decode node that asks for it; TransferError where none does in time."""
        seconds = self._patience("SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT")
        with self._lock:
            if not self._lock.wait_for(lambda: room in self._asked, seconds):
                raise TransferError(f"Request {room} timed out after {seconds}s in KVPoll.Bootstrapping")
            asked = self._asked.pop(room)
        message = {"give": room, "ticket": asked["ticket"], "part": part}
        strangers = self.knobs.get("store_incarnation") and asked["store"] != self.store_number
        if strangers:
            message["failure"] = "Failed to send kv chunk: peer is not a member of this store"
        try:
            line = wire.connect(asked["ip"], asked["port"])
            line.send(**message)
            taken = (line.receive() or {}).get("ok")
            line.close()
        except OSError:
            taken = False
        if strangers or not taken:
            raise TransferError(f"Failed to send kv chunk of {room} to {asked['ip']}:{asked['port']}")

    # Decode

    def fetch(self, host, port, room, dp_rank=0):
        """The secret of a room of the prefill behind a bootstrap address."""
        address = f"{bracket(host)}:{port}"
        layout = self._layout(address)
        peers = self._peers(address, layout, room)
        seconds = self._patience("SGLANG_DISAGGREGATION_WAITING_TIMEOUT")
        deadline = time.monotonic() + seconds
        parts = []
        for peer in peers:
            ticket = secrets.token_hex(8)
            self._awaited[ticket] = queue.Queue()
            try:
                parts.append(self._fetch_part(peer, room, ticket, deadline, seconds))
            finally:
                del self._awaited[ticket]
        return join(parts)

    def _layout(self, address):
        known = self._layouts.get(address)
        if known is not None and bootstrap.is_healthy(address):
            return known
        known = bootstrap.layout(address, self.knobs.seconds("handshake_timeout_seconds"))
        if known is None:
            raise HandshakeError("Aborted by AbortReq.")
        self._layouts[address] = known
        return known

    def _peers(self, address, layout, room):
        """Where the ranks are that hold the room: the first and the last of its group, which may lie on two nodes."""
        dp_rank = room % layout["dp_size"]
        peers = []
        for pp_rank in sorted({0, layout["pp_size"] - 1}):
            for tp_rank in sorted({0, layout["attn_tp_size"] - 1}):
                try:
                    found = bootstrap.ask(
                        address,
                        prefill_dp_rank=dp_rank,
                        prefill_cp_rank=0,
                        target_tp_rank=tp_rank,
                        target_pp_rank=pp_rank,
                    )
                except (OSError, ValueError):
                    raise HandshakeError("Aborted by AbortReq.") from None
                peer = (found["rank_ip"], found["rank_port"])
                if peer not in peers:
                    peers.append(peer)
        return peers

    def _fetch_part(self, peer, room, ticket, deadline, seconds):
        message = {"want": room, "ticket": ticket, "ip": self.address, "port": self.port, "store": self.store_number}
        late = TransferError(f"Request {room} timed out after {seconds}s in KVPoll.WaitingForInput")
        while True:
            try:
                line = wire.connect(*peer, seconds=max(0.1, min(5.0, deadline - time.monotonic())))
                line.send(**message)
                line.close()
                break
            except OSError:
                # ZeroMQ connects in the background for ever: an address where nobody is looks like a slow peer.
                if time.monotonic() > deadline:
                    raise late from None
                time.sleep(0.2)
        try:
            answer = self._awaited[ticket].get(timeout=max(0.01, deadline - time.monotonic()))
        except queue.Empty:
            raise late from None
        if "failure" in answer:
            raise TransferError(answer["failure"])
        return answer["part"]

    def _patience(self, variable):
        told = self.knobs.get("kv_timeout_seconds")
        return float(told if told is not None else self.settings.env.get(variable) or 300.0)


def secret_of(token_ids):
    """What a prompt's cache holds: with it, and only with it, the answer can be told."""
    return hashlib.sha256(" ".join(map(str, token_ids)).encode()).hexdigest()
