# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on a server's host: asks it many things, right and wrong ones, and prints the shape of each answer as JSON.

    python3 compare.py URL [REQUEST...]

Without REQUEST all. A shape is what stays of an answer without the model's words, numbers and times: status, type of
the content, and the keys and types of the body; of a stream those of its first and last event, and how it ends.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
from urllib.parse import urlsplit

CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}]}
GREEDY = {"temperature": 0, "max_new_tokens": 3}
TEXT = {"text": "hello", "sampling_params": GREEDY}
COMPLETION = {"model": "tiny", "prompt": "hello", "max_tokens": 3, "temperature": 0}
USAGE = {"stream": True, "stream_options": {"include_usage": True}}

REQUESTS = {
    **{
        f"GET {path}": None
        for path in (
            *("/", "/health", "/health_generate", "/ready", "/readiness", "/ping", "/metrics", "/nope"),
            *("/model_info", "/get_model_info", "/server_info", "/get_server_info"),
            *("/v1/models", "/v1/models/nope", "/get_load", "/v1/loads", "/workers", "/generate"),
        )
    },
    "POST /generate": TEXT,
    "POST /generate several": {**TEXT, "text": ["hello", "world"]},
    "POST /generate ids": {"input_ids": [10, 11, 12], "sampling_params": GREEDY},
    "POST /generate logprobs": {**TEXT, "return_logprob": True},
    "POST /generate stream": {**TEXT, "stream": True},
    "POST /generate empty": {},
    "POST /v1/completions": COMPLETION,
    "POST /v1/completions stream": {**COMPLETION, **USAGE},
    "POST /v1/chat/completions": {**CHAT, "max_tokens": 3, "temperature": 0},
    "POST /v1/chat/completions stream": {**CHAT, "max_tokens": 3, "temperature": 0, **USAGE},
    "POST /v1/chat/completions without messages": {"model": "tiny"},
    "POST /v1/chat/completions with no messages": {"model": "tiny", "messages": []},
    "POST /v1/chat/completions torn": b'{"model":',
    "POST /flush_cache": None,
    "POST /abort_request": {"rid": "none"},
    # These leave something behind that no drain of 0.5.13 gets rid of.
    "POST /generate too long": {"input_ids": [10] * 5000, "sampling_params": GREEDY},
    "POST /generate unknown parameter": {"text": "a", "sampling_params": {**GREEDY, "nope": 1}},
    "POST /v1/chat/completions too long": {**CHAT, "messages": [{"role": "user", "content": "q z " * 3000}]},
    "POST /v1/chat/completions too many tokens": {**CHAT, "max_tokens": 100000},
}
# What the model, or what else runs, decides, and not the engine.
LOOSE = {"matched_stop", "matched", "cached_tokens_details", "queue_time", "architectures", "model_type"}
# Of /server_info only what somebody reads.
INFO = {
    "version", "disaggregation_mode", "status", "model_path", "served_model_name", "tokenizer_path", "host", "port",
    "tp_size", "dp_size", "nnodes", "node_rank", "max_total_num_tokens", "max_req_input_len", "internal_states",
    "load_balance_method", "disaggregation_bootstrap_port",
}  # fmt: skip


def main() -> None:
    url = urlsplit(sys.argv[1])
    names = sys.argv[2:] or list(REQUESTS)
    print(json.dumps({name: seen(url.hostname or "", url.port or 80, name) for name in names}))


def seen(host: str, port: int, name: str) -> dict:
    method, path = name.split()[:2]
    body = REQUESTS[name]
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        answer = connection.getresponse()
        content, text = (answer.getheader("content-type") or "").partition(";")[0], answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return {"error": type(error).__name__}
    finally:
        connection.close()
    return {"status": answer.status, "type": content, "body": body_shape(path, content, text)}


def body_shape(path: str, content: str, text: str) -> object:
    if content == "text/event-stream":
        events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        ends = [shape(json.loads(event)) for event in (events[0], events[-2])] if len(events) > 1 else events
        return {"first and last": ends, "end": events[-1]}
    if path == "/metrics":
        return text.startswith("# ")
    try:
        value = json.loads(text)
    except ValueError:
        return words(text)
    if path.endswith("server_info") and isinstance(value, dict):
        value = {key: inner for key, inner in value.items() if key in INFO}
        value["internal_states"] = [{} for _state in value.get("internal_states", [])]
    return shape(value)


def shape(value: object, name: str = "") -> object:
    if name in LOOSE:
        return "any"
    if isinstance(value, dict):
        return {key: shape(inner, key) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        # Each kind once: how many there are and in which order depends on the model, and on the router's own order.
        kinds = {json.dumps(each, sort_keys=True): each for each in map(shape, value)}
        return [kinds[text] for text in sorted(kinds)]
    if isinstance(value, str):
        return words(value) if name in ("message", "error", "detail", "type", "object", "finish_reason") else "text"
    return value if isinstance(value, bool) or value is None else "number"


def words(text: str) -> str:
    """A message without its numbers, names and places."""
    return re.sub(r"'[0-9a-f]{32}'|/[\w./-]+\.py|line \d+|\d+|'ctx': {.*?}", "…", text)


if __name__ == "__main__":
    main()
