# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients, run on a host: each asks the entrance again and again, every other one for a streamed answer.

Arguments: URL, number of clients. Prints a line of JSON for each request: when it began and ended, and what was wrong
with it, if anything. Ends when its standard input does.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from urllib.parse import urlsplit

LIMIT_SECONDS = 15.0
PAUSE_SECONDS = 0.25
TOKENS = 8


def ask(url: str, prompt: str, stream: bool) -> str:
    """What is wrong with an answer; empty where nothing is."""
    parts = urlsplit(url)
    body = {
        "model": "default",
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": TOKENS,
        "stream": stream,
    }
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LIMIT_SECONDS)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    if answer.status != 200:
        return f"{answer.status} {text[:120]}"
    if stream:
        return "" if text.rstrip().endswith("data: [DONE]") else f"stream without an end: {text[-120:]}"
    return "" if json.loads(text)["choices"][0]["message"]["content"] else "an empty answer"


def client(url: str, number: int) -> None:
    for turn in range(10**9):
        began = time.time()
        wrong = ask(url, f"Question {turn} of client {number}", stream=bool(number % 2))
        line = json.dumps({"began": began, "ended": time.time(), "wrong": wrong})
        # In one piece, beside those of the other clients.
        os.write(1, line.encode() + b"\n")
        time.sleep(PAUSE_SECONDS)


def main() -> None:
    for number in range(int(sys.argv[2])):
        threading.Thread(target=client, args=(sys.argv[1], number), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
