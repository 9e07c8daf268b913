# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One request, sent and timed: HTTP by hand, so that every token's time is the time at which its bytes came."""

from __future__ import annotations

import asyncio
import json
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PATHS = {
    "sglang": "/generate",
    "sglang-native": "/generate",
    "sglang-oai": "/v1/completions",
    "vllm": "/v1/completions",
    "lmdeploy": "/v1/completions",
    "sglang-oai-chat": "/v1/chat/completions",
    "vllm-chat": "/v1/chat/completions",
    "lmdeploy-chat": "/v1/chat/completions",
}
READ_LIMIT = 10 * 1024**2


@dataclass
class Output:
    """What became of a request; times in seconds."""

    prompt_len: int = 0
    success: bool = False
    text: str = ""
    latency: float = 0.0
    ttft: float = 0.0
    itl: list = field(default_factory=list)
    output_len: int = 0
    error: str = ""
    start: float = 0.0


def auth_headers():
    """The key, as the real one takes it from its environment."""
    key = os.environ.get("OPENAI_API_KEY")
    if key:
        return {"Authorization": f"Bearer {key}"}
    return {"Authorization": os.environ["API_KEY"]} if os.environ.get("API_KEY") else {}


def get(url, timeout=5):
    """Status and JSON of a GET. It heeds http_proxy, as the real one does. OSError where nobody answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=auth_headers()), timeout=timeout) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, None
    except ValueError:
        return 200, None


def body_of(prompt, args, model):
    """The request's body for the backend."""
    extra = json.loads(args.extra_request_body) if args.extra_request_body else {}
    if PATHS[args.backend] == "/generate":
        sampling = {
            "temperature": args.temperature,
            "max_new_tokens": prompt.output_len,
            "ignore_eos": not args.disable_ignore_eos,
        }
        body = {"text": prompt.text, "sampling_params": sampling, "stream": not args.disable_stream}
        body.update(lora_path=None, return_logprob=args.return_logprob, logprob_start_len=args.logprob_start_len)
        if prompt.images:
            body["image_data"] = prompt.images
        return {**body, **extra}
    common = {
        "model": model,
        "temperature": args.temperature,
        "stream": not args.disable_stream,
        "ignore_eos": not args.disable_ignore_eos,
    }
    if PATHS[args.backend] == "/v1/completions":
        return {**common, "prompt": prompt.text, "max_tokens": prompt.output_len, **extra}
    parts = [{"type": "image_url", "image_url": {"url": image}} for image in prompt.images]
    content = [*parts, {"type": "text", "text": prompt.text}] if parts else prompt.text
    return {
        **common,
        "messages": [{"role": "user", "content": content}],
        "max_completion_tokens": prompt.output_len,
        **extra,
    }


async def ask(prompt, args, base_url, model):
    """Send a request and follow its answer."""
    output = Output(prompt.prompt_len, start=time.perf_counter())
    address = urlsplit(base_url)
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port or 80, limit=READ_LIMIT)
        try:
            await _exchange(reader, writer, prompt, args, address, model, output)
        finally:
            writer.close()
    except (OSError, ValueError, EOFError, LookupError) as error:
        output.success = False
        output.error = f"Traceback (most recent call last):\n{type(error).__name__}: {error}\n"
    return output


async def _exchange(reader, writer, prompt, args, address, model, output):
    data = json.dumps(body_of(prompt, args, model)).encode()
    headers = {"Host": address.netloc, "Content-Type": "application/json", "Content-Length": str(len(data))}
    headers.update(auth_headers(), Connection="close")
    if prompt.routing_key:
        headers["X-SMG-Routing-Key"] = prompt.routing_key
    for header in args.header or []:
        name, _equals, value = header.partition("=")
        headers[name] = value
    lines = [f"POST {PATHS[args.backend]} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + data)
    await writer.drain()
    status = (await reader.readline()).decode().split(None, 2)
    if len(status) < 2:
        raise EOFError("Server disconnected")
    answered = {}
    while True:
        line = (await reader.readline()).decode().strip()
        if not line:
            break
        name, _colon, value = line.partition(":")
        answered[name.lower()] = value.strip()
    pieces = _chunks(reader) if answered.get("transfer-encoding", "").lower() == "chunked" else _rest(reader, answered)
    if status[1] != "200":
        text = b"".join([piece async for piece in pieces]).decode("utf-8", "replace")
        output.error = f"{status[2].strip() if len(status) > 2 else ''}: {text}"
        return
    if args.disable_stream:
        _whole(json.loads(b"".join([piece async for piece in pieces])), output)
        return
    follow = _Native(prompt, output) if PATHS[args.backend] == "/generate" else _OpenAi(prompt, output)
    held = b""
    async for piece in pieces:
        held += piece
        *lines, held = held.split(b"\n")
        for line in lines:
            event = line.strip().decode().removeprefix("data: ") if line.strip() else ""
            if event:
                output.latency = time.perf_counter() - output.start
            if event and event != "[DONE]":
                follow.event(json.loads(event))
    follow.done()


async def _chunks(reader):
    while True:
        line = await reader.readline()
        if not line:
            raise EOFError("Response payload is not completed")
        length = int(line.split(b";")[0], 16)
        if not length:
            return
        yield await reader.readexactly(length)
        await reader.readline()


async def _rest(reader, headers):
    if "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
        return
    while True:
        piece = await reader.read(65536)
        if not piece:
            return
        yield piece


def _whole(body, output):
    output.latency = output.ttft = time.perf_counter() - output.start
    output.success = True
    if "choices" in body:
        choice = body["choices"][0]
        output.text = choice.get("text") or choice["message"]["content"]
        output.output_len = body["usage"]["completion_tokens"]
    else:
        output.text, output.output_len = body["text"], body["meta_info"]["completion_tokens"]


class _Native:
    """The events of /generate: each has the whole text so far."""

    def __init__(self, prompt, output):
        self.output, self.asked = output, prompt.output_len
        self.seen, self.last = 0, output.start
        self.tokens = prompt.output_len

    def event(self, data):
        if not data.get("text"):
            return
        now = time.perf_counter()
        self.output.text, self.tokens = data["text"], data["meta_info"]["completion_tokens"]
        if not self.output.ttft:
            self.output.ttft = now - self.output.start
        else:
            new = self.tokens - self.seen
            if not new:
                return
            self.output.itl += [(now - self.last) / new] * new
        self.last, self.seen = now, self.tokens

    def done(self):
        # As the real one: a stream that breaks off has succeeded, with what came.
        self.output.success, self.output.output_len = True, self.tokens


class _OpenAi:
    """The events of the OpenAI endpoints: each has a piece of text."""

    def __init__(self, prompt, output):
        self.output, self.tokens, self.last = output, prompt.output_len, output.start

    def event(self, data):
        self.tokens = (data.get("usage") or {}).get("completion_tokens", self.tokens)
        choice = (data.get("choices") or [{}])[0]
        delta = choice.get("delta") or {}
        content = choice.get("text") or (delta.get("reasoning_content") or "") + (delta.get("content") or "")
        if not content:
            return
        now = time.perf_counter()
        if not self.output.ttft:
            self.output.ttft = now - self.output.start
        else:
            self.output.itl.append(now - self.last)
        self.last = now
        self.output.text += content

    def done(self):
        self.output.success, self.output.output_len = True, self.tokens
