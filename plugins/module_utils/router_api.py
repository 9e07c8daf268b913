# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workers of a router, over its own interface: which it has, taking one out, putting one in.

As sglang-router 0.3.2 does it: GET /workers lists them with an id each, DELETE /workers/ID takes one out at once
(requests that it has already sent there run on), POST /workers puts one in after asking it. mini-lb has none of this.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.http_probe import Reply, request

_ASK_SECONDS = 5.0
_PAUSE_SECONDS = 0.5
SETTLE_SECONDS = 1.0
"""A request for which a worker was chosen before it left may reach it that much later."""

Ask = Callable[..., Reply]

NOTHING: dict[str, Any] = {
    "changed": False,
    "supported": False,
    "names": [],
    "workers": [],
    "left": {},
    "readiness": "",
}
"""What there is to tell of a router that tells nothing."""


class RouterError(RuntimeError):
    """The router did not do what it was asked. The message says what it answered."""


@dataclass(frozen=True)
class Worker:
    """One instance as the router has it, or should have it. kind: prefill, decode or regular (the router's words)."""

    url: str
    kind: str
    bootstrap: int | None = None
    id: str = ""
    healthy: bool = False
    load: int = 0

    def plain(self) -> dict[str, Any]:
        """As a module returns it."""
        return {"url": self.url, "kind": self.kind, "healthy": self.healthy, "load": self.load}


def worker(given: Mapping[str, Any]) -> Worker:
    """A worker as a plan knows it; RouterError where that cannot be one."""
    url, kind, bootstrap = given.get("url"), given.get("kind", "regular"), given.get("bootstrap")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise RouterError(f"a worker has the url of an instance, such as http://192.0.2.21:8001, not {url!r}")
    if kind not in ("prefill", "decode", "regular"):
        raise RouterError(f"the kind of the worker {url} is prefill, decode or regular, not {kind!r}")
    return Worker(url.rstrip("/"), kind, None if bootstrap in (None, "") else int(str(bootstrap)))


class Router:
    """One router."""

    def __init__(
        self, url: str, key: str | None, ask: Ask = request, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._ask = ask
        self._sleep = sleep

    def workers(self) -> list[Worker] | None:
        """Those that it has, sorted by URL; None for a mini-lb, which does not tell."""
        reply = self._ask(self._url + "/workers", _ASK_SECONDS, key=self._key)
        if reply.status == 404:
            return None
        body = self._accepted("GET /workers", reply, (200,)).json()
        if not isinstance(body, dict) or not isinstance(body.get("workers"), list):
            raise RouterError(f"{self._url}/workers answered something else than a list of workers: {reply.text[:200]}")
        return sorted((_read(one) for one in body["workers"]), key=lambda one: one.url)

    def readiness(self) -> str:
        """What /readiness says, in words; empty for a mini-lb."""
        reply = self._ask(self._url + "/readiness", _ASK_SECONDS)
        if reply.status == 404:
            return ""
        body = reply.json()
        body = body if isinstance(body, dict) else {}
        return str(body.get("reason") or body.get("status") or reply.error or reply.status)

    def remove(self, urls: Sequence[str], limit: float) -> list[Worker]:
        """Take workers out, and wait until none of them is listed. Returns those that were listed."""
        there = [one for one in self.workers() or [] if one.url in urls]
        for one in there:
            reply = self._ask(f"{self._url}/workers/{one.id}", _ASK_SECONDS, key=self._key, method="DELETE")
            self._accepted(f"DELETE of {one.url}", reply, (200, 202, 204, 404))
        self._until(lambda: not any(one.url in urls for one in self.workers() or []), limit, "still lists", urls)
        return there

    def add(self, wanted: Sequence[Worker], limit: float) -> list[Worker]:
        """Put in those that are missing, and wait until all are healthy. Returns those that were missing."""
        have = {one.url for one in self.workers() or []}
        missing = [one for one in wanted if one.url not in have]
        for one in missing:
            body: dict[str, Any] = {"url": one.url, "worker_type": one.kind}
            if one.bootstrap is not None:
                body["bootstrap_port"] = one.bootstrap
            if self._key:
                # Without it the router cannot ask the worker for its data-parallel size and the like.
                body["api_key"] = self._key
            reply = self._ask(f"{self._url}/workers", _ASK_SECONDS, body, self._key)
            self._accepted(f"POST of {one.url}", reply, (200, 201, 202))
        urls = [one.url for one in wanted]

        def healthy() -> bool:
            return set(urls) <= {one.url for one in self.workers() or [] if one.healthy}

        self._until(healthy, limit, "has not found healthy", urls)
        return missing

    def pending(self, url: str) -> int | None:
        """Requests that a worker itself says it has; None where it does not tell."""
        for path in ("/get_load", "/v1/loads"):
            reply = self._ask(url + path, _ASK_SECONDS, key=self._key)
            if reply.status == 200:
                return requests_of(reply.json())
        return None

    def drain(self, urls: Sequence[str], limit: float) -> dict[str, int]:
        """Wait until workers that were taken out have no request left. URL -> requests left after the limit.

        What a worker does not tell here (a transfer in progress) its own stop waits for.
        """
        began = time.monotonic()
        self._sleep(SETTLE_SECONDS)
        while True:
            left = {url: number for url in urls for number in [self.pending(url)] if number}
            if not left or time.monotonic() - began > limit:
                return left
            self._sleep(_PAUSE_SECONDS)

    def _until(self, done: Callable[[], bool], limit: float, words: str, urls: Sequence[str]) -> None:
        began = time.monotonic()
        while not done():
            if time.monotonic() - began > limit:
                raise RouterError(f"after {limit:.0f} s the router {self._url} {words} {', '.join(urls)}")
            self._sleep(_PAUSE_SECONDS)

    def _accepted(self, what: str, reply: Reply, statuses: Sequence[int]) -> Reply:
        if reply.status in statuses:
            return reply
        if reply.status in (401, 403):
            raise RouterError(f"the router {self._url} refuses the API key ({what}: {reply.status})")
        answer = f"{reply.status} {reply.text[:200]}".rstrip() if reply.status else reply.error
        raise RouterError(f"the router {self._url} did not accept {what}: {answer}")


def listed(router: Router) -> dict[str, Any]:
    """Its workers as they are, as the module router_workers returns them; ``error`` says why it could not be asked."""
    try:
        workers = router.workers()
        if workers is None:
            return {**NOTHING, "error": ""}
        told = [one.plain() for one in workers]
        return {**NOTHING, "supported": True, "workers": told, "readiness": router.readiness(), "error": ""}
    except RouterError as error:
        # To look is to be told, whatever there is to see.
        return {**NOTHING, "error": str(error)}


def alone(workers: Sequence[Worker], leaving: Sequence[str]) -> list[str]:
    """Kinds of which no healthy worker would be left."""
    kinds = {one.kind for one in workers if one.url in leaving}
    left = {one.kind for one in workers if one.healthy and one.url not in leaving}
    return sorted(kinds - left)


def requests_of(body: Any) -> int | None:
    """The number of requests in an engine's load, as /get_load (a list) or /v1/loads (with `loads`) has it."""
    ranks = body.get("loads") if isinstance(body, dict) else body
    if not isinstance(ranks, list):
        return None
    total = 0
    for rank in ranks:
        if not isinstance(rank, dict):
            return None
        total += int(rank.get("num_reqs", rank.get("num_running_reqs", 0)) or 0) + int(rank.get("num_waiting_reqs", 0))
    return total


def _read(one: Mapping[str, Any]) -> Worker:
    return Worker(
        url=str(one.get("url", "")).rstrip("/"),
        kind=str(one.get("worker_type", "regular")),
        bootstrap=one.get("bootstrap_port"),
        id=str(one.get("id", "")),
        healthy=bool(one.get("is_healthy")),
        load=int(one.get("load") or 0),
    )
