# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark in the plan: overridden, on another host, with a dataset of one's own."""

from __future__ import annotations

import pytest
from unit.compiler.cluster import PROFILES, errors_of, flags, plan_of, planned

from .kept import R1

KIMI = "kimi-k2-6-w4a8-1p1d-24p-in64k-out1k5-prefix90-100ms"
IMAGE = "kimi-k2-6-w4a8-8p-in1080p-30-out256-50ms"
OPEN = {"sglang_router_args": {"host": "192.0.2.91"}}


def reasons(plan):
    return {one.name: one.reason for one in plan.deviations if one.role == "benchmark"}


@pytest.mark.parametrize("name", sorted(PROFILES.profiles) if hasattr(PROFILES, "profiles") else [R1, KIMI, IMAGE])
def test_an_option_is_overridden_and_declared(name):
    plan = plan_of(name, sglang_benchmark_args={"num-prompts": 3, "seed": 7})
    assert flags(plan.benchmark)["--num-prompts"] == ["3"]
    assert flags(plan.benchmark)["--seed"] == ["7"]
    assert reasons(plan)["--num-prompts"] == reasons(plan)["--seed"] == "override"


def test_an_option_is_left_out():
    plan = plan_of(R1, sglang_benchmark_args={"max-concurrency": None, "random-range-ratio": False})
    assert {"--max-concurrency", "--random-range-ratio"}.isdisjoint(flags(plan.benchmark))
    assert reasons(plan)["--max-concurrency"] == "override"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("host", "sglang_router_args.host"),
        ("port", "sglang_router_args.port"),
        ("base-url", "entrance of the plan"),
        ("output-file", "sglang_benchmark_dir"),
        ("output-details", "sglang_benchmark_details"),
    ],
)
def test_what_is_derived_is_refused(name, advice):
    (told,) = errors_of(R1, sglang_benchmark_args={name: "x"})
    assert told.startswith(f"sglang_benchmark_args.{name}: the compiler derives this flag.")
    assert advice in told


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"num-prompt": 3}, "num-prompts"),
        ({"num-prompts": "many"}, "whole number"),
        ({"dataset-name": "randon"}, "random"),
        ({"request-rate": "fast"}, "number"),
        ({"extra-request-body": "{"}, "JSON"),
    ],
)
def test_an_option_that_the_tool_would_refuse_is_refused_here(given, words):
    (told,) = errors_of(R1, sglang_benchmark_args=given)
    assert words in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num-prompts", 0),
        ("num-prompts", "-5"),
        ("request-rate", 0),
        ("request-rate", -1.5),
        ("request-rate", "nan"),
        ("max-concurrency", 0),
        ("random-output-len", 0),
        ("gsp-num-groups", 0),
    ],
)
def test_a_load_of_nothing_is_refused(name, value):
    (told,) = errors_of(R1, sglang_benchmark_args={name: value})
    assert told.startswith(f"sglang_benchmark_args.{name}: with --{name} {value} nothing is measured.")


def test_no_limit_is_a_load():
    args = flags(plan_of(R1, sglang_benchmark_args={"request-rate": "inf", "max-concurrency": None}).benchmark)
    assert (args["--request-rate"], "--max-concurrency" in args) == (["inf"], False)


def test_a_newer_version_has_more_options():
    assert errors_of(R1, sglang_benchmark_args={"cache-report": True})
    newer = plan_of(R1, sglang_engine="0.5.23", sglang_benchmark_args={"cache-report": True})
    assert flags(newer.benchmark)["--cache-report"] == []


def test_a_dataset_file_is_for_datasets_that_read_one():
    path = {"sglang_benchmark_dataset": "/data/sharegpt.json"}
    assert flags(plan_of(R1, **path).benchmark)["--dataset-path"] == ["/data/sharegpt.json"]
    assert reasons(plan_of(R1, **path))["--dataset-path"] == "override"
    for name in (KIMI, IMAGE):
        assert "--dataset-path" not in flags(plan_of(name, **path).benchmark)
    both = plan_of(R1, **path, sglang_benchmark_args={"dataset-path": "/other.json"})
    assert flags(both.benchmark)["--dataset-path"] == ["/other.json"]


def test_another_host_asks_an_entrance_that_it_reaches():
    plan = plan_of(R1, sglang_benchmark_host="p1", **OPEN)
    assert plan.benchmark.host == "p1"
    assert flags(plan.benchmark)["--host"] == ["192.0.2.91"]
    client = planned(R1, groups={"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"], "clients": ["c1"]},
                     sglang_benchmark_host="c1", **OPEN)  # fmt: skip
    assert client.benchmark.host == "c1"


def test_another_host_cannot_ask_an_entrance_on_loopback():
    (told,) = errors_of(R1, sglang_benchmark_host="p1")
    assert told == (
        "sglang_benchmark_host: the entrance listens on 127.0.0.1 of r1, where p1 cannot ask it. Let it listen on the "
        "data address (sglang_router_args.host), or leave sglang_benchmark_host out."
    )
    assert not errors_of(R1, sglang_benchmark_host="r1")


def test_a_host_that_is_none_is_said():
    (told,) = errors_of(R1, sglang_benchmark_host="p11", **OPEN)
    assert told.startswith("sglang_benchmark_host: p11 is no host of the inventory. Did you mean p1")


def test_a_model_with_another_name_has_its_tokenizer_named():
    plan = plan_of(R1, sglang_decode_args={"served-model-name": "r1"}, sglang_prefill_args={"served-model-name": "r1"})
    assert flags(plan.benchmark)["--tokenizer"] == ["/path/to/model-weights"]
    assert reasons(plan)["--tokenizer"] == "benchmark-tokenizer"
    assert "--tokenizer" not in flags(plan_of(R1).benchmark)
