# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measured, refused, broken on purpose, slowed down, interrupted: in this order, on one cluster.

The engines' times are set: what the machine is late with is small beside them, and beside what the limits leave.
"""

from __future__ import annotations

import gzip
import json
import os
import signal

import pytest
from on_hosts.bench import KEY, MEASURE, until

ENDED = "inactive\n"
PUBLISHED = 41.0
# Seconds a token: a quarter of the published figure, one that is still below it, and six times the figure.
FAST, STEADY, SLOW = 0.01, 0.03, 0.25
RANDOM = {"random-input-len": 64, "random-output-len": 20}
ONE_SECOND = {"random-output-len": 33}
# Of a second each, no more than four at once: half a minute, in the middle of which something may break.
LONG = {**RANDOM, **ONE_SECOND, "num-prompts": 120, "max-concurrency": 4, "request-rate": None}


def args(**more):
    return ("-e", json.dumps({"sglang_benchmark_args": more}))


def test_the_cluster_is_measured_and_passes(bench):
    bench.knobs(token_seconds=FAST)
    with bench.watched("p1") as samples:
        status, output = bench.run()
    assert status == 0, output
    assert "PASSED: mean TPOT" in output
    assert "published 41 ms, ratio 0." in output
    (kept,) = bench.kept()
    verdict = bench.verdict()
    assert verdict["passed"]
    assert verdict["requests"] == {"asked": 20, "sent": 20, "completed": 20, "failed": 0, "errors": {}}
    assert verdict["load"]["dataset"] == "random"
    assert verdict["tokens"] == {"input": 20 * 64, "output": 20 * 20}
    # Times are measured, not made up: an answer takes 20 times as long as a token.
    assert verdict["latency_ms"]["e2e"]["mean"] >= 20 * FAST * 1000
    assert verdict["latency_ms"]["tpot"]["mean"] < PUBLISHED
    cluster, card = verdict["throughput_per_second"]["cluster"], verdict["throughput_per_second"]["card"]
    assert card["output"] == cluster["output"] / 16
    assert {one["topic"] for one in verdict["conditions"]} == {"override", "deviation"}
    raw = json.loads(gzip.decompress((kept / "result-details.jsonl.gz").read_bytes()))
    assert len(raw["ttfts"]) == 20
    small = json.loads((kept / "result.jsonl").read_text())
    assert small == {name: value for name, value in raw.items() if name in small}
    for name in ("plan.json", "run.json", "samples.json", "benchmark.md", "benchmark.html", "output.log"):
        assert (kept / name).stat().st_size > 100, name
    # The server's own count: the completion before the benchmark, a request to warm up, and the twenty.
    total = [one["num_requests_total"] for one in samples]
    assert total[-1] - total[0] == 1 + 1 + 20
    # At the asked rate: twenty at five a second, not at once.
    first, last = (next(one["at"] for one in samples if one["num_requests_total"] >= total[-1] - n) for n in (19, 0))
    assert 2 < last - first < 20


def test_it_leaves_nothing_and_tells_no_key(bench):
    assert bench.left() == ENDED
    for path in bench.kept()[0].iterdir():
        data = path.read_bytes()
        assert KEY.encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data), path.name
    found = bench.hosts["r1"].run(f"journalctl --no-pager | grep -F {KEY} || true")
    # What the test itself asked for may stand there; nothing of the benchmark does.
    assert not [line for line in found.splitlines() if "benchmark" in line or "bench_serving" in line]


DATASETS = {
    "generated-shared-prefix": (
        {
            "gsp-num-groups": 3,
            "gsp-prompts-per-group": 4,
            "gsp-system-prompt-len": 60,
            "gsp-question-len": 10,
            "gsp-output-len": 33,
        },
        # Prefix, question, and the blank line between them.
        {"requests": 12, "at_once": 3, "input": 12 * 71, "chats": 0},
    ),
    "image": (
        {
            **RANDOM,
            **ONE_SECOND,
            "backend": "sglang-oai-chat",
            "image-resolution": "56x84",
            "image-count": 2,
            "num-prompts": 8,
        },
        # A patch of 28 by 28 pixels is a token.
        {"requests": 8, "at_once": 2, "input": 8 * (64 + 2 * 2 * 3), "chats": 8 + 1},
    ),
}


@pytest.mark.parametrize("name", DATASETS)
def test_the_other_datasets_go_through_the_router_too(bench, name):
    asked, expected = DATASETS[name]
    bench.knobs(token_seconds=STEADY)
    limits = {"dataset-name": name, "max-concurrency": expected["at_once"], "request-rate": None}
    with bench.watched() as samples:
        status, output = bench.run(*args(**asked, **limits), playbook=MEASURE)
    verdict = bench.verdict()
    requests = expected["requests"]
    assert status == 0, output
    assert verdict["load"]["dataset"] == name
    assert (verdict["requests"]["sent"], verdict["requests"]["completed"]) == (requests, requests), output
    assert verdict["tokens"] == {"input": expected["input"], "output": requests * 33}
    # As many at once as asked, never more: what the server saw, and what this must take.
    assert max(one["num_running_reqs"] for one in samples) == expected["at_once"]
    assert verdict["seconds"] >= requests / expected["at_once"] * 33 * STEADY
    first, last = samples[0], samples[-1]
    assert last["num_requests_total"] - first["num_requests_total"] == 1 + requests
    assert last["generation_tokens_total"] - first["generation_tokens_total"] == 32 + requests * 33
    assert last["chats"] - first["chats"] == expected["chats"]


def test_a_host_outside_the_plan_may_ask_where_the_entrance_listens_for_it(bench):
    bench.knobs(token_seconds=FAST)
    running = bench.start(*args(**RANDOM, **{"num-prompts": 8, "request-rate": 4}), "-e", "sglang_benchmark_host=b1")
    seen = set()
    until(lambda: _seen(bench, seen) or running.poll() is not None, "the benchmark runs on b1")
    output = bench.rest(running)
    assert running.returncode == 0, output
    assert seen == {"b1"}
    verdict = bench.verdict()
    assert verdict["requests"]["completed"] == 8
    assert "asked from b1, the page asks on the entrance's own host" in [one["what"] for one in verdict["conditions"]]
    assert bench.left("b1") == ENDED


def _seen(bench, seen):
    """The hosts on which a benchmark runs now."""
    seen |= {name for name in ("r1", "b1") if bench.left(name) != ENDED}
    return seen


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"sglang_benchmark_host": "b1", "sglang_router_args": {"mini-lb": False}},
            "the entrance listens on 127.0.0.1 of r1, where b1 cannot ask it",
        ),
        ({"sglang_benchmark_host": "b2"}, "b2 is no host of the inventory"),
        ({"sglang_benchmark_args": {"max-concurency": 4}}, "max-concurency"),
        ({"sglang_benchmark_args": {"port": 1}}, "It is the entrance of the plan"),
        ({"sglang_benchmark_tolerance": "much"}, "sglang_benchmark_tolerance"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words_before_anything_runs(bench, options, words):
    before = bench.begun()
    status, output = bench.run("-e", json.dumps(options))
    assert status != 0
    assert words in output
    assert "Traceback" not in output
    assert "Look at the cluster" not in output
    assert bench.begun() == before


def test_a_cluster_that_is_not_the_plans_is_not_measured(bench):
    before = bench.begun()
    changed = {"enable-metrics": True, "max-running-requests": 7}
    status, output = bench.run("-e", json.dumps({"sglang_decode_args": changed}))
    assert status != 0
    assert "The cluster is not ready, or not as planned" in output
    assert "TASK [ascend.sglang.benchmark : Measure]" not in output
    assert bench.begun() == before


def test_a_service_that_breaks_meanwhile_turns_the_verdict(bench):
    bench.knobs(token_seconds=STEADY)
    running = bench.start(*args(**LONG))
    # Some have been answered, and most have not been sent.
    bench.wait_answered(4)
    # Nothing of it is in a command line while it runs.
    assert KEY not in bench.hosts["r1"].run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    # Killed, and kept from starting again.
    bench.decode("kill --signal=KILL", "stop")
    output = bench.rest(running)
    assert running.returncode != 0, output
    assert "The benchmark did not pass: " in output, output
    assert "of 120 requests failed, 0 may" in output, output
    assert "Traceback" not in output, output
    verdict = bench.verdict()
    assert not verdict["passed"]
    assert 4 <= verdict["requests"]["completed"] < 120
    assert verdict["requests"]["failed"] == 120 - verdict["requests"]["completed"]
    assert verdict["requests"]["errors"]
    assert bench.left() == ENDED


def test_a_cluster_that_is_not_ready_is_not_measured(bench):
    before = bench.begun()
    status, output = bench.run()
    assert status != 0
    assert "The cluster is not ready, or not as planned" in output
    assert "sglang-decode on d1" in output
    assert "TASK [ascend.sglang.benchmark : Measure]" not in output
    assert bench.begun() == before


def test_a_slow_service_turns_it_too_and_says_beside_what(bench):
    bench.knobs(token_seconds=SLOW)
    bench.decode("start")
    bench.wait_answering()
    status, output = bench.run(*args(**RANDOM, **{"num-prompts": 6, "request-rate": None}))
    assert status != 0, output
    assert "ms, more than 10 % more than the published 41 ms" in output
    verdict = bench.verdict()
    assert verdict["figures"][0]["ratio"] > 0.9 * SLOW * 1000 / PUBLISHED
    assert verdict["requests"]["failed"] == 0
    # The run before was another load: that is what changed.
    assert "benchmark --num-prompts: 120 -> 6" in output
    page = (bench.kept()[-1] / "benchmark.html").read_text()
    assert "Beside the run before" in page


# Ctrl-C in a terminal; what `timeout` and a CI system send.
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_one_ends_on_its_host(bench, number):
    before = bench.begun()
    bench.knobs(token_seconds=STEADY)
    # Minutes, of which it is given a few seconds.
    running = bench.start(*args(**{**LONG, "num-prompts": 500}), playbook=MEASURE)
    bench.wait_answered(1)
    bench.wait_said(running, "r1: the benchmark has started; interrupting the playbook ends it there, too")
    # Two would measure each other. The second leaves the first alone.
    status, output = bench.run(*args(**RANDOM, **{"num-prompts": 1}), playbook=MEASURE)
    assert status != 0
    assert "a benchmark runs on this host already (sglang-benchmark.service, since " in output
    assert bench.left() != ENDED
    os.killpg(running.pid, number)
    output = bench.rest(running)
    assert running.returncode != 0
    assert "Traceback" not in output
    # Where the interruption does not get through it ends by itself after a minute.
    until(lambda: bench.left() == ENDED, "it has ended on its host")
    assert "The benchmark was ended" in bench.hosts["r1"].run("journalctl --no-pager -n 20 -u sglang-benchmark")
    until(lambda: bench.begun() == before, "and nothing of it is kept")


def test_one_that_takes_too_long_is_ended_and_says_so(bench):
    status, output = bench.run(*args(**LONG), "-e", "benchmark_timeout=8", playbook=MEASURE)
    assert status != 0
    assert "was ended after 8 s without a result. Set sglang_benchmark_timeout for a longer one" in output
    assert bench.left() == ENDED
