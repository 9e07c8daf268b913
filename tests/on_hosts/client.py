# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bounded load of real requests, every one accounted for. Runs on a test host, with its python and nothing else.

    python3 client.py <<<'{"url": ..., "key": ..., "threads": 4, "tokens": 12, "pause": 0.1}'

Asks until a line comes on stdin after the first, or stdin ends; then answers in flight are waited for, and one JSON
object is printed: `requests`, each with `begin` and `end` (seconds since 1970), `stream`, `status` and `wrong` (empty
when the answer was whole and right).
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

PROMPTS = ("The capital of France is", "List three rivers", "Once upon a time")


class Load:
    """Threads that ask."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.address = urlsplit(told["url"])
        self.over = threading.Event()
        self.answers: dict[str, str] = {}
        self.requests: list[dict[str, Any]] = []

    def run(self) -> None:
        threads = [threading.Thread(target=self.ask, args=(number,)) for number in range(self.told["threads"])]
        for thread in threads:
            thread.start()
        sys.stdin.readline()
        self.over.set()
        for thread in threads:
            thread.join()

    def ask(self, number: int) -> None:
        while not self.over.is_set():
            number += 1
            stream, prompt = bool(number % 2), PROMPTS[number % len(PROMPTS)]
            one: dict[str, Any] = {"begin": time.time(), "stream": stream, "status": 0, "wrong": "never answered"}
            self.requests.append(one)
            try:
                one["wrong"] = self.wrong(one, prompt, stream)
            except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
                one["wrong"] = f"{type(error).__name__}: {error}"
            one["end"] = time.time()
            time.sleep(self.told["pause"])

    def wrong(self, one: dict[str, Any], prompt: str, stream: bool) -> str:
        """What is wrong with the answer; empty when nothing is."""
        tokens = self.told["tokens"]
        body = {"text": prompt, "stream": stream, "sampling_params": {"temperature": 0, "max_new_tokens": tokens}}
        headers = {"Content-Type": "application/json"}
        if self.told.get("key"):
            headers["Authorization"] = f"Bearer {self.told['key']}"
        connection = http.client.HTTPConnection(self.address.hostname or "", self.address.port, timeout=60)
        try:
            connection.request("POST", "/generate", json.dumps(body), headers)
            answer = connection.getresponse()
            one["status"] = answer.status
            text = answer.read().decode()
        finally:
            connection.close()
        if one["status"] != 200:
            return text[:300] or "no body"
        if stream:
            events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
            if not events or events[-1] != "[DONE]":
                return f"the stream ended early, after {len(events)} events"
            last = json.loads(events[-2])
        else:
            last = json.loads(text)
        if last["meta_info"]["completion_tokens"] != tokens:
            return f"{last['meta_info']['completion_tokens']} tokens of {tokens}"
        # The stand-in's words depend on the prompt alone, whoever computes them.
        if self.answers.setdefault(prompt, last["text"]) != last["text"]:
            return f"another answer to {prompt!r}: {last['text']!r}"
        return ""


def main() -> None:
    """Ask, and account for it."""
    load = Load(json.loads(sys.stdin.readline()))
    load.run()
    json.dump({"requests": load.requests}, sys.stdout)


if __name__ == "__main__":
    main()
