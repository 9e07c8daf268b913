# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on the entrance's host: waits until all heads are ready, asks many things at once, prints what came of it.

Its argument is a JSON mapping: heads and entrance (URLs), prompts, limit (seconds until all heads are ready). Prints
{"failure": TEXT} or {"answers": {PROMPT: TEXT}}. Ends when its standard input does.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def main() -> None:
    threading.Thread(target=lambda: os._exit(sys.stdin.read() and 1), daemon=True).start()
    task = json.loads(sys.argv[1])
    silent = wait([*task["heads"], task["entrance"]], time.monotonic() + task["limit"])
    result = {"failure": silent} if silent else ask(task["entrance"], task["prompts"])
    print(json.dumps(result), flush=True)
    os._exit(0)


def wait(urls: list[str], deadline: float) -> str | None:
    """Wait for 200 on /health of each; which one did not in time."""
    for url in urls:
        while (status := health(url)) != "200":
            if time.monotonic() > deadline:
                return f"not ready in time: {url} ({status})"
            time.sleep(0.05)
    return None


def health(url: str) -> str:
    try:
        with OPENER.open(f"{url}/health", timeout=1) as answer:
            return str(answer.status)
    except urllib.error.HTTPError as error:
        return str(error.code)
    except OSError as error:
        return str(error)


def ask(entrance: str, prompts: list[str]) -> dict:
    with ThreadPoolExecutor(len(prompts)) as pool:
        answers = dict(zip(prompts, pool.map(lambda prompt: complete(entrance, prompt), prompts), strict=True))
    failures = [text for good, text in answers.values() if not good]
    if failures:
        return {"failure": f"{len(failures)} of {len(prompts)} completions failed: {failures[0]}"}
    return {"answers": {prompt: text for prompt, (_unused, text) in answers.items()}}


def complete(entrance: str, prompt: str) -> tuple[bool, str]:
    body = {"model": "default", "messages": [{"role": "user", "content": prompt}], "max_tokens": 8}
    request = urllib.request.Request(
        f"{entrance}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with OPENER.open(request, timeout=10) as answer:
            return True, json.load(answer)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        return False, f"{error.code} {error.read().decode(errors='replace')[:200]}"
    except (OSError, ValueError, LookupError) as error:
        return False, f"{type(error).__name__}: {error}"


main()
