# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose health is asked, and where."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import health, readiness
from ansible_collections.ascend.sglang.plugins.module_utils.http_probe import Reply
from ansible_collections.ascend.sglang.plugins.module_utils.listeners import Listener
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import Watched
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState


@pytest.fixture
def asked(monkeypatch):
    """What was asked, in order. Nothing has /readiness."""
    urls: list[str] = []

    def request(url, timeout):
        urls.append(url)
        return Reply(404 if url.endswith("/readiness") else 200, "", "", 0.0)

    monkeypatch.setattr(health, "request", request)
    return urls


def test_a_router_without_readiness_is_asked_for_its_health(asked):
    assert health.ask("router", "http://127.0.0.1:6688").status == 200
    assert asked == ["http://127.0.0.1:6688/readiness", "http://127.0.0.1:6688/health"]


def test_what_speaks_http_is_asked_and_nothing_else(asked):
    services = {
        "sglang-decode": {"role": "decode", "url": "http://192.0.2.21:8001"},
        "sglang-store": {"role": "store", "url": "tcp://192.0.2.31:24670"},
        "sglang-other": {"role": "decode", "url": ""},
    }
    with ThreadPoolExecutor() as pool:
        begun = health.begin(services, pool)
    assert {unit: answer().status for unit, answer in begun.answers.items()} == {"sglang-decode": 200}
    assert asked == ["http://192.0.2.21:8001/health"]


@pytest.mark.parametrize(
    ("state", "holder", "ready"),
    [("running", "sglang-decode", True), ("running", "another", False), ("dead", "sglang-decode", False)],
)
def test_an_answer_that_was_begun_counts_for_what_runs_and_holds_its_port(asked, monkeypatch, state, holder, ready):
    """And nobody is asked again."""
    monkeypatch.setattr(
        readiness.listeners, "listening", lambda ports: [Listener("0.0.0.0", 8001, 7, "python", holder)]
    )
    monkeypatch.setattr(readiness, "journal", lambda *_unused, **_also: [])
    active = "active" if state == "running" else "failed"
    there = UnitState("sglang-decode", "loaded", active, state, enabled=True, pid=7)
    watched = Watched("sglang-decode", "decode", "http://192.0.2.21:8001")
    answers = {"sglang-decode": lambda: Reply(200, "", "", 0.0)}
    (status,) = readiness.look([watched], {}, 1.0, 0, states={there.unit: there}, answers=answers)
    assert status.ready == ready
    assert asked == []


def test_what_has_started_since_has_not_answered():
    begun = health.Begun(100.0, dict.fromkeys("abcd", lambda: Reply(200, "", "", 0.0)))
    assert list(begun.of({"a": 99.0, "b": 100.5, "c": 0.0})) == ["a"]
