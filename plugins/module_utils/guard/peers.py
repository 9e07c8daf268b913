# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking at another guard, once a second, in a thread of its own."""

from __future__ import annotations

import dataclasses
import http.client
import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from . import rules

PERIOD_SECONDS = 1.0
_LIMIT_SECONDS = 2.0
_STALE_SECONDS = 6.0
"""A look that is older counts as none: longer than a look at a guard and its unit's ports can take."""

_MOST_BYTES = 64 * 1024


def ask(url: str, limit: float = _LIMIT_SECONDS) -> rules.Unit | None:
    """What the guard at a URL tells of its unit; None where it tells nothing in time, or nonsense. Knows no proxies."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=limit)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        text = answer.read(_MOST_BYTES)
        return read(json.loads(text)) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def read(told: Any) -> rules.Unit | None:
    """A unit out of what a guard told; None where it is not what a guard tells."""
    if not isinstance(told, Mapping):
        return None
    left, age = told.get("left"), told.get("age")
    texts = [told.get("phase"), told.get("invocation"), told.get("following")]
    if not isinstance(left, list) or not isinstance(age, (int, float)):
        return None
    if not all(isinstance(text, str) for text in [*texts, *left]):
        return None
    return rules.Unit(str(texts[0]), str(texts[1]), float(age), str(texts[2]), tuple(left))


def accepts(host: str, ports: Sequence[int], limit: float = _LIMIT_SECONDS) -> bool:
    """Whether one of a unit's ports takes a connection. Nothing is said on it."""
    for port in ports:
        try:
            socket.create_connection((host, port), timeout=limit).close()
            return True
        except OSError:
            continue
    return False


class Peer:
    """Another unit, looked at from now on."""

    def __init__(self, url: str, ports: Sequence[int]) -> None:
        self._url = url
        self._ports = ports
        self._seen: tuple[float, rules.Look] | None = None
        threading.Thread(target=self._watch, name=url, daemon=True).start()

    def look(self, now: float) -> rules.Look:
        """The last look, its times as of now."""
        seen = self._seen
        if seen is None or now - seen[0] > _STALE_SECONDS:
            return rules.Look()
        at, look = seen
        if look.unit is None or not look.unit.has_process:
            return look
        return rules.Look(dataclasses.replace(look.unit, age=look.unit.age + now - at), look.accepts)

    def _watch(self) -> None:
        host = urlsplit(self._url).hostname or ""
        while True:
            began = time.monotonic()
            unit = ask(self._url)
            self._seen = (began, rules.Look(unit, unit is None and accepts(host, self._ports)))
            time.sleep(max(0.0, PERIOD_SECONDS - (time.monotonic() - began)))
