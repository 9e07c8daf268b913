# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other guards are told: one JSON text at GET /, on the data address."""

from __future__ import annotations

import ipaddress
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 5.0
_PAUSE_SECONDS = 1.0


def serve(url: str, tell: Callable[[], Mapping[str, Any]], log: Callable[[str], None]) -> threading.Thread:
    """Answer at a URL, in a thread of its own; tries again while the address is not there yet, or the port taken."""
    thread = threading.Thread(target=_serve, args=(url, tell, log), name="answers", daemon=True)
    thread.start()
    return thread


def _serve(url: str, tell: Callable[[], Mapping[str, Any]], log: Callable[[str], None]) -> None:
    said = ""
    while True:
        try:
            server = listen(url, tell)
            break
        except OSError as error:
            why = error.strerror or str(error)
            if why != said:
                log(f"cannot listen at {url}: {why}; trying on. Until then the other hosts do not see this unit")
                said = why
            time.sleep(_PAUSE_SECONDS)
    if said:
        log(f"listening at {url}")
    server.serve_forever()


def listen(url: str, tell: Callable[[], Mapping[str, Any]]) -> ThreadingHTTPServer:
    """A server that listens there. OSError where it may not."""
    parts = urlsplit(url)
    family, address = _own_address(parts.hostname or "", parts.port or 0)

    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_SECONDS
        server_version = "ascend-sglang-guard"
        sys_version = ""

        def do_GET(self) -> None:
            if self.path != "/":
                self.send_error(404)
                return
            body = json.dumps(tell()).encode() + b"\n"
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: Any) -> None:
            """A line a second says nothing."""

    class Server(ThreadingHTTPServer):
        address_family = family
        daemon_threads = True

        def server_bind(self) -> None:
            # Without the look-up of the own name that HTTPServer does: resolvers can be slow at boot.
            if family == socket.AF_INET6:
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(self.server_address)
            self.server_address = self.socket.getsockname()
            self.server_name, self.server_port = str(parts.hostname), self.server_address[1]

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Who hangs up, or stays silent, is no event."""

    return Server(address, Handler)


def _own_address(name: str, port: int) -> tuple[int, Any]:
    """Where to listen. A host's own name can stand for its loopback address too, where nobody else would come."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    places = [(one[0], one[4]) for one in found]
    outside = [one for one in places if not ipaddress.ip_address(str(one[1][0]).partition("%")[0]).is_loopback]
    is_literal = any(str(one[1][0]) == name for one in places)
    if not outside and not is_literal:
        raise OSError(f"{name} means only this host's loopback address here")
    return (outside or places)[0]
