# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of one instance find each other on --dist-init-addr, as in torch.distributed, and notice when one is gone.

Rank 0 listens and waits for all, in silence; the others knock until they are let in, in silence. A wrong world size is
refused; of a rank that comes twice the late one hangs. Afterwards the connections stay: they carry barriers and calls
(`Group.call`), and their end is how a dead rank is noticed.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import socket
import threading
import time
import uuid

from sglang.stand_in import wire


class RendezvousError(Exception):
    """The instance does not come together; the text is torch's."""


class PeerGoneError(Exception):
    """The other side of a call is gone."""


class Group:
    """The nodes of an instance after the rendezvous. A single node has no peers."""

    def __init__(self, settings):
        self.settings = settings
        self.operations = {}
        self.on_peer_gone = lambda rank, said_so: None
        # Names this run of the instance: peers of another run are not ours.
        self.incarnation = uuid.uuid4().hex
        self._peers = {}
        self._lock = threading.Condition()
        self._arrived = {}
        self._released = set()
        self._replies = {}
        self._numbers = itertools.count()

    # Coming together

    def join(self):
        """Wait for all nodes. Raises RendezvousError where that cannot be or --dist-timeout has passed."""
        settings = self.settings
        if settings.nnodes == 1 and not settings.dist_init:
            return
        timeout = settings.args["dist_timeout"]
        deadline = time.monotonic() + timeout if timeout else None
        if settings.rank >= settings.nnodes:
            raise RendezvousError(f"ValueError: node rank {settings.rank} is out of range for {settings.nnodes} nodes")
        if settings.rank == 0:
            self._gather(deadline)
        else:
            self._knock(deadline)
        for rank, line in self._peers.items():
            line.socket.settimeout(None)
            wire.keep_alive(line.socket, settings.args["watchdog_timeout"] or 300)
            wire.thread(lambda rank=rank, line=line: self._listen(rank, line), f"peer-{rank}")

    def _gather(self, deadline):
        host, port = self.settings.dist_init
        if not wire.free_port(host):
            raise RendezvousError(_listen_error(port, -99, "EADDRNOTAVAIL", "address not available"))
        try:
            server = _listen_everywhere(port)
        except OSError:
            raise RendezvousError(_listen_error(port, -98, "EADDRINUSE", "address already in use")) from None
        arrivals = queue.Queue()
        wire.serve(server, lambda line: arrivals.put((line.receive(), line)), "dist-init")
        mine = self._card()
        while not self._is_complete():
            remaining = 1.0 if deadline is None else min(1.0, deadline - time.monotonic())
            try:
                card, line = arrivals.get(timeout=max(0.01, remaining))
            except queue.Empty:
                if deadline is not None and time.monotonic() >= deadline:
                    joined, size = len(self._peers) + 1, self.settings.nnodes
                    waited = self.settings.args["dist_timeout"] + 1
                    raise RendezvousError(
                        f"torch.distributed.DistStoreError: Timed out after {waited} seconds waiting for clients. "
                        f"{joined}/{size} clients joined."
                    ) from None
                continue
            self._is_complete()
            if not card or "rank" not in card:
                line.close()
            elif any(card.get(key) != mine[key] for key in mine if key != "rank"):
                line.send(
                    error=f"RuntimeError: world size mismatch: rank {card['rank']} has {_shown(card)}, "
                    f"rank 0 has {_shown(mine)}"
                )
            elif not 0 < card["rank"] < self.settings.nnodes or card["rank"] in self._peers:
                # The second of a rank is never answered and waits for ever, as the real one does.
                _late.append(line)
            else:
                self._peers[card["rank"]] = line
        for line in self._peers.values():
            line.send(joined=True, incarnation=self.incarnation)
        # Who comes later is not answered either.
        wire.thread(lambda: _keep_waiting(arrivals), "dist-init-late")

    def _is_complete(self):
        """Whether all are there; who has gone again meanwhile may come again."""
        self._peers = {rank: line for rank, line in self._peers.items() if not line.is_closed()}
        return len(self._peers) == self.settings.nnodes - 1

    def _knock(self, deadline):
        host, port = self.settings.dist_init
        line = wire.connect_patiently(host, port, deadline)
        if line is None:
            waited = self.settings.args["dist_timeout"] * 1000
            raise RendezvousError(
                f"torch.distributed.DistNetworkError: The client socket has timed out after {waited}ms "
                f"while trying to connect to ({host}, {port})."
            )
        line.send(**self._card())
        answer = line.receive()
        if answer is None:
            raise RendezvousError(
                "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. "
                f"Did the remote server shutdown or crash? ({host}, {port})"
            )
        if "error" in answer:
            raise RendezvousError(answer["error"])
        self.incarnation = answer["incarnation"]
        self._peers[0] = line

    def _card(self):
        settings = self.settings
        return {
            "rank": settings.rank,
            "nnodes": settings.nnodes,
            "tp": settings.tp,
            "pp": settings.pp,
            "dp": settings.dp,
            "attention_dp": settings.attention_dp,
            "mode": settings.mode,
            "version": settings.version,
        }

    # Working together

    def barrier(self, name):
        """Wait until all nodes have come to this point."""
        if not self._peers:
            return
        if self.settings.rank == 0:
            with self._lock:
                self._lock.wait_for(lambda: self._arrived.get(name, 0) == len(self._peers))
            self._tell(barrier=name)
        else:
            self._tell(barrier=name)
            with self._lock:
                self._lock.wait_for(lambda: name in self._released)

    def call(self, rank, operation, **arguments):
        """Have a node do one of its `operations` and give back what it returns."""
        if rank == self.settings.rank:
            return self.operations[operation](**arguments)
        number = next(self._numbers)
        box = queue.Queue(1)
        self._replies[number] = box
        try:
            self._peers[rank].send(call=operation, number=number, arguments=arguments)
        except (OSError, KeyError):
            raise PeerGoneError(rank) from None
        reply = box.get()
        if "failure" in reply:
            raise PeerGoneError(reply["failure"])
        return reply["value"]

    def say_goodbye(self):
        """Tell the others that this node ends on purpose."""
        self._tell(goodbye=True)

    def _tell(self, **message):
        for line in self._peers.values():
            with contextlib.suppress(OSError):
                line.send(**message)

    def _listen(self, rank, line):
        said_so = False
        while True:
            message = line.receive()
            if message is None:
                break
            if "barrier" in message:
                with self._lock:
                    self._arrived[message["barrier"]] = self._arrived.get(message["barrier"], 0) + 1
                    self._released.add(message["barrier"])
                    self._lock.notify_all()
            elif "call" in message:
                wire.thread(lambda message=message: self._answer(line, message), "call")
            elif "goodbye" in message:
                said_so = True
            elif message.get("number") in self._replies:
                self._replies.pop(message["number"]).put(message)
        self.on_peer_gone(rank, said_so)

    def _answer(self, line, message):
        try:
            reply = {"value": self.operations[message["call"]](**message["arguments"])}
        except Exception as error:  # what went wrong there is for the caller to say
            reply = {"failure": str(error)}
        with contextlib.suppress(OSError):
            line.send(number=message["number"], **reply)


_late = []


def _keep_waiting(arrivals):
    while True:
        _late.append(arrivals.get())


def _listen_everywhere(port):
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, reuse_port=False)
        except OSError as error:
            if error.errno not in (97, 99):
                raise
    return socket.create_server(("0.0.0.0", port))


def _listen_error(port, code, name, message):
    return (
        f"torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
        f"port: {port}, "
        f"useIpv6: false, code: {code}, name: {name}, message: {message}"
    )


def _shown(card):
    return ", ".join(f"{key}={card.get(key)}" for key in ("nnodes", "tp", "pp", "dp", "mode"))
