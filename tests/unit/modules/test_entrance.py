# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A completion is text that ended as it should; everything else is asked again, or told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils.entrance import (
    Question,
    ask_until,
    failure,
    router_view,
    understand,
)
from ansible_collections.ascend.sglang.plugins.module_utils.http_probe import Reply

GOOD = {"text": " Paris", "meta_info": {"finish_reason": {"type": "length", "length": 8}}}
URL = "http://192.0.2.31:6688"


def reply(status: int, body: Any = None, error: str = "") -> Reply:
    return Reply(status, "" if body is None else body if isinstance(body, str) else json.dumps(body), error, 0.01)


def question(endpoint: str = "generate", timeout: float = 100.0) -> Question:
    return Question(URL, endpoint, "The capital of France is", 8, "default", timeout, 10.0)


class Entrance:
    """Gives these replies one after the other, the last one for ever."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> Reply:
        self.asked.append(args)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def test_it_asks_until_an_answer_comes():
    entrance = Entrance(
        reply(0, error="connection refused"), reply(503, {"error": {"message": "no workers"}}), reply(200, GOOD)
    )
    pauses: list[float] = []
    outcome = ask_until(question(), "key", entrance, pauses.append)
    assert (outcome.answered, outcome.text, outcome.finish_reason) == (True, " Paris", "length")
    assert (outcome.attempts, outcome.last_error) == (3, "503: no workers")
    assert pauses == [0.5, 1.0]
    url, limit, body, key = entrance.asked[0]
    assert (url, limit, key) == (f"{URL}/generate", 10.0, "key")
    assert body == {
        "text": "The capital of France is",
        "sampling_params": {"temperature": 0, "max_new_tokens": 8},
    }


def test_the_limit_ends_it():
    outcome = ask_until(question(timeout=0.1), None, Entrance(reply(500, "Internal Server Error")), pytest.fail)
    assert (outcome.answered, outcome.attempts, outcome.last_error) == (False, 1, "500: Internal Server Error")


@pytest.mark.parametrize(
    ("view", "advice", "ends"),
    [
        ("", "", "connection refused."),
        ("Its /readiness: 503 (no workers).", "", "connection refused. Its /readiness: 503 (no workers)."),
        ("", "--limit leaves out m2", "connection refused. --limit leaves out m2."),
    ],
)
def test_without_an_answer_all_that_is_known_is_told(view, advice, ends):
    entrance = Entrance(reply(0, error="connection refused"))
    outcome = ask_until(question(timeout=0.1), None, entrance, pytest.fail)
    assert failure(question(), outcome, view, advice) == (
        f"no completion from {URL}/generate after 1 attempt in 0 s: {ends}"
    )


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_it_at_once(status):
    outcome = ask_until(question(), "wrong", Entrance(reply(status, {"error": "Unauthorized"})), pytest.fail)
    assert not outcome.answered
    assert "API key" in outcome.last_error


@pytest.mark.parametrize(
    ("endpoint", "body", "says"),
    [
        ("generate", {"text": "", "meta_info": {"finish_reason": {"type": "stop"}}}, "without any text"),
        ("generate", {"text": "x", "meta_info": {"finish_reason": {"type": "abort"}}}, "ended with abort"),
        ("generate", {"text": "x", "meta_info": {"finish_reason": None}}, "no reason given"),
        ("generate", {"text": "x"}, "no reason given"),
        ("generate", [], "no JSON object"),
        ("generate", "<html>", "no JSON object: <html>"),
        ("chat", {"choices": []}, "no reason given"),
        ("chat", {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}, "without any text"),
        ("completions", {"choices": [{"text": "x", "finish_reason": "abort"}]}, "ended with abort"),
    ],
)
def test_a_200_is_not_yet_an_answer(endpoint, body, says):
    assert says in understand(endpoint, reply(200, body))[2]


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        ("generate", GOOD),
        ("chat", {"choices": [{"message": {"content": " Paris"}, "finish_reason": "stop"}]}),
        # A reasoning model that spent its few tokens on thinking.
        (
            "chat",
            {"choices": [{"message": {"content": None, "reasoning_content": " Paris"}, "finish_reason": "length"}]},
        ),
        ("completions", {"choices": [{"text": " Paris", "finish_reason": "length"}]}),
    ],
)
def test_answers(endpoint, body):
    text, finish, problem = understand(endpoint, reply(200, body))
    assert (text, problem) == (" Paris", "")
    assert finish in ("stop", "length")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"error": {"message": "No available servers"}}, "503: No available servers"),
        ({"object": "error", "message": "KVTransferError"}, "503: KVTransferError"),
        ({"detail": "Not Found"}, "503: Not Found"),
        ({"error": "plain"}, "503: plain"),
        ("Internal Server Error", "503: Internal Server Error"),
        (None, "503: no explanation"),
    ],
)
def test_complaints_in_every_shape(body, says):
    assert understand("generate", reply(503, body))[2] == says


def test_what_a_router_says_of_itself():
    worker = {"url": "http://192.0.2.11:8000", "worker_type": "prefill", "is_healthy": False}
    entrance = Entrance(
        reply(503, {"status": "not ready", "reason": "insufficient healthy workers"}), reply(200, {"workers": [worker]})
    )
    assert router_view(URL, None, entrance) == (
        "Its /readiness: 503 (insufficient healthy workers). "
        "Its /workers: http://192.0.2.11:8000 (prefill, not healthy)."
    )


def test_a_router_without_workers_says_none():
    entrance = Entrance(reply(503, {"status": "not ready"}), reply(200, {"workers": []}))
    assert router_view(URL, None, entrance) == "Its /readiness: 503 (not ready). Its /workers: none."


@pytest.mark.parametrize("status", [0, 404])
def test_others_say_nothing(status):
    assert router_view(URL, None, Entrance(reply(status))) == ""
