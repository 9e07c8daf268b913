# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets that speak lines of JSON: the common part of the rendezvous, the store, ZBAL and the hand-over."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time


class Line:
    """A connection whose messages are mappings, one a line."""

    def __init__(self, connection):
        self.socket = connection
        self._reader = connection.makefile("rb")
        self._lock = threading.Lock()

    def send(self, **message):
        """Send a message; OSError where the peer is gone."""
        with self._lock:
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        """The next message; None where the peer is gone or speaks something else."""
        try:
            text = self._reader.readline(1 << 20)
            message = json.loads(text) if text else None
        except (OSError, ValueError):
            return None
        return message if isinstance(message, dict) else None

    def is_closed(self):
        """Whether the peer has closed its side; asks without waiting, on a connection that has nothing to read yet."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self):
        """Close it, whatever state it is in."""
        for action in (lambda: self.socket.shutdown(socket.SHUT_RDWR), self._reader.close, self.socket.close):
            with contextlib.suppress(OSError):
                action()


def listen(host, port, backlog=128):
    """A listening socket on a host's address; OSError as the system says it."""
    entry = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    server = socket.socket(entry[0], socket.SOCK_STREAM)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(entry[4])
        server.listen(backlog)
    except OSError:
        server.close()
        raise
    return server


def serve(server, handler, name):
    """Call `handler(Line)` in a thread of its own for each connection."""

    def accept():
        while True:
            try:
                connection, _unused = server.accept()
            except OSError:
                return
            line = Line(connection)
            thread(lambda line=line: handler(line), name)

    thread(accept, name)


def connect(host, port, seconds=5.0):
    """A connection, or OSError."""
    connection = socket.create_connection((host, port), timeout=seconds)
    connection.settimeout(None)
    return Line(connection)


def connect_patiently(host, port, deadline=None):
    """A connection, however long it takes; None where a deadline (time.monotonic) passed."""
    while deadline is None or time.monotonic() < deadline:
        try:
            return connect(host, port)
        except OSError:
            time.sleep(0.2)
    return None


def thread(target, name):
    """Start a daemon thread."""
    started = threading.Thread(target=target, name=name, daemon=True)
    started.start()
    return started


def free_port(host):
    """Whether one may listen there now; False also where the address is not this host's."""
    try:
        listen(host, port=0).close()
    except OSError:
        return False
    return True


def keep_alive(connection, seconds):
    """Let the system find out within about `seconds` that the peer's host is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    step = max(1, int(seconds / 4))
    for option, value in ((socket.TCP_KEEPIDLE, step), (socket.TCP_KEEPINTVL, step), (socket.TCP_KEEPCNT, 3)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
