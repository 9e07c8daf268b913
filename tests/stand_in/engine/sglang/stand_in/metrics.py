# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`/metrics`: what the requests did, under the names and labels of the real engine."""

from __future__ import annotations

import threading
import time

LATENCY = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0)
LENGTHS = (100.0, 300.0, 500.0, 700.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0, 5000.0, 10000.0, 30000.0, 100000.0)


class Histogram:
    """Counts under upper bounds."""

    def __init__(self, bounds):
        self.bounds = bounds
        self.counts = [0] * len(bounds)
        self.total = 0
        self.sum = 0.0

    def add(self, value):
        """Count a value."""
        self.total += 1
        self.sum += value
        for index, bound in enumerate(self.bounds):
            if value <= bound:
                self.counts[index] += 1


class Metrics:
    """The figures of one server."""

    def __init__(self, settings):
        self.settings = settings
        self._lock = threading.Lock()
        self._times = {}
        self.running = 0
        self.requests = self.prompt_tokens = self.generation_tokens = 0
        self.http = {}
        self.histograms = {
            "time_to_first_token_seconds": (Histogram(LATENCY), "Histogram of time to first token in seconds."),
            "inter_token_latency_seconds": (Histogram(LATENCY), "Histogram of inter-token latency in seconds."),
            "e2e_request_latency_seconds": (Histogram(LATENCY), "Histogram of End-to-end request latency in seconds"),
            "prompt_tokens_histogram": (Histogram(LENGTHS), "Histogram of prompt token length."),
            "generation_tokens_histogram": (Histogram(LENGTHS), "Histogram of generation token length."),
        }
        if settings.mode != "null":
            self.histograms["kv_transfer_latency_ms"] = (Histogram(LATENCY), "The latency of KV transfer in ms.")

    def begin(self, job):
        """A request has begun."""
        with self._lock:
            self.running += 1
            self._times[job.rid] = [time.monotonic(), None, 0]

    def token(self, job, count):
        """A request has its next token."""
        now = time.monotonic()
        with self._lock:
            times = self._times[job.rid]
            if count == 1:
                self.histograms["time_to_first_token_seconds"][0].add(now - times[0])
            else:
                self.histograms["inter_token_latency_seconds"][0].add(now - times[1])
            times[1], times[2] = now, count

    def end(self, job):
        """A request has ended."""
        with self._lock:
            self.running -= 1
            begun, _unused, count = self._times.pop(job.rid)
            self.requests += 1
            self.prompt_tokens += len(job.ids)
            self.generation_tokens += count
            self.histograms["e2e_request_latency_seconds"][0].add(time.monotonic() - begun)
            self.histograms["prompt_tokens_histogram"][0].add(len(job.ids))
            self.histograms["generation_tokens_histogram"][0].add(count)

    def answered(self, path, method, status):
        """The web server has answered."""
        with self._lock:
            self.http[path, method, status] = self.http.get((path, method, status), 0) + 1

    def text(self, engine):
        """All of it, in Prometheus' text format."""
        kind = "unified" if self.settings.mode == "null" else self.settings.mode
        model = self.settings.model_name
        own = f'engine_type="{kind}",model_name="{model}"'
        rank = own + ',moe_ep_rank="0",pp_rank="0",tp_rank="0"'
        lines = []

        def one(name, type_, help_, labels, value):
            lines.extend(
                (
                    f"# HELP sglang:{name} {help_}",
                    f"# TYPE sglang:{name} {type_}",
                    f"sglang:{name}{{{labels}}} {float(value)}",
                )
            )

        with self._lock:
            for name, (histogram, help_) in self.histograms.items():
                if not histogram.total:
                    continue  # a series begins with its first value
                lines.append(f"# HELP sglang:{name} {help_}")
                lines.append(f"# TYPE sglang:{name} histogram")
                lines.append(f"sglang:{name}_sum{{{own}}} {histogram.sum}")
                for bound, count in zip((*histogram.bounds, "+Inf"), (*histogram.counts, histogram.total)):
                    lines.append(
                        f'sglang:{name}_bucket{{engine_type="{kind}",le="{bound}",model_name="{model}"}} {float(count)}'
                    )
                lines.append(f"sglang:{name}_count{{{own}}} {float(histogram.total)}")
            one("num_running_reqs", "gauge", "The number of running requests.", rank, self.running)
            one("num_queue_reqs", "gauge", "The number of requests in the waiting queue.", rank, 0)
            one("num_used_tokens", "gauge", "The number of used tokens.", rank, 0)
            one("token_usage", "gauge", "The token usage.", rank, 0)
            one("gen_throughput", "gauge", "The generation throughput (token/s).", rank, 0)
            one("cache_hit_rate", "gauge", "The prefix cache hit rate.", rank, 0)
            one(
                "max_total_num_tokens",
                "gauge",
                "Maximum total number of tokens in the KV cache pool.",
                rank,
                engine.max_total_tokens,
            )
            one("context_len", "gauge", "The context length.", rank, engine.context_length)
            if self.settings.mode != "null":
                for queue in ("prefill_bootstrap", "prefill_inflight", "decode_prealloc", "decode_transfer"):
                    one(
                        f"num_{queue}_queue_reqs",
                        "gauge",
                        f"The number of requests in the {queue.replace('_', ' ')} queue.",
                        rank,
                        0,
                    )
            one("prompt_tokens_total", "counter", "Number of prefill tokens processed.", own, self.prompt_tokens)
            one(
                "generation_tokens_total",
                "counter",
                "Number of generation tokens processed.",
                own,
                self.generation_tokens,
            )
            one("num_requests_total", "counter", "Number of requests processed.", own, self.requests)
            lines.append(
                "# HELP sglang:http_responses_total Total number of HTTP responses by endpoint and status code"
            )
            lines.append("# TYPE sglang:http_responses_total counter")
            for (path, method, status), count in self.http.items():
                lines.append(
                    f'sglang:http_responses_total{{endpoint="{path}",method="{method}",status_code="{status}"}} '
                    f"{float(count)}"
                )
        return "\n".join(lines) + "\n"
