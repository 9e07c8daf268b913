# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP requests to services of this cluster: never through a proxy, never longer than told."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from typing import Any, NamedTuple

# The environment's proxies are for the internet; these addresses are the cluster's own.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_MOST_BYTES = 4 * 1024 * 1024


class Reply(NamedTuple):
    """status is 0 where there was no answer; error says why then. text is the body."""

    status: int
    text: str
    error: str
    seconds: float

    def json(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


def request(url: str, timeout: float, body: Any = None, key: str | None = None, method: str | None = None) -> Reply:
    """GET, or POST when there is a body (sent as JSON), unless a method is given.

    :param timeout: seconds in which bytes must come; a crashing server accepts and never answers.
    :param key: API key, sent as bearer token.
    """
    headers = {"Accept": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data: bytes | None = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    began = time.monotonic()

    def reply(status: int, text: str, error: str) -> Reply:
        return Reply(status, text, error, time.monotonic() - began)

    try:
        asked = urllib.request.Request(url, data=data, headers=headers, method=method)
        with _OPENER.open(asked, timeout=timeout) as answer:
            return reply(answer.status, answer.read(_MOST_BYTES).decode("utf-8", "replace"), "")
    except urllib.error.HTTPError as error:
        with error:
            try:
                text = error.read(_MOST_BYTES).decode("utf-8", "replace")
            except (OSError, http.client.HTTPException):
                text = ""
        return reply(error.code, text, "")
    except urllib.error.URLError as error:
        return reply(0, "", _words(error.reason))
    except (OSError, http.client.HTTPException, ValueError) as error:
        return reply(0, "", _words(error))


def _words(error: Any) -> str:
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
