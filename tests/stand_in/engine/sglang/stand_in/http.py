# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small web server in uvicorn's manner: HTTP/1.1, keep-alive, streams in chunks, a thread per connection."""

from __future__ import annotations

import json
import socketserver
import sys
import time
import traceback
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from sglang.stand_in import log, wire


@dataclass
class Response:
    """What to answer. `stream` is an iterable of texts, sent as they come."""

    status: int = 200
    body: bytes = b""
    content_type: str = None
    stream: object = None
    vary: bool = True


@dataclass
class Request:
    """What was asked."""

    method: str
    path: str
    query: dict
    headers: object
    body: bytes


def json_response(value, status=200):
    """A value as JSON, without blanks as the real server writes it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Response(status, text.encode("utf-8", "replace"), "application/json")


def text_response(text, status=200, vary=True, content_type="text/plain; charset=utf-8"):
    """A plain text."""
    return Response(status, text.encode(), content_type, vary=vary)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # A client that was cut off without a word does not hold its thread for ever.
    timeout = 3600

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def _do(self):
        length = self.headers.get("Content-Length")
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = self._chunks()
        else:
            body = self.rfile.read(int(length)) if length and length.isdigit() else b""
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        request = Request(self.command, parts.path, query, self.headers, body)
        try:
            response = self.server.application(request)
        except Exception:  # as any web server: an answer all the same, and what went wrong in the log
            log.uvicorn(f"Exception in ASGI application\n{traceback.format_exc()}", "ERROR")
            response = text_response("Internal Server Error", 500, vary=False)
        self._send(response)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = _do  # noqa: N815

    def _chunks(self):
        body = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            body += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return body

    def _send(self, response):
        status = HTTPStatus(response.status)
        if self.server.access_log:
            client = f"{self.client_address[0]}:{self.client_address[1]}"
            log.uvicorn(f'{client} - "{self.command} {self.path} HTTP/1.1" {status.value} {status.phrase}')
        self.send_response_only(status)
        self.send_header("date", self.date_time_string())
        self.send_header("server", self.server.name)
        if response.content_type:
            self.send_header("content-type", response.content_type)
        if response.vary:
            self.send_header("vary", "Origin")
        if response.stream is None:
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)
            return
        chunked = self.request_version == "HTTP/1.1"
        if chunked:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.close_connection = True
        self.end_headers()
        for text in response.stream:
            data = text.encode("utf-8", "replace")
            if data:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def send_error(self, code, message=None, explain=None):
        """What is no HTTP/1 (a probe for gRPC, TLS) gets what uvicorn answers."""
        if self.server.access_log:
            log.uvicorn("Invalid HTTP request received.", "WARNING")
        body = b"Invalid HTTP request received."
        self.close_connection = True
        head = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
        self.wfile.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    def log_message(self, format, *args):  # noqa: A002
        """The access log is written where the answer is known."""


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A web server for an application: a function from Request to Response."""

    daemon_threads = True
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(self, host, port, application, name="uvicorn", access_log=True):
        self.application = application
        self.name = name
        self.access_log = access_log
        listener = wire.listen(host, port, self.request_queue_size)
        super().__init__(listener.getsockname(), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def start(self):
        """Serve from now on, in the background, until the process ends."""
        # The poll interval only matters to shutdown(), which nobody calls: an idle server wakes up once an hour.
        wire.thread(lambda: self.serve_forever(poll_interval=3600), f"http-{self.server_address[1]}")

    def handle_error(self, request, client_address):
        """A client that goes away in the middle is no news."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            log.uvicorn(f"Exception in ASGI application: {type(error).__name__}: {error}", "ERROR")


def utc_now():
    """The time, in ISO form."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{int(time.time() % 1 * 1e6):06d}+00:00"
