# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The transfer engine as SGLang's class AscendTransferEngine calls it: 0 is success, everything else is not."""

from __future__ import annotations

import contextlib
import enum
import random
import socket
import sys
import threading
from collections.abc import Sequence

from . import memory, store

# As the real one: ports at random out of these.
PORTS = range(15000, 25001)
CONNECT_SECONDS = 5
WRITE_SECONDS = 60


class TransferEngine:
    """One for each process that has a part of the cache."""

    class TransDataOpType(enum.Enum):
        """How the real one moves data; here it is TCP either way."""

        SDMA = 0
        DEVICE_RDMA = 1

    def __init__(self) -> None:
        self._registered = memory.Registered()
        self._listener: socket.socket | None = None
        self._peers: dict[str, socket.socket] = {}
        self._lock = threading.Lock()

    def get_rpc_port(self) -> int:
        """Take a port for this engine; others reach it there from now on."""
        while self._listener is None:
            with contextlib.suppress(OSError):
                self._listener = socket.create_server(("", random.choice(PORTS)))
        return int(self._listener.getsockname()[1])

    def initialize(self, store_url: str, session_id: str, role: str, npu_id: int, op_type: TransDataOpType) -> int:
        """Join the store's group and take what others write. Waits for a store that nobody serves yet."""
        own = {"session": session_id, "role": role, "npu": npu_id, "op": op_type.name}
        if self._listener is None or not store.join(store_url, own):
            return -1
        threading.Thread(target=self._serve, args=(self._listener,), name="memfabric", daemon=True).start()
        print(f"memfabric over TCP: {role} {session_id} has joined {store_url}", file=sys.stderr, flush=True)
        return 0

    def _serve(self, listener: socket.socket) -> None:
        while True:
            connection, _peer = listener.accept()
            threading.Thread(target=self._take, args=(connection,), name="memfabric-in", daemon=True).start()

    def _take(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while (taken := memory.take(connection, self._registered)) is not None:
                print(f"memfabric over TCP: {taken} bytes were written here", file=sys.stderr, flush=True)

    def register_memory(self, address: int, length: int) -> int:
        """Let others write there."""
        return self.batch_register_memory([address], [length])

    def batch_register_memory(self, addresses: Sequence[int], lengths: Sequence[int]) -> int:
        """Let others write there."""
        try:
            for address, length in zip(addresses, lengths, strict=True):
                self._registered.add(int(address), int(length))
        except ValueError:
            return -1
        return 0

    def unregister_memory(self, address: int) -> int:
        """Let nobody write there any more."""
        return self.batch_unregister_memory([address])

    def batch_unregister_memory(self, addresses: Sequence[int]) -> int:
        """Let nobody write there any more."""
        for address in addresses:
            self._registered.remove(int(address))
        return 0

    def transfer_sync_write(self, session: str, source: int, target: int, length: int) -> int:
        """Write into another engine's memory."""
        return self.batch_transfer_sync_write(session, [source], [target], [length])

    def batch_transfer_sync_write(
        self, session: str, sources: Sequence[int], targets: Sequence[int], lengths: Sequence[int]
    ) -> int:
        """Write pieces of this process's memory into another engine's, known by its session (host:port)."""
        pieces = [[int(one) for one in each] for each in (sources, targets, lengths)]
        with self._lock:
            try:
                return 0 if memory.send(self._peer(session), *pieces) else -1
            except (OSError, ValueError):
                if session in self._peers:
                    self._peers.pop(session).close()
                return -1

    batch_transfer_sync = batch_transfer_sync_write

    def _peer(self, session: str) -> socket.socket:
        if session not in self._peers:
            host, _colon, port = session.rpartition(":")
            peer = socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS)
            peer.settimeout(WRITE_SECONDS)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers[session] = peer
        return self._peers[session]
