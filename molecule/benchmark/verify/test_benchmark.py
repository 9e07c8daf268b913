# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measured, refused, broken on purpose, slowed down, interrupted: in this order, on one cluster."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import signal

KEY = "a-key-for-the-benchmark"
ENDED = "inactive\n"
# Long enough to break something in the middle of it.
LONG = json.dumps(
    {
        "sglang_benchmark_args": {
            "dataset-name": "random-ids",
            "num-prompts": 200,
            "max-concurrency": 4,
            "request-rate": 20,
            "random-input-len": 64,
            "random-output-len": 60,
        }
    }
)


def test_the_cluster_is_measured_and_passes(bench):
    status, output = bench.run()
    assert status == 0, output
    assert "PASSED: mean TPOT" in output
    assert "published 41 ms, ratio 0." in output
    (kept,) = bench.kept()
    verdict = bench.verdict()
    assert verdict["passed"]
    assert verdict["requests"] == {"asked": 24, "sent": 24, "completed": 24, "failed": 0, "errors": {}}
    assert verdict["tokens"] == {"input": 24 * 64, "output": 24 * 40}
    # The stand-in takes 5 ms a token: times are measured, not made up.
    assert 5 <= verdict["latency_ms"]["tpot"]["mean"] < 41
    assert verdict["latency_ms"]["e2e"]["mean"] > verdict["latency_ms"]["ttft"]["mean"] + 39 * 5
    # 24 requests at 20 a second cannot all be sent at once.
    assert verdict["seconds"] > 0.6
    cluster, card = verdict["throughput_per_second"]["cluster"], verdict["throughput_per_second"]["card"]
    assert card["output"] == cluster["output"] / 16
    assert {one["topic"] for one in verdict["conditions"]} == {"override", "deviation"}
    raw = json.loads(gzip.decompress((kept / "result-details.jsonl.gz").read_bytes()))
    assert len(raw["ttfts"]) == 24
    assert json.loads((kept / "result.jsonl").read_text()) == {
        name: value for name, value in raw.items() if name in json.loads((kept / "result.jsonl").read_text())
    }
    for name in ("plan.json", "run.json", "samples.json", "benchmark.md", "benchmark.html", "output.log"):
        assert (kept / name).stat().st_size > 100, name


def test_it_leaves_nothing_and_tells_no_key(bench):
    assert bench.left() == ENDED
    for path in bench.kept()[0].iterdir():
        data = path.read_bytes()
        assert KEY.encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data), path.name
    found = bench.hosts["r1"].run(f"journalctl --no-pager | grep -F {KEY} || true")
    # What the test itself asked for may stand there; nothing of the benchmark does.
    assert not [line for line in found.splitlines() if "benchmark" in line or "bench_serving" in line]


def test_a_service_that_breaks_meanwhile_turns_the_verdict(bench):
    running = bench.start("-e", LONG)
    bench.until(running, "the benchmark is measuring|requests answered")
    # Nothing of it is in a command line while it runs.
    assert KEY not in bench.hosts["r1"].run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    # Killed, and kept from starting again.
    bench.decode("kill --signal=KILL", "stop")
    output = bench.rest(running)
    assert running.returncode != 0, output
    assert "the benchmark did not pass: " in output, output
    assert "requests failed, 0 may" in output, output
    assert "Traceback" not in output, output
    verdict = bench.verdict()
    assert not verdict["passed"]
    assert 0 < verdict["requests"]["completed"] < 200
    assert verdict["requests"]["failed"] == 200 - verdict["requests"]["completed"]
    assert verdict["requests"]["errors"]
    assert bench.left() == ENDED


def test_a_cluster_that_is_not_ready_is_not_measured(bench):
    before = bench.kept()
    status, output = bench.run()
    assert status != 0
    assert "The cluster is not ready, or not as planned" in output
    assert "sglang-decode on d1" in output
    assert "TASK [ascend.sglang.benchmark : Measure]" not in output
    assert bench.kept() == before


def test_a_slow_service_turns_it_too_and_says_beside_what(bench):
    bench.knobs(token_seconds=0.06)
    bench.decode("start")
    bench.wait_ready()
    status, output = bench.run()
    assert status != 0, output
    assert "ms, more than 10 % more than the published 41 ms" in output
    verdict = bench.verdict()
    assert verdict["figures"][0]["ratio"] > 60 / 41
    assert verdict["requests"]["failed"] == 0
    # The run before was another load: that is what changed.
    assert "benchmark --num-prompts: 200 -> 24" in output
    first, last = bench.verdict(0), bench.verdict()
    assert first["plan_hash"] == last["plan_hash"]
    page = (bench.kept()[-1] / "benchmark.html").read_text()
    assert "Beside the run before" in page


def test_an_interrupted_one_ends_on_its_host(bench):
    before = bench.kept()
    bench.knobs()
    running = bench.start("-e", LONG, playbook=str(pathlib.Path(__file__).parent / "measure.yml"))
    bench.until(running, "the benchmark is measuring|requests answered")
    assert bench.left() != ENDED
    os.killpg(running.pid, signal.SIGINT)
    bench.rest(running)
    assert running.returncode != 0
    assert bench.left() == ENDED
    assert bench.kept() == before
