# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of this process that may be written from elsewhere, and the writing."""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from collections.abc import Sequence

# A message: how many pieces, then address and length of each, then their bytes. The answer is one byte.
_COUNT = struct.Struct("!I")
_PIECE = struct.Struct("!QQ")
DONE, REFUSED = b"\1", b"\0"
MOST_PIECES = 1 << 20

Piece = tuple[int, int]


class Registered:
    """Regions by address. Threads may ask and register at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._regions: dict[int, int] = {}

    def add(self, address: int, length: int) -> None:
        """Allow a region to be written; one that begins at the same address is replaced."""
        if address <= 0 or length <= 0:
            raise ValueError(f"no memory: {length} bytes at {address:#x}")
        with self._lock:
            self._regions[address] = length

    def remove(self, address: int) -> None:
        """Forbid it again."""
        with self._lock:
            self._regions.pop(address, None)

    def holds(self, address: int, length: int) -> bool:
        """Whether all of this lies in one region."""
        with self._lock:
            return any(begin <= address and address + length <= begin + size for begin, size in self._regions.items())


def view(address: int, length: int) -> memoryview:
    """Memory of this process as bytes."""
    return memoryview((ctypes.c_char * length).from_address(address)).cast("B")


def send(connection: socket.socket, sources: Sequence[int], targets: Sequence[int], lengths: Sequence[int]) -> bool:
    """Write memory of this process into that of whom the connection leads to; whether it was taken."""
    pieces = b"".join(_PIECE.pack(address, length) for address, length in zip(targets, lengths, strict=True))
    connection.sendall(_COUNT.pack(len(lengths)) + pieces)
    for address, length in zip(sources, lengths, strict=True):
        connection.sendall(view(address, length))
    return receive(connection, 1) == DONE


def take(connection: socket.socket, registered: Registered) -> int | None:
    """Take one message; how many bytes were written, None where the other side has gone.

    What may not be written is read, and thrown away.
    """
    head = receive(connection, _COUNT.size)
    if not head:
        return None
    (count,) = _COUNT.unpack(head)
    if count > MOST_PIECES:
        raise ConnectionError(f"{count} pieces in a message")
    pieces: list[Piece] = list(_PIECE.iter_unpack(receive(connection, count * _PIECE.size)))
    allowed = all(registered.holds(address, length) for address, length in pieces)
    for address, length in pieces:
        _fill(connection, view(address, length)) if allowed else _skip(connection, length)
    connection.sendall(DONE if allowed else REFUSED)
    return sum(length for _address, length in pieces) if allowed else 0


def receive(connection: socket.socket, length: int) -> bytes:
    """So many bytes; none where the other side has gone before the first. ConnectionError where it goes midway."""
    found = b""
    while len(found) < length:
        part = connection.recv(length - len(found))
        if not part:
            if found:
                raise ConnectionError(f"gone after {len(found)} of {length} bytes")
            return b""
        found += part
    return found


def _fill(connection: socket.socket, target: memoryview) -> None:
    done = 0
    while done < len(target):
        got = connection.recv_into(target[done:])
        if not got:
            raise ConnectionError(f"gone after {done} of {len(target)} bytes")
        done += got


def _skip(connection: socket.socket, length: int) -> None:
    while length:
        got = len(connection.recv(min(length, 1 << 16)))
        if not got:
            raise ConnectionError(f"gone with {length} bytes to come")
        length -= got
