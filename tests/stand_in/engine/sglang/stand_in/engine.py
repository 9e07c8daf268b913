# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a request: the tokens, the hand-over between prefill and decode, and what is left behind.

`run` gives the answer of one request token by token. The registry of running requests is what a drain waits for.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from sglang.stand_in import answers, log, texts, transfer
from sglang.stand_in.rendezvous import PeerGoneError

STARTING, READY, DRAINING, CRASHING = "starting", "ready", "draining", "crashing"


class RequestError(Exception):
    """A request that is refused or fails."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Job:
    """One prompt."""

    ids: list
    limit: int
    ignore_eos: bool = False
    host: str = None
    port: int = None
    room: int = None
    rid: str = field(default_factory=lambda: uuid.uuid4().hex)
    received: float = field(default_factory=time.time)
    dp_rank: int = 0
    aborted: bool = False


class Model:
    """What the model's directory says of itself."""

    def __init__(self, path):
        try:
            config = json.loads(Path(path, "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            config = {}
        self.model_type = config.get("model_type")
        self.architectures = config.get("architectures")
        text = config.get("text_config") or config
        self.context_length = text.get("max_position_embeddings") or 4096


class Engine:
    """The requests of one server; on nodes other than rank 0 only their share of the hand-over."""

    def __init__(self, settings, knobs, group, endpoint, model, metrics, endings):
        self.settings = settings
        self.knobs = knobs
        self.group = group
        self.endpoint = endpoint
        self.model = model
        self.metrics = metrics
        self.state = STARTING
        self.context_length = settings.args["context_length"] or model.context_length
        self.max_total_tokens = settings.args["max_total_tokens"] or 65536
        self.started = time.time()
        self._endings = endings
        self._running = {}
        self._leaked = []
        self._turn = itertools.count()
        self._lock = threading.Lock()
        if endpoint:
            group.operations.update(give=endpoint.give, fetch=self._fetch_here)

    # Requests

    def admit(self, job):
        """Take a request on, or refuse it (RequestError); some refusals leave an entry that no drain gets rid of."""
        length = len(job.ids)
        if length >= self.context_length:
            self._leak(job)
            raise RequestError(400, texts.too_long(length, self.context_length))
        if job.limit is None:
            job.limit = self.context_length - length
        if length + job.limit > self.context_length:
            self._leak(job)
            raise RequestError(400, texts.too_many(length, job.limit, self.context_length))

    def refuse_field(self, job):
        """A sampling parameter that nobody knows: refused, and on the older version never forgotten."""
        self._leak(job)

    def _leak(self, job):
        if not self.settings.is_newer:
            with self._lock:
                self._leaked.append(job.rid)

    def run(self, job):
        """Yield (tokens so far, finish reason or None). Raises RequestError before the first token only."""
        self._endings.on_phase("request")
        if self.settings.mode != "null" and job.room is None:
            raise RequestError(400, texts.no_room(job.rid))
        if self.settings.mode == "decode" and job.host is None:
            self._endings.of_request()
        with self._lock:
            self._running[job.rid] = job
        self.metrics.begin(job)
        try:
            yield from self._steps(job)
        finally:
            with self._lock:
                self._running.pop(job.rid, None)
            self.metrics.end(job)

    def _steps(self, job):
        mode = self.settings.mode
        if mode == "prefill":
            yield list(answers.answer_ids(self._hand_over(job), 1)), {"type": "length", "length": 0}
            return
        secret = self._fetch(job) if mode == "decode" else transfer.secret_of(job.ids)
        pause = self.knobs.seconds("token_seconds")
        ids, due = [], time.monotonic()
        for token in answers.answer_ids(secret, job.limit, job.ignore_eos):
            # By the clock, not by the last token: a busy machine does not add to every one of them.
            due += pause
            time.sleep(max(due - time.monotonic(), 0))
            if job.aborted:
                yield ids, {"type": "abort", "message": "Aborted"}
                return
            ids.append(token)
            self.metrics.token(job, len(ids))
            if token == answers.EOS:
                yield ids, {"type": "stop", "matched": token}
            elif len(ids) == job.limit:
                yield ids, {"type": "length", "length": job.limit}
            else:
                yield ids, None

    def _hand_over(self, job):
        secret = transfer.secret_of(job.ids)
        if job.host == transfer.FAKE_HOST:
            return secret
        job.dp_rank = job.room % self.settings.attention_dp
        nodes = self.settings.nodes_of(job.dp_rank)
        try:
            with ThreadPoolExecutor(len(nodes)) as pool:
                calls = [
                    pool.submit(self.group.call, node, "give", room=job.room, part=part)
                    for node, part in zip(nodes, transfer.cut(secret, len(nodes)))
                ]
                for call in calls:
                    call.result()
        except (transfer.TransferError, PeerGoneError) as error:
            text = texts.prefill_failed(job, error)
            log.rank(text)
            raise RequestError(500, text) from None
        return secret

    def _fetch(self, job):
        if job.host == transfer.FAKE_HOST or self.settings.args["disaggregation_transfer_backend"] == "fake":
            return transfer.secret_of(job.ids)
        job.dp_rank = self.settings.dp_rank_of_turn(next(self._turn))
        nodes = self.settings.nodes_of(job.dp_rank)
        port = job.port if job.port is not None else self.settings.bootstrap_port
        try:
            answer = self.group.call(nodes[job.room % len(nodes)], "fetch", host=job.host, port=port, room=job.room)
        except PeerGoneError as error:
            answer = {"failure": str(error), "step": "transfer"}
        if "failure" in answer:
            text = texts.decode_failed(job, answer["step"], answer["failure"])
            log.rank(text)
            raise RequestError(500, text)
        return answer["secret"]

    def _fetch_here(self, host, port, room):
        try:
            return {"secret": self.endpoint.fetch(host, port, room)}
        except transfer.HandshakeError as error:
            return {"failure": str(error), "step": "handshake"}
        except transfer.TransferError as error:
            return {"failure": str(error), "step": "transfer"}

    def abort(self, rid=None):
        """Stop a request, or all."""
        with self._lock:
            for job in self._running.values():
                if rid is None or job.rid == rid:
                    job.aborted = True

    def remaining(self):
        """The requests that a drain waits for."""
        with self._lock:
            stuck = ["0" * 32] if self.knobs.get("drain_stuck") else []
            return [*self._running, *self._leaked, *stuck]
