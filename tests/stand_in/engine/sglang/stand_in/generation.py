# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoints that answer prompts: the native one and the two of OpenAI's shape, whole or streamed."""

from __future__ import annotations

import itertools
import json
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from sglang.stand_in import answers, http, texts
from sglang.stand_in.engine import Job, RequestError

# In the order in which 0.5.23 lists them.
SAMPLING_FIELDS = [
    "max_new_tokens", "stop", "stop_token_ids", "stop_regex", "temperature", "top_p", "top_k", "min_p",
    "frequency_penalty", "presence_penalty", "repetition_penalty", "min_new_tokens", "n", "json_schema", "regex",
    "ebnf", "structural_tag", "ignore_eos", "skip_special_tokens", "spaces_between_special_tokens",
    "no_stop_trim", "stream_interval", "logit_bias", "sampling_seed", "custom_params",
]  # fmt: skip
NEWER_SAMPLING_FIELDS = [*SAMPLING_FIELDS, "beam_width", "watermark", "choice"]
SERVER_FILE = "/usr/local/lib/python3.11/site-packages/sglang/srt/entrypoints/http_server.py"
KINDS = {400: ("BadRequestError", "BAD_REQUEST"), 500: ("500", "INTERNAL_SERVER_ERROR")}


class Endpoint:
    """What the three have in common: from a request to jobs, from a job to an answer."""

    path = ""

    def __init__(self, engine):
        self.engine = engine

    def answer(self, request):
        """Answer one HTTP request."""
        try:
            body = json.loads(request.body)
            if not isinstance(body, dict):
                raise ValueError("Input should be a valid dictionary")
        except ValueError as error:
            position = getattr(error, "pos", 0)
            return self.invalid(
                {
                    "type": "json_invalid",
                    "loc": ("body", position),
                    "msg": "JSON decode error",
                    "input": {},
                    "ctx": {"error": getattr(error, "msg", str(error))},
                }
            )
        try:
            jobs = self.jobs(body)
            if isinstance(jobs, http.Response):
                return jobs
            for job in jobs:
                self.engine.admit(job)
            if body.get("stream"):
                return http.Response(content_type="text/event-stream; charset=utf-8", stream=self.events(jobs, body))
            return http.json_response(self.whole(self.results(jobs), body))
        except RequestError as error:
            return self.error(error)

    def results(self, jobs):
        """(job, tokens, finish reason) of each, all run at once."""
        if len(jobs) == 1:
            return [self._last(jobs[0])]
        with ThreadPoolExecutor(len(jobs)) as pool:
            return list(pool.map(self._last, jobs))

    def _last(self, job):
        # Only the last step counts, where the answer is not streamed.
        ids, reason = deque(self.engine.run(job), maxlen=1).pop()
        return job, ids, reason

    def invalid(self, detail):
        """A body that does not fit the schema; the text gives away the server's paths, as the real one does."""
        where = f'\n\n  File "{SERVER_FILE}", line 1535, in openai_v1_chat_completions\n    POST {self.path} [{detail}]'
        return http.json_response(
            {
                "object": "error",
                "message": f"1 validation error:\n  {detail}{where}",
                "type": "Bad Request",
                "param": None,
                "code": 400,
            },
            400,
        )

    def error(self, error):
        """A refusal in OpenAI's shape."""
        return http.json_response(
            {
                "object": "error",
                "message": error.message,
                "type": KINDS[error.status][0],
                "param": None,
                "code": error.status,
            },
            error.status,
        )

    def event_of(self, value):
        """A server-sent event."""
        return f"data: {json.dumps(value, separators=(',', ':'), ensure_ascii=False)}\n\n"

    # What the router adds to each request

    @staticmethod
    def pairs(body, count):
        """(host, port, room) for each of `count` prompts."""
        found = []
        for index in range(count):
            one = []
            for name in ("bootstrap_host", "bootstrap_port", "bootstrap_room"):
                value = body.get(name)
                if isinstance(value, list):
                    value = value[index] if index < len(value) else None
                elif name == "bootstrap_room" and isinstance(value, int):
                    value += index
                one.append(value)
            found.append(one)
        return found

    def job(self, ids, limit, bootstrap, ignore_eos=False, rid=None):
        """A job of this server."""
        host, port, room = bootstrap
        job = Job(ids, limit, ignore_eos, host, port, room)
        if rid:
            job.rid = rid
        return job


class Native(Endpoint):
    """`/generate`."""

    path = "/generate"

    def jobs(self, body):
        prompts, is_batch = self._prompts(body)
        sampling = body.get("sampling_params") or {}
        samplings = sampling if isinstance(sampling, list) else [sampling] * len(prompts)
        jobs = []
        for ids, options, bootstrap in zip(prompts, samplings, self.pairs(body, len(prompts))):
            limit = options.get("max_new_tokens", 128)
            job = self.job(
                ids, limit, bootstrap, bool(options.get("ignore_eos")), body.get("rid") if not is_batch else None
            )
            known = NEWER_SAMPLING_FIELDS if self.engine.settings.is_newer else SAMPLING_FIELDS
            unknown = sorted(set(options).difference(known))
            if unknown:
                return self._unknown_field(job, unknown[0])
            jobs.append(job)
        return jobs

    def _unknown_field(self, job, name):
        if self.engine.settings.is_newer:
            expected = ", ".join(f"`{known}`" for known in NEWER_SAMPLING_FIELDS)
            return http.json_response({"error": f"unknown field `{name}`, expected one of {expected}"}, 400)
        self.engine.refuse_field(job)
        return http.text_response("Internal Server Error", 500, vary=False)

    def _prompts(self, body):
        text, ids = body.get("text"), body.get("input_ids")
        if text is None and ids is None and body.get("input_embeds") is None:
            raise RequestError(400, "Either text, input_ids or input_embeds should be provided.")
        if text is not None:
            return (
                ([answers.token_ids(one) for one in text], True)
                if isinstance(text, list)
                else ([answers.token_ids(text)], False)
            )
        if ids and isinstance(ids[0], list):
            return ids, True
        return [ids or []], False

    def error(self, error):
        if error.status == 400:
            return http.json_response({"error": {"message": error.message}}, 400)
        return super().error(error)

    def whole(self, results, body):
        outputs = [self._output(job, ids, reason, body) for job, ids, reason in results]
        batch = isinstance(body.get("text"), list) or bool(
            body.get("input_ids") and isinstance(body["input_ids"][0], list)
        )
        return outputs if batch else outputs[0]

    def events(self, jobs, body):
        for index, job in enumerate(jobs):
            first = True
            try:
                for ids, reason in self.engine.run(job):
                    output = self._output(job, ids, reason, body, streamed=True, first=first)
                    first = False
                    if len(jobs) > 1:
                        output["index"] = index
                    yield self.event_of(output)
            except RequestError as error:
                reason = {"type": "abort", "message": error.message, "status_code": error.status, "err_type": None}
                yield self.event_of(self._output(job, [], reason, body, streamed=True))
        yield "data: [DONE]\n\n"

    def _output(self, job, ids, reason, body, streamed=False, first=False):
        settings, now = self.engine.settings, time.time()
        # A request that was refused never saw a scheduler, which is what most of the figures come from.
        refused = reason is not None and "status_code" in reason
        # Times are told where metrics are kept.
        timed = settings.args["enable_metrics"] and not refused
        version = settings.args["weight_version"]
        meta = {
            "id": job.rid,
            "finish_reason": reason,
            "prompt_tokens": len(job.ids),
            "weight_version": version,
            "num_retractions": 0,
        }
        if timed:
            if settings.is_newer:
                meta.update(storage_prefetch_wait=0.0, storage_staging_wait=0.0)
                meta.update(forward_entry_time=job.received, prefill_finished_time=now)
            meta["queue_time"] = 0.0
        if body.get("return_logprob"):
            logprobs = [[-1.0, number, None] for number in ids]
            meta.update(input_token_logprobs=[], output_token_logprobs=logprobs)
            meta["output_token_logprobs_length"] = len(ids)
        meta.update(reasoning_tokens=0, completion_tokens=len(ids), cached_tokens=0)
        if settings.is_newer and reason and not refused:
            meta["weight_versions"] = [{"version": version, "start": 0, "end": len(ids)}]
        meta.update(cached_tokens_details=None, dp_rank=job.dp_rank if settings.dp > 1 else None)
        if reason:
            elapsed = max(now - job.received, 1e-6)
            meta["e2e_latency"] = elapsed
            if timed:
                meta["request_received_ts"] = job.received
                if settings.is_newer:
                    meta["first_token_latency"] = elapsed
                meta.update(api_server_dispatch_finish_ts=job.received, request_finished_ts=now)
                meta["decode_throughput"] = len(ids) / elapsed
        if not streamed or first or (reason and (timed or refused)):
            meta["response_sent_to_client_ts"] = now
        text = "" if settings.mode == "prefill" else answers.text_of(ids)
        return {"text": text, "output_ids": list(ids), "meta_info": meta}


class OpenAi(Endpoint):
    """What completions and chat share."""

    object = ""

    def jobs(self, body):
        prompts = self.prompts(body)
        if isinstance(prompts, http.Response):
            return prompts
        prompts = [ids for ids in prompts for _unused in range(body.get("n") or 1)]
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or self.default_limit
        pairs = self.pairs(body, len(prompts))
        return [self.job(ids, limit, pair, bool(body.get("ignore_eos"))) for ids, pair in zip(prompts, pairs)]

    def head(self, job, body, kind):
        return {
            "id": job.rid,
            "object": kind,
            "created": int(job.received),
            "model": body.get("model") or self.engine.settings.model_name,
        }

    def whole(self, results, body):
        settings = self.engine.settings
        choices = [self.choice(index, self.text(ids), reason) for index, (_unused, ids, reason) in enumerate(results)]
        usage = self.usage(results[0][0], sum(len(ids) for _unused, ids, _unused in results))
        metadata = {"weight_version": settings.args["weight_version"]}
        if settings.is_newer:
            metadata["weight_versions"] = [
                {"version": settings.args["weight_version"], "start": 0, "end": usage["completion_tokens"]}
            ]
        return {**self.head(results[0][0], body, self.object), "choices": choices, "usage": usage, "metadata": metadata}

    def usage(self, job, count):
        usage = {
            "prompt_tokens": len(job.ids),
            "total_tokens": len(job.ids) + count,
            "completion_tokens": count,
            "prompt_tokens_details": None,
            "reasoning_tokens": 0,
        }
        if self.engine.settings.is_newer:
            usage["completion_tokens_details"] = None
        return usage

    def text(self, ids):
        return "" if self.engine.settings.mode == "prefill" else answers.text_of(ids)

    def events(self, jobs, body):
        total = 0
        for index, job in enumerate(jobs):
            seen = ""
            try:
                for number in itertools.count():
                    if number == 0:
                        steps = self.engine.run(job)
                    step = next(steps, None)
                    if step is None:
                        break
                    ids, reason = step
                    text = self.text(ids)
                    yield from (
                        self.event_of(chunk)
                        for chunk in self.chunks(index, job, body, text[len(seen) :], reason, number == 0)
                    )
                    seen = text
                total += len(ids)
            except RequestError as error:
                value = {
                    "error": {
                        "object": "error",
                        "message": error.message,
                        "type": KINDS[error.status][1],
                        "param": None,
                        "code": error.status,
                    }
                }
                yield f"data: {json.dumps(value)}\n\n"
        if (body.get("stream_options") or {}).get("include_usage"):
            yield self.event_of(
                {
                    **self.head(jobs[0], body, self.chunk_object),
                    "choices": [],
                    "usage": self.chunk_usage(jobs[0], total),
                }
            )
        yield "data: [DONE]\n\n"

    def chunk_usage(self, job, count):
        return self.usage(job, count)


class Completions(OpenAi):
    """`/v1/completions`."""

    path, object, chunk_object, default_limit = "/v1/completions", "text_completion", "text_completion", 16

    def prompts(self, body):
        prompt = body.get("prompt")
        if prompt is None:
            return self.invalid({"type": "missing", "loc": ("body", "prompt"), "msg": "Field required", "input": body})
        if isinstance(prompt, str):
            return [answers.token_ids(prompt)]
        if prompt and isinstance(prompt[0], int):
            return [prompt]
        return [answers.token_ids(one) if isinstance(one, str) else one for one in prompt]

    def choice(self, index, text, reason):
        return {
            "index": index,
            "text": text,
            "logprobs": None,
            "finish_reason": reason["type"] if reason else None,
            "matched_stop": (reason or {}).get("matched"),
        }

    def chunks(self, index, job, body, text, reason, first):
        yield {**self.head(job, body, self.object), "choices": [self.choice(index, text, reason)], "usage": None}

    def chunk_usage(self, job, count):
        usage = self.usage(job, count)
        del usage["prompt_tokens_details"]
        usage.pop("completion_tokens_details", None)
        return usage


class Chat(OpenAi):
    """`/v1/chat/completions`."""

    path, object, chunk_object, default_limit = "/v1/chat/completions", "chat.completion", "chat.completion.chunk", None

    def prompts(self, body):
        if "messages" not in body:
            return self.invalid(
                {
                    "type": "missing",
                    "loc": ("body", "messages"),
                    "msg": "Field required",
                    "input": {**body, "tool_choice": "none"},
                }
            )
        if not body["messages"]:
            raise RequestError(400, "Messages cannot be empty.")
        wanted = body.get("max_completion_tokens") or body.get("max_tokens")
        limit = self.engine.settings.args["context_length"]
        if wanted and limit and wanted > limit and not self.engine.settings.args["allow_auto_truncate"]:
            raise RequestError(400, texts.larger_than_context(wanted, limit))
        return [answers.chat_ids(body["messages"])]

    def choice(self, index, text, reason):
        message = {"role": "assistant", "content": text, "reasoning_content": None}
        if not self.engine.settings.is_newer:
            message["tool_calls"] = None
        return {
            "index": index,
            "message": message,
            "logprobs": None,
            "finish_reason": reason["type"] if reason else None,
            "matched_stop": (reason or {}).get("matched"),
        }

    def chunks(self, index, job, body, text, reason, first):
        def chunk(delta, finish=None):
            choice = {
                "index": index,
                "delta": {"reasoning_content": None, **delta},
                "logprobs": None,
                "finish_reason": finish["type"] if finish else None,
                "matched_stop": (finish or {}).get("matched"),
            }
            return {**self.head(job, body, self.chunk_object), "choices": [choice]}

        if first:
            yield chunk({"role": "assistant", "content": ""})
        if text:
            yield chunk({"content": text})
        if reason:
            yield chunk({}, reason)
