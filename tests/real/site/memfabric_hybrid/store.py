# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store of a PD group: who serves it, and how one joins."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

RETRY_SECONDS = 0.5


class Store:
    """Serves members as long as its process lives. One line of JSON in, one out."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.members: list[dict[str, Any]] = []
        self._socket = socket.create_server(address)
        threading.Thread(target=self._serve, name="memfabric-store", daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    def _serve(self) -> None:
        while True:
            connection, _peer = self._socket.accept()
            with connection, contextlib.suppress(OSError, ValueError), connection.makefile("rw") as lines:
                connection.settimeout(5)
                self.members.append(json.loads(lines.readline()))
                lines.write(json.dumps({"members": len(self.members)}) + "\n")


_served: list[Store] = []


def place(url: str | None) -> tuple[str, int] | None:
    """Host and port of tcp://host:port; None where it is none."""
    parts = urlsplit(url or "")
    with contextlib.suppress(ValueError):
        if parts.scheme == "tcp" and parts.hostname and parts.port:
            return parts.hostname, parts.port
    return None


def create_config_store(store_url: str) -> int:
    """Serve the store there: 0, or -1 where the address cannot be had. Who cannot may still join."""
    address = place(store_url)
    if address is None:
        return -1
    try:
        _served.append(Store(address))
    except OSError:
        return -1
    return 0


def _join(address: tuple[str, int], member: dict[str, Any]) -> bool:
    with socket.create_connection(address, timeout=5) as connection, connection.makefile("rw") as lines:
        lines.write(json.dumps(member) + "\n")
        lines.flush()
        return bool(json.loads(lines.readline())["members"])


def join(store_url: str | None, member: dict[str, Any], limit: float | None = None) -> bool:
    """Become a member, as soon as somebody serves the store; False where the address is none, or after the limit."""
    address = place(store_url)
    end = None if limit is None else time.monotonic() + limit
    while address is not None:
        with contextlib.suppress(OSError, ValueError):
            return _join(address, member)
        if end is not None and time.monotonic() > end:
            return False
        time.sleep(RETRY_SECONDS)
    return False
