# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a cluster's entrance for an answer, and understanding what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.http_probe import Reply, request

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 5.0
_VIEW_SECONDS = 3.0

# Asking again changes nothing: the key is wrong, or the request is one that this server does not take.
_FINAL = {401: "it wants an API key, or another one", 403: "it refuses this API key"}

PATHS = {"generate": "/generate", "chat": "/v1/chat/completions", "completions": "/v1/completions"}

Ask = Callable[..., Reply]


@dataclass(frozen=True)
class Question:
    """What to ask, where and for how long."""

    url: str
    endpoint: str
    prompt: str
    max_new_tokens: int
    model: str
    timeout: float
    request_timeout: float

    def body(self) -> dict[str, Any]:
        if self.endpoint == "generate":
            return {
                "text": self.prompt,
                "sampling_params": {"temperature": 0, "max_new_tokens": self.max_new_tokens},
            }
        common = {"model": self.model, "max_tokens": self.max_new_tokens, "temperature": 0}
        if self.endpoint == "chat":
            return {**common, "messages": [{"role": "user", "content": self.prompt}]}
        return {**common, "prompt": self.prompt}


@dataclass(frozen=True)
class Outcome:
    """How it went. last_error is empty when the first attempt succeeded; text is empty when none did."""

    text: str
    finish_reason: str
    attempts: int
    latency: float
    seconds: float
    last_error: str
    answered: bool


def ask_until(
    question: Question, key: str | None, ask: Ask = request, sleep: Callable[[float], None] = time.sleep
) -> Outcome:
    """Ask again and again until an answer comes, the limit passes, or asking again is of no use.

    A router needs time to see its workers, and workers to see each other.
    """
    began = time.monotonic()
    pause, attempts, error, latency = _FIRST_PAUSE, 0, "", 0.0
    while True:
        attempts += 1
        left = max(question.timeout - (time.monotonic() - began), 1.0)
        reply = ask(question.url + PATHS[question.endpoint], min(question.request_timeout, left), question.body(), key)
        latency = reply.seconds
        text, finish, problem = understand(question.endpoint, reply)
        seconds = time.monotonic() - began
        if not problem:
            return Outcome(text, finish, attempts, latency, seconds, error, True)
        error = problem
        if reply.status in _FINAL or seconds + pause > question.timeout:
            return Outcome("", "", attempts, latency, seconds, error, False)
        sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def failure(question: Question, outcome: Outcome, view: str, advice: str) -> str:
    """What to say of a question without an answer, with what the router says of itself and what the caller knows."""
    times = f"{outcome.attempts} attempt{'s' if outcome.attempts > 1 else ''} in {outcome.seconds:.0f} s"
    asked = question.url + PATHS[question.endpoint]
    story = f"no completion from {asked} after {times}: {outcome.last_error.rstrip('.')}."
    return " ".join(filter(None, [story, view, advice and f"{advice}."]))


def understand(endpoint: str, reply: Reply) -> tuple[str, str, str]:
    """The answer's text, why it ended, and what is wrong with it (empty when it is an answer)."""
    if reply.status == 0:
        return "", "", reply.error
    if reply.status != 200:
        return "", "", f"{reply.status}: {_FINAL.get(reply.status) or _complaint(reply)}"
    body = reply.json()
    if not isinstance(body, dict):
        return "", "", f"200, but no JSON object: {_short(reply.text)}"
    text, finish = _of_generate(body) if endpoint == "generate" else _of_openai(body)
    if finish not in ("stop", "length"):
        return "", "", f"200, but it ended with {finish or 'no reason given'}: {_short(reply.text)}"
    if not text:
        return "", "", f"200, but without any text: {_short(reply.text)}"
    return text, finish, ""


def _of_generate(body: dict[str, Any]) -> tuple[str, str]:
    meta = body.get("meta_info")
    reason = meta.get("finish_reason") if isinstance(meta, dict) else None
    return str(body.get("text") or ""), str(reason.get("type") or "") if isinstance(reason, dict) else ""


def _of_openai(body: dict[str, Any]) -> tuple[str, str]:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    # A reasoning model may have spent its few tokens on thinking.
    spoken = (message.get("content") or message.get("reasoning_content")) if isinstance(message, dict) else None
    return str(spoken or choice.get("text") or ""), str(choice.get("finish_reason") or "")


def _complaint(reply: Reply) -> str:
    """The message in an error's body, in any of the shapes that servers and routers give it."""
    body = reply.json()
    if isinstance(body, dict):
        error = body.get("error")
        found = error.get("message") if isinstance(error, dict) else error or body.get("message") or body.get("detail")
        if found:
            return _short(str(found))
    return _short(reply.text) or "no explanation"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 300 else flat[:297] + "..."


def router_view(url: str, key: str | None, ask: Ask = request) -> str:
    """What a router itself says of its readiness and its workers, for a message. Empty where nobody says anything."""
    readiness = ask(url + "/readiness", _VIEW_SECONDS, None, key)
    if readiness.status in (0, 404):  # out of reach; or a mini-lb or an engine, which have none
        return ""
    body = readiness.json()
    state = readiness.status if not isinstance(body, dict) else body.get("reason") or body.get("status")
    parts = [f"Its /readiness: {readiness.status} ({state})."]
    workers = ask(url + "/workers", _VIEW_SECONDS, None, key).json()
    if isinstance(workers, dict) and isinstance(workers.get("workers"), list):
        seen = [
            f"{one.get('url')} ({one.get('worker_type', '?')}, {'healthy' if one.get('is_healthy') else 'not healthy'})"
            for one in workers["workers"]
            if isinstance(one, dict)
        ]
        parts.append(f"Its /workers: {'; '.join(seen) or 'none'}.")
    return " ".join(parts)
