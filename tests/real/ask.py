# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on the entrance's host: asks the same things in every way that there is, some at once, greedily.

Its standard input is a JSON object: url, prompts, tokens, limit (seconds for one request). Prints
{"answers": {PROMPT: {WAY: TEXT}}} or {"failure": TEXT}.
"""

from __future__ import annotations

import http.client
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

WAYS = ("/generate", "/v1/completions", "/v1/chat/completions")
CLIENTS = 3


class AskError(Exception):
    """A request that had no answer, or a wrong one."""


def main() -> None:
    task = json.load(sys.stdin)
    asked = [(prompt, way, stream) for prompt in task["prompts"] for way in WAYS for stream in (False, True)]
    answers: dict = {prompt: {} for prompt in task["prompts"]}
    try:
        with ThreadPoolExecutor(CLIENTS) as pool:
            for (prompt, way, stream), text in zip(asked, pool.map(lambda one: ask(task, *one), asked), strict=True):
                answers[prompt][f"{way}{' streamed' * stream}"] = text
    except AskError as failure:
        print(json.dumps({"failure": str(failure)}))
    else:
        print(json.dumps({"answers": answers}))


def ask(task: dict, prompt: str, way: str, stream: bool) -> str:
    body: dict = {"model": "tiny", "stream": stream, "temperature": 0, "max_tokens": task["tokens"]}
    if way == "/generate":
        parameters = {"temperature": 0, "max_new_tokens": task["tokens"]}
        body = {"text": prompt, "stream": stream, "sampling_params": parameters}
    elif way == "/v1/completions":
        body["prompt"] = prompt
    else:
        body["messages"] = [{"role": "user", "content": prompt}]
    status, text = post(task["url"], way, body, task["limit"])
    if status != 200:
        raise AskError(f"{way}: {status} {text[:300]}")
    try:
        return streamed(way, text) if stream else content(way, json.loads(text))
    except (ValueError, LookupError, TypeError) as error:
        raise AskError(f"{way}: {type(error).__name__} {error}: {text[-300:]}") from error


def post(url: str, path: str, body: dict, limit: float) -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=limit)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise AskError(f"{path}: {type(error).__name__} {error}") from error
    finally:
        connection.close()


def content(way: str, answer: dict) -> str:
    if way == "/generate":
        return answer["text"]
    choice = answer["choices"][0]
    return choice["text"] if way == "/v1/completions" else choice["message"]["content"]


def streamed(way: str, text: str) -> str:
    events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    if events[-1] != "[DONE]":
        raise ValueError("a stream without an end")
    parts = [json.loads(event) for event in events[:-1]]
    if way == "/generate":
        # Each event has all of the text so far.
        return parts[-1]["text"]
    choices = [part["choices"][0] for part in parts if part["choices"]]
    if way == "/v1/completions":
        return "".join(choice["text"] for choice in choices)
    return "".join(choice["delta"].get("content") or "" for choice in choices)


if __name__ == "__main__":
    main()
