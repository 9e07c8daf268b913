# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in's answers held against those that the real engine gave on a CPU: status, type and shape of each body.

`recordings/` has request and answer of each endpoint, recorded from sglang 0.5.13.post1 (alone, as prefill, as decode,
with a key) and 0.5.23; of `/server_info` and `/metrics` only the names.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

RECORDINGS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in (Path(__file__).parent / "recordings").glob("*.json")
}
# Values that depend on the model or on what else ran, not on the engine.
LOOSE = {"matched_stop", "cached_tokens_details", "cached_tokens", "model_type", "architectures", "queue_time"}
# What the newer version says of parts that the stand-in has not.
ONLY_REAL = {"embedding", "accelerator", "num_accelerators"}
# What is no flag, and what the real /server_info shows all the same, of parts that the stand-in has not.
NOT_SHOWN = {
    "_radix_eviction_policy_explicitly_set",
    "_speculative_draft_quantization_explicitly_set",
    "_swa_full_tokens_ratio_explicitly_set",
    "aux_hidden_state_capture",
    "custom_sigquit_handler",
    "enable_cp_tp_group_sharing",
    "grpc_worker_threads",
    "hicache_object_layout",
    "launch_command",
    "speculative_boundary_reduction",
    "uses_mamba_radix_cache",
    "watermark_context_window",
    "watermark_default_enabled",
    "watermark_enforce_all",
    "watermark_key",
    "watermark_key_b",
    "watermark_max_probability",
    "watermark_mixing_probability",
}


def shape(value, name=None):
    if name in LOOSE:
        return "any"
    if isinstance(value, dict):
        return {key: shape(inner, key) for key, inner in value.items() if key not in ONLY_REAL}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, bool) or value is None:
        return value
    return "number" if isinstance(value, (int, float)) else "text"


def words(text):
    """A message without its numbers, names and places."""
    return re.sub(r"'[0-9a-f]{32}'|\d+|line \d+|ctx': {.*?}", "…", text)


def body_of(recorded):
    body = recorded["body"]
    if isinstance(body, str):
        return body.encode()
    if recorded["path"] == "/generate" and isinstance(body.get("input_ids"), str):
        return {**body, "input_ids": [10] * 5000}
    if (
        isinstance(body, dict)
        and "messages" in body
        and body["messages"]
        and body["messages"][0]["content"] == '"q z "*3000'
    ):
        return {**body, "messages": [{"role": "user", "content": "q z " * 3000}]}
    return body


@pytest.fixture(scope="module")
def server_of(module_launcher):
    """The server that stands for a recorded one; started when first asked for."""
    started = {}

    def give(group):
        if group not in started:
            if group.startswith("pd-"):
                started["pd-prefill"], started["pd-decode"] = module_launcher.pair(
                    ("--enable-metrics",), ("--enable-metrics",)
                )
            else:
                key = ("--api-key", "secret") if group == "apikey" else ()
                version = "0.5.23" if "0.5.23" in group else "0.5.13.post1"
                words = ("--served-model-name", "tiny", "--enable-metrics", *key)
                started[group] = module_launcher.serve(*words, version=version).wait_ready()
        return started[group]

    return give


def ask(server, recorded):
    body = None if recorded["body"] is None else body_of(recorded)
    headers = {"Authorization": "Bearer secret"} if "models_key" in recorded["name"] else {}
    return server.ask(recorded["path"], body, recorded["method"], headers)


ANSWERS = [
    pytest.param(group, {**recorded, "name": name}, id=f"{group}-{name}")
    for group, names in RECORDINGS.items()
    if group != "metrics"
    for name, recorded in names.items()
    if name != "server_info"
]


@pytest.mark.parametrize(("group", "recorded"), ANSWERS)
def test_an_answer_is_of_the_recorded_shape(server_of, group, recorded):
    status, headers, answer = ask(server_of(group), recorded)
    expected = recorded["answer"]
    assert status == recorded["status"]
    assert headers.get("content-type") == recorded["content_type"]
    assert headers["server"] == "uvicorn"
    if "event-stream" in (recorded["content_type"] or ""):
        events = [block.removeprefix("data: ") for block in answer.split("\n\n") if block]
        assert events[-1] == expected[-1] == "[DONE]"
        ours, theirs = ([json.loads(event) for event in stream[:-1]] for stream in (events, expected))
        for position in (0, 1, -1):
            if position < len(theirs):
                assert shape(ours[position]) == shape(theirs[position])
    elif isinstance(expected, str):
        assert answer == expected
    else:
        assert shape(answer) == shape(expected)
        if status >= 400:
            assert words(json.dumps(answer)) == words(json.dumps(expected))


@pytest.mark.parametrize("group", ["unified", "pd-prefill", "pd-decode", "v0.5.23-unified"])
def test_server_info_has_the_recorded_names(server_of, group):
    recorded = RECORDINGS[group]["server_info"]
    expected = recorded["answer"]
    for path in ("/server_info", "/get_server_info"):
        status, _unused, answer = server_of(group).ask(path)
        assert status == recorded["status"]
        assert set(expected["names"]) - set(answer) - NOT_SHOWN == set()
        assert set(answer) - set(expected["names"]) == set()
        for name in ("status", "version", "disaggregation_mode"):
            assert answer[name] == expected[name]


@pytest.mark.parametrize("mode", ["prefill", "decode"])
def test_metrics_are_a_selection_of_the_recorded_ones(server_of, mode):
    status, headers, text = server_of(f"pd-{mode}").ask("/metrics")
    assert (status, headers["content-type"]) == (200, RECORDINGS["metrics"]["content_type"])
    recorded = {**RECORDINGS["metrics"]["prefill"], **RECORDINGS["metrics"]["decode"]}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        assert recorded[name]["type"] == kind
        sample = re.search(rf"^{name}(?:_sum)?\{{(.*)\}} [0-9.e+-]+$", text, re.MULTILINE)
        labels = re.findall(r'(\w+)="', sample[1])
        assert sorted(labels) == recorded[name]["labels"] or not recorded[name]["labels"]
        assert f'engine_type="{mode}"' in sample[1] or "http_" in name


TIMES = {
    "queue_time", "request_received_ts", "api_server_dispatch_finish_ts", "request_finished_ts", "decode_throughput",
}  # fmt: skip


def test_times_are_told_where_metrics_are_kept_only(module_launcher):
    """The recordings are of servers that keep them."""
    server = module_launcher.serve().wait_ready()
    body = {"text": "hello", "sampling_params": {"max_new_tokens": 3}}
    _status, _headers, answer = server.ask("/generate", body)
    assert not TIMES & answer["meta_info"].keys()
    assert answer["meta_info"]["response_sent_to_client_ts"] > 0
    told = [event["meta_info"] for event in server.events("/generate", {**body, "stream": True})]
    assert ["response_sent_to_client_ts" in one for one in told] == [True, False, False]
    assert not TIMES & told[-1].keys()


def test_a_server_without_a_name_shows_its_models_path(module_launcher):
    _status, _headers, info = module_launcher.serve().wait_ready().ask("/server_info")
    assert info["served_model_name"] == info["model_path"]


def test_an_answer_longer_than_the_stated_context_is_refused_before_the_tokenizer(module_launcher):
    server = module_launcher.serve("--context-length", "2048").wait_ready()
    body = {"model": "x", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 3000}
    status, _headers, answer = server.ask("/v1/chat/completions", body)
    assert status == 400
    told = "max_completion_tokens is too large: 3000.This model supports at most 2048 completion tokens."
    assert answer["message"] == told


@pytest.mark.parametrize(("backend", "captured"), [("torch_native", False), ("ascend", True)])
def test_plain_torch_captures_no_graphs(module_launcher, backend, captured):
    server = module_launcher.serve("--attention-backend", backend).wait_ready()
    assert ("graph begin" in server.log) == captured
