# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark from its command line to its result file."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time

from sglang.bench_serving_parts import arguments, client, datasets, metrics
from sglang.stand_in.knobs import Knobs

PORTS = {"vllm": 8000, "lmdeploy": 23333, "vllm-chat": 30000}
TABLE = (
    ("Successful requests:", "completed"),
    ("Benchmark duration (s):", "duration"),
    ("Total input tokens:", "total_input_tokens"),
    ("Total generated tokens:", "total_output_tokens"),
    ("Request throughput (req/s):", "request_throughput"),
    ("Output token throughput (tok/s):", "output_throughput"),
    ("Total token throughput (tok/s):", "total_throughput"),
    ("Mean E2E Latency (ms):", "mean_e2e_latency_ms"),
    ("Mean TTFT (ms):", "mean_ttft_ms"),
    ("P99 TTFT (ms):", "p99_ttft_ms"),
    ("Mean TPOT (ms):", "mean_tpot_ms"),
    ("P99 TPOT (ms):", "p99_tpot_ms"),
    ("Mean ITL (ms):", "mean_itl_ms"),
    ("P99 ITL (ms):", "p99_itl_ms"),
)


def main(argv):
    """Run."""
    version = Knobs().get("version")
    args = arguments.parse(version, argv)
    newer = version != "0.5.13.post1"
    if newer:
        print(
            "FutureWarning: `sglang.bench_serving` is deprecated and will be removed in a future release; use "
            "`sglang.benchmark.serving` instead",
            file=sys.stderr,
        )
    if args.backend not in client.PATHS:
        raise SystemExit(f"stand-in: the backend {args.backend} is not among those that it has")
    print(f"benchmark_args={args}", flush=True)
    host = f"[{args.host}]" if ":" in args.host and not args.host.startswith("[") else args.host
    base = args.base_url or f"http://{host}:{args.port or PORTS.get(args.backend, 30000)}"
    wait_for_endpoint(f"{base}/v1/models", args.ready_check_timeout_sec)
    model = args.model or first_model(base)
    tokenizer = args.tokenizer or model
    if not os.path.exists(tokenizer):
        # A name that is no directory is one of the hub's.
        raise OSError(f"We couldn't connect to 'https://huggingface.co' to load the files: '{tokenizer}'")
    prompts = datasets.load(args)
    asyncio.run(benchmark(args, prompts, base, args.served_model_name or model, newer))


def wait_for_endpoint(url, limit):
    """Wait until models are listed; end the process where they never are."""
    if limit <= 0:
        return
    print(f"Waiting up to {limit}s for {url} to become ready...", flush=True)
    began = time.perf_counter()
    while True:
        try:
            if client.get(url)[0] == 200:
                print(f"Server ready in {time.perf_counter() - began:.1f}s.", flush=True)
                return
        except OSError:
            pass
        if time.perf_counter() - began >= limit:
            print(f"Server did not become ready within {limit}s timeout.")
            print(f"Server at {url} is not ready. Exiting.")
            sys.exit(1)
        time.sleep(1)


def first_model(base):
    """The name of the first model that is listed."""
    try:
        listed = (client.get(f"{base}/v1/models")[1] or {}).get("data", [])
        return listed[0]["id"]
    except (OSError, LookupError) as error:
        print(f"Failed to fetch model from {base}/v1/models. Error: {error}")
        print("Please specify the correct host and port using `--host` and `--port`.")
        sys.exit(1)


async def benchmark(args, prompts, base, model, newer):
    """Warm up, ask, measure, write."""
    print(f"Starting warmup with {args.warmup_requests} sequences...", flush=True)
    first = prompts[0]
    short = datasets.Prompt(first.text, first.prompt_len, min(first.output_len, 32), first.images, first.vision_len)
    warm = await asyncio.gather(*(client.ask(short, args, base, model) for _unused in range(args.warmup_requests)))
    if args.warmup_requests > 0 and not any(one.success for one in warm):
        raise ValueError(
            "Warmup failed - Please make sure benchmark arguments are correctly specified. Error: " + warm[0].error
        )
    print(f"Warmup completed with {args.warmup_requests} sequences. Starting main benchmark run...", flush=True)
    if args.flush_cache:
        flush(base)
    time.sleep(1.0)
    began = time.perf_counter()
    outputs = await send(args, prompts, base, model)
    seconds = time.perf_counter() - began
    try:
        status, info = client.get(f"{base}/server_info")
    except OSError:
        status, info = 0, None
    found = metrics.result(args, prompts, outputs, seconds, info if status == 200 else None, newer)
    show(args, found)
    if args.output_details:
        found = {**found, **metrics.details(outputs)}
    name = args.output_file or f"{args.backend}_{time.strftime('%m%d')}_{args.num_prompts}_{args.dataset_name}.jsonl"
    with open(name, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(found) + "\n")


async def send(args, prompts, base, model):
    """All requests: begun at the asked rate, as a Poisson process, never more at once than asked."""
    rng = random.Random(args.seed)
    limit = asyncio.Semaphore(args.max_concurrency) if args.max_concurrency else None
    progress = Bar(len(prompts), not args.disable_tqdm)

    async def one(prompt):
        if limit is None:
            output = await client.ask(prompt, args, base, model)
        else:
            async with limit:
                output = await client.ask(prompt, args, base, model)
        progress.step()
        return output

    tasks = []
    for prompt in prompts:
        tasks.append(asyncio.create_task(one(prompt)))
        if args.request_rate != float("inf"):
            await asyncio.sleep(rng.expovariate(args.request_rate))
    return await asyncio.gather(*tasks)


def flush(base):
    """Empty the caches of the servers."""
    import urllib.request

    asked = urllib.request.Request(f"{base}/flush_cache", data=b"", headers=client.auth_headers(), method="POST")
    try:
        urllib.request.urlopen(asked, timeout=60).close()
    except OSError as error:
        print(f"flush_cache: {error}")


class Bar:
    """tqdm's progress: one line on stderr, written over with carriage returns."""

    def __init__(self, total, shown):
        self.total, self.shown, self.done, self.began = total, shown, 0, time.perf_counter()
        self.draw()

    def step(self):
        self.done += 1
        self.draw()

    def draw(self):
        if not self.shown:
            return
        seconds = time.perf_counter() - self.began
        rate = self.done / seconds if seconds else 0
        share = self.done / self.total if self.total else 1
        filled = int(share * 10)
        clock = f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"
        end = "\n" if self.done == self.total else ""
        progress = "█" * filled + " " * (10 - filled)
        sys.stderr.write(f"\r{share:4.0%}|{progress}| {self.done}/{self.total} [{clock}<00:00, {rate:5.2f}it/s]{end}")
        sys.stderr.flush()


def show(args, found):
    """The table."""
    print("\n{s:{c}^{n}}".format(s=" Serving Benchmark Result ", n=50, c="="))
    print("{:<40} {:<10}".format("Backend:", args.backend))
    print("{:<40} {:<10}".format("Traffic request rate:", args.request_rate))
    print("{:<40} {:<10}".format("Max request concurrency:", args.max_concurrency or "not set"))
    for label, key in TABLE:
        value = found[key]
        print("{:<40} {:<10}".format(label, f"{value:.2f}" if isinstance(value, float) else value))
    print("=" * 50, flush=True)
