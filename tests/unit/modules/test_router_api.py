# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workers of a router: asked of one that answers as sglang-router 0.3.2 was seen to."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import router_api
from ansible_collections.ascend.sglang.plugins.module_utils.http_probe import Reply
from ansible_collections.ascend.sglang.plugins.module_utils.router_api import (
    Router,
    RouterError,
    Worker,
    alone,
    requests_of,
    worker,
)
from ansible_collections.ascend.sglang.plugins.modules import router_workers

URL = "http://192.0.2.31:6688"
P0, P1, D0, D1 = (f"http://192.0.2.{number}:8000" for number in (11, 12, 21, 22))


def reply(status: int, body: Any = None) -> Reply:
    return Reply(status, "" if body is None else json.dumps(body), "", 0.0)


class FakeRouter:
    """Its workers, and the load that each tells, look after look."""

    def __init__(self, key: str | None = None, healthy: bool = True) -> None:
        self.key = key
        self.healthy = healthy
        self.loads: dict[str, list[int]] = {}
        self.posted: list[dict[str, Any]] = []
        self.workers: dict[str, dict[str, Any]] = {}
        for url, kind, port in (
            (P0, "prefill", 8998),
            (P1, "prefill", 8999),
            (D0, "decode", None),
            (D1, "decode", None),
        ):
            self.take(url, kind, port, True)

    def take(self, url: str, kind: str, port: int | None, healthy: bool) -> None:
        name = str(uuid.uuid4())
        known = {"id": name, "url": url, "worker_type": kind, "is_healthy": healthy, "load": 0}
        self.workers[name] = known if port is None else {**known, "bootstrap_port": port}

    def ask(
        self, url: str, timeout: float, body: Any = None, key: str | None = None, method: str | None = None
    ) -> Reply:
        if not url.startswith(URL):
            base, _unused, path = url.rpartition("/")
            if path != "get_load":
                return reply(404)
            told = self.loads.get(base, [0])
            return reply(200, [{"dp_rank": 0, "num_reqs": told.pop(0) if len(told) > 1 else told[0]}])
        path = url[len(URL) :]
        if path == "/readiness":
            return reply(200, {"status": "ready"})
        if self.key != key:
            return reply(401)
        if path == "/workers" and body is None:
            return reply(200, {"workers": list(self.workers.values())})
        if path == "/workers":
            self.posted.append(body)
            self.take(body["url"], body["worker_type"], body.get("bootstrap_port"), self.healthy)
            return reply(202)
        if method == "DELETE":
            return reply(202) if self.workers.pop(path.rpartition("/")[2], None) else reply(404)
        return reply(405)


def router(fake: FakeRouter, key: str | None = None) -> Router:
    return Router(URL, key, fake.ask, lambda seconds: None)


def options(**given: Any) -> dict[str, Any]:
    return {"workers": [], "state": "listed", "spare": False, "drain_timeout": 0.0, "timeout": 0.0, **given}


def test_a_worker_leaves_and_comes_back_with_what_it_was():
    fake = FakeRouter(key="k")
    there = router(fake, "k")
    assert [one.url for one in there.remove([P1], 0)] == [P1]
    assert P1 not in [one.url for one in there.workers() or []]
    assert [one.url for one in there.add([Worker(P1, "prefill", 8999), Worker(D0, "decode")], 0)] == [P1]
    assert fake.posted == [{"url": P1, "worker_type": "prefill", "bootstrap_port": 8999, "api_key": "k"}]


def test_a_drain_ends_when_the_worker_has_no_request_left():
    fake = FakeRouter()
    fake.loads[D0] = [3, 1, 0]
    assert router(fake).drain([D0], 60) == {}
    assert fake.loads[D0] == [0]


def test_a_drain_is_bounded_and_tells_what_is_left():
    fake = FakeRouter()
    fake.loads[D0] = [2]
    assert router(fake).drain([D0, D1], 0) == {D0: 2}


def test_the_last_healthy_worker_of_a_kind_is_not_taken_out():
    fake = FakeRouter()
    next(one for one in fake.workers.values() if one["url"] == D1)["is_healthy"] = False
    with pytest.raises(RouterError, match=f"no healthy decode worker besides {D0}"):
        router_workers.change(router(fake), options(workers=[{"url": D0}], state="absent", spare=True), True)
    assert len(fake.workers) == 4
    # Where the interruption was announced, it is.
    done = router_workers.change(router(fake), options(workers=[{"url": D0}], state="absent"), True)
    assert done["names"] == [D0]
    assert len(fake.workers) == 3


def test_check_mode_tells_and_changes_nothing():
    fake = FakeRouter()
    done = router_workers.change(router(fake), options(workers=[{"url": D0}], state="absent"), False)
    assert (done["changed"], done["names"], len(fake.workers)) == (True, [D0], 4)
    new = [{"url": "http://192.0.2.23:8000", "kind": "decode"}]
    done = router_workers.change(router(fake), options(workers=new, state="present"), False)
    assert (done["changed"], len(fake.workers)) == (True, 4)


def test_what_is_there_already_is_no_change():
    fake = FakeRouter()
    wanted = [{"url": P0, "kind": "prefill", "bootstrap": 8998}, {"url": D0, "kind": "decode"}]
    done = router_workers.change(router(fake), options(workers=wanted, state="present"), True)
    assert (done["changed"], fake.posted) == (False, [])


def test_a_worker_that_the_router_does_not_find_healthy_is_told():
    fake = FakeRouter(healthy=False)
    router(fake).remove([D1], 0)
    with pytest.raises(RouterError, match=f"has not found healthy {D1}"):
        router(fake).add([Worker(D1, "decode")], 0)


def test_mini_lb_tells_nothing_and_nothing_is_changed():
    there = Router(URL, None, lambda *args, **kwargs: reply(404), lambda seconds: None)
    done = router_workers.change(there, options(workers=[{"url": D0}], state="absent"), True)
    assert (done["supported"], done["changed"]) == (False, False)


def test_a_wrong_key_and_silence_are_told_in_words():
    with pytest.raises(RouterError, match="refuses the API key"):
        router(FakeRouter(key="k"), "other").workers()
    silent = Router(URL, None, lambda *args, **kwargs: Reply(0, "", "connection refused", 0.0))
    with pytest.raises(RouterError, match="did not accept GET /workers: connection refused"):
        silent.workers()


def test_to_look_is_to_be_told_whatever_there_is_to_see():
    assert [one["url"] for one in router_api.listed(router(FakeRouter()))["workers"]] == [P0, P1, D0, D1]
    assert router_api.listed(Router(URL, None, lambda *args, **kwargs: reply(404)))["supported"] is False
    silent = Router(URL, None, lambda *args, **kwargs: Reply(0, "", "connection refused", 0.0))
    assert "connection refused" in router_api.listed(silent)["error"]


@pytest.mark.parametrize(
    ("body", "requests"),
    [
        ([{"num_reqs": 2, "num_waiting_reqs": 1}, {"num_reqs": 0, "num_waiting_reqs": 0}], 3),
        ({"loads": [{"num_running_reqs": 2, "num_waiting_reqs": 0}]}, 2),
        ([], 0),
        (None, None),
        ({"error": "Unauthorized"}, None),
    ],
)
def test_the_load_of_an_engine(body, requests):
    assert requests_of(body) == requests


def test_kinds_that_would_be_left_without_a_worker():
    workers = [
        Worker(D0, "decode", healthy=True),
        Worker(D1, "decode", healthy=True),
        Worker(P0, "prefill", healthy=True),
    ]
    assert alone(workers, [D0]) == []
    assert alone(workers, [D0, P0]) == ["prefill"]
    assert alone(workers, [D0, D1, P0]) == ["decode", "prefill"]


@pytest.mark.parametrize("given", [{}, {"url": "tcp://a:1"}, {"url": D0, "kind": "router"}])
def test_what_is_no_worker_is_refused(given):
    with pytest.raises(RouterError):
        worker(given)
