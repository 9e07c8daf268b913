# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of loading weights and capturing graphs, in the time that the knobs give it."""

from __future__ import annotations

import json
import time
from pathlib import Path

from sglang.stand_in import log

BAR = "Loading safetensors checkpoint shards: {percent:3.0f}% Completed | {done}/{total} [{elapsed}<{left}, {rate}it/s]"
# What a model directory without shards of its own (a test's) is taken to have: the count in SGLang's own example.
SHARDS = 163


class LoadError(Exception):
    """Weights that cannot be loaded; the text is what the real engine's child dies with."""


def load(settings, knobs, model):
    """Load the weights."""
    log.rank("Load weight begin. avail mem=60.86 GB")
    extra = settings.args["model_loader_extra_config"]
    if isinstance(extra, str):
        try:
            json.loads(extra)
        except ValueError as error:
            raise LoadError(f"json.decoder.JSONDecodeError: {error}") from None
    begun = time.monotonic()
    shards = knobs.get("shards") or len(list(Path(settings.args["model_path"]).glob("*.safetensors"))) or SHARDS
    _progress(shards, knobs.seconds("load_seconds"), bool(knobs.get("progress_newlines")))
    kind = (model.architectures or ["Unknown"])[0]
    quant = settings.args["quantization"]
    log.rank(
        f"Load weight end. elapsed={time.monotonic() - begun:.2f} s, type={kind}, "
        f"{f'quant={quant}, ' if quant else ''}avail mem=18.02 GB, mem usage=42.84 GB."
    )
    tokens = settings.args["max_total_tokens"] or 65536
    log.rank("Using KV cache dtype: torch.bfloat16")
    log.rank(f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {tokens}, KV size: 6.60 GB")
    log.rank("Memory pool end. avail mem=10.90 GB")


def _progress(shards, seconds, newlines):
    begun = time.monotonic()
    steps = min(shards, max(1, int(seconds * 4)))
    for step in range(steps + 1):
        done = shards * step // steps
        elapsed = time.monotonic() - begun
        rate = done / elapsed if elapsed > 0 and done else None
        text = BAR.format(
            percent=100 * done / shards,
            done=done,
            total=shards,
            elapsed=_clock(elapsed),
            left=_clock((shards - done) / rate) if rate else "?",
            rate=f"{rate:5.2f}" if rate else "?",
        )
        log.raw(f"{text}\n" if newlines else f"\r{text}")
        if step < steps:
            time.sleep(seconds / steps)
    if not newlines:
        log.raw("\n")


def _clock(seconds):
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def capture(settings, knobs, model):
    """Capture the graphs; prefill has none, and neither have the attention backends of plain torch."""
    args = settings.args
    plain = args["attention_backend"] in ("torch_native", "flex_attention")
    if settings.mode != "prefill" and not args["disable_cuda_graph"] and not plain:
        name = "target decode NPU graph" if settings.is_newer else "npu graph"
        seconds = knobs.seconds("graph_seconds")
        log.rank(f"Capture {name} begin. This can take up to several minutes. avail mem=10.88 GB")
        time.sleep(seconds)
        log.rank(f"Capture {name} end. Time elapsed: {seconds:.2f} s. mem usage=0.92 GB. avail mem=9.96 GB.")
    log.rank(
        f"max_total_num_tokens={args['max_total_tokens'] or 65536}, "
        f"chunked_prefill_size={args['chunked_prefill_size'] or 8192}, "
        f"max_prefill_tokens={args['max_prefill_tokens']}, "
        f"max_running_requests={args['max_running_requests'] or 2048}, "
        f"context_len={args['context_length'] or model.context_length}, available_gpu_mem=9.96 GB"
    )
