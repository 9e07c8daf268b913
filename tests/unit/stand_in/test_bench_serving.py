# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load generator: the real one's command line and result file, requests really sent, times really measured."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ENGINE = Path(__file__).resolve().parents[2] / "stand_in" / "engine"
RESULTS = Path(__file__).resolve().parents[1] / "benchmarking" / "results"
RANDOM = {
    "dataset-name": "random-ids",
    "num-prompts": 6,
    "random-input-len": 16,
    "random-output-len": 8,
    "random-range-ratio": 1,
}


def bench(directory, port, *bare, env=None, version="0.5.13.post1", **flags):
    """Run it; its status, what it printed, and its result (None where it wrote none)."""
    given = {"backend": "sglang", "host": "127.0.0.1", "port": port, "output-file": directory / "out.jsonl", **flags}
    words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ENGINE), "STAND_IN_VERSION": version, **(env or {})}
    done = subprocess.run(
        [sys.executable, "-m", "sglang.bench_serving", *words, *(f"--{name}" for name in bare)],
        env=environment, cwd=directory, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    out = directory / "out.jsonl"
    result = json.loads(out.read_text().splitlines()[-1]) if out.exists() else None
    return done.returncode, done.stdout + done.stderr, result


@pytest.fixture
def server(serve):
    """A mixed stand-in server that is ready."""
    return serve().wait_ready()


@pytest.mark.parametrize(("version", "name"), [("0.5.13.post1", "0.5.13.post1-ids"), ("0.5.23", "0.5.23-sglang")])
def test_its_result_has_the_keys_of_the_real_one_in_their_order(tmp_path, server, version, name):
    status, output, result = bench(tmp_path, server.port, version=version, **RANDOM)
    assert status == 0, output
    real = json.loads((RESULTS / f"{name}.jsonl").read_text())
    assert list(result) == [key for key in real if key != "cache_report"]
    kinds = {key: type(value) for key, value in real.items() if value is not None and key in result}
    same = {key: kind for key, kind in kinds.items() if key not in ("max_concurrency", "server_info", "request_rate")}
    assert {key: type(result[key]) for key in same} == same


def test_all_requests_are_sent_and_measured(tmp_path, server):
    _status, output, result = bench(tmp_path, server.port, "output-details", **RANDOM)
    assert result["completed"] == 6
    assert (result["total_input_tokens"], result["total_output_tokens"]) == (6 * 16, 6 * 8)
    assert result["request_rate"] == float("inf")
    # The server's own log counts them: six, one to warm up, and the server's own warm-up.
    assert server.log.count('"POST /generate HTTP/1.1" 200') == 6 + 1 + 1
    assert [len(result[key]) for key in ("input_lens", "output_lens", "ttfts", "itls", "errors")] == [6] * 5
    assert all(len(itls) == 7 for itls in result["itls"])
    # 1 ms a token, in this server.
    assert result["mean_e2e_latency_ms"] >= 8
    assert result["mean_e2e_latency_ms"] == pytest.approx(result["mean_ttft_ms"] + 7 * result["mean_tpot_ms"], rel=0.01)
    assert "Warmup completed with 1 sequences. Starting main benchmark run..." in output
    assert " 6/6 [" in output


def test_a_line_is_appended_for_each_run(tmp_path, server):
    for tag in ("a", "b"):
        bench(tmp_path, server.port, tag=tag, **RANDOM)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["tag"] for line in lines] == ["a", "b"]


class Recorder:
    """A server that notes when requests come and go, and takes its time."""

    def __init__(self, seconds, status=200):
        outer, self.spans, self.lock, self.headers = self, [], threading.Lock(), []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer(200, {"data": [{"id": "/"}]} if self.path == "/v1/models" else None)

            def do_POST(self):
                begin = time.perf_counter()
                self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(seconds)
                text = {"text": " a b", "meta_info": {"completion_tokens": 2}}
                with outer.lock:
                    outer.spans.append((begin, time.perf_counter()))
                    outer.headers.append(dict(self.headers))
                if status != 200:
                    self.answer(status, {"error": "no"})
                    return
                body = f"data: {json.dumps(text)}\n\ndata: [DONE]\n\n".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def answer(self, code, value):
                body = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def most_at_once(self):
        return max(sum(begin <= when < end for begin, end in self.spans) for when, _end in self.spans)


@pytest.fixture
def recorder():
    started = []

    def start(*words):
        started.append(Recorder(*words))
        return started[0]

    yield start
    for one in started:
        one.server.shutdown()
        one.server.server_close()


def test_never_more_at_once_than_asked(tmp_path, recorder):
    told = recorder(0.1)
    _status, _output, result = bench(tmp_path, told.port, **{**RANDOM, "num-prompts": 12, "max-concurrency": 3})
    assert len(told.spans) == 13
    assert told.most_at_once() == 3
    assert result["max_concurrent_requests"] >= 3
    assert result["duration"] >= 0.4


def test_requests_are_begun_at_the_asked_rate(tmp_path, recorder):
    told = recorder(0.0)
    _status, _output, result = bench(tmp_path, told.port, **{**RANDOM, "num-prompts": 40, "request-rate": 40})
    begun = sorted(begin for begin, _end in told.spans[1:])
    # A Poisson process: forty gaps of a fortieth of a second, on average.
    assert 0.5 < begun[-1] - begun[0] < 2.0
    assert result["duration"] == pytest.approx(begun[-1] - begun[0], abs=0.5)


def test_without_a_rate_all_are_begun_at_once(tmp_path, recorder):
    told = recorder(0.3)
    bench(tmp_path, told.port, **RANDOM)
    assert told.most_at_once() == 6


def test_the_key_is_the_environments_and_in_no_argument(tmp_path, recorder):
    told = recorder(0.0)
    bench(tmp_path, told.port, env={"OPENAI_API_KEY": "k1"}, **RANDOM)
    assert {one.get("Authorization") for one in told.headers} == {"Bearer k1"}


def test_requests_that_fail_are_counted_with_their_errors(tmp_path, recorder):
    told = recorder(0.0, 503)
    status, _output, result = bench(tmp_path, told.port, "output-details", **RANDOM, **{"warmup-requests": 0})
    assert (status, result["completed"], result["mean_tpot_ms"]) == (0, 0, 0.0)
    assert result["mean_e2e_latency_ms"] != result["mean_e2e_latency_ms"]  # NaN, as numpy has it
    assert all("Service Unavailable" in error for error in result["errors"])


def test_a_failed_warm_up_ends_it(tmp_path, recorder):
    status, output, result = bench(tmp_path, recorder(0.0, 503).port, **RANDOM)
    assert (status, result) == (1, None)
    assert "Warmup failed - Please make sure benchmark arguments are correctly specified." in output


def test_a_server_that_is_not_there_is_waited_for(tmp_path, free_port):
    status, output, _result = bench(tmp_path, free_port(), **RANDOM, **{"ready-check-timeout-sec": 1})
    assert status == 1
    assert "is not ready. Exiting." in output


def test_an_unknown_option_ends_it(tmp_path):
    status, output, _result = bench(tmp_path, 1, "no-such-option")
    assert status == 2
    assert "bench_serving.py: error: unrecognized arguments: --no-such-option" in output


# Datasets


def test_random_wants_a_file_and_takes_as_many_texts_as_it_has(tmp_path, server):
    asked = {**RANDOM, "dataset-name": "random"}
    status, output, _result = bench(tmp_path, server.port, **asked)
    assert status == 1
    assert "An error happened while trying to locate the file on the Hub" in output
    texts = [{"conversations": [{"from": "human", "value": f"question {n}"}, {"value": "answer"}]} for n in range(4)]
    (tmp_path / "texts.json").write_text(json.dumps([*texts, {"conversations": [{"value": "alone"}]}]))
    status, output, result = bench(tmp_path, server.port, **asked, **{"dataset-path": "texts.json"})
    assert status == 0, output
    assert (result["completed"], result["total_input_tokens"]) == (4, 4 * 16)


def test_a_shared_prefix_is_shared(tmp_path, server):
    asked = {
        "dataset-name": "generated-shared-prefix",
        "gsp-num-groups": 2,
        "gsp-prompts-per-group": 3,
        "gsp-system-prompt-len": 50,
        "gsp-question-len": 10,
        "gsp-output-len": 4,
        "num-prompts": 99,
    }
    status, output, result = bench(tmp_path, server.port, **asked)
    assert status == 0, output
    assert (result["completed"], result["total_output_tokens"]) == (6, 24)
    # The prefix, the question, and the blank line between them.
    assert result["total_input_tokens"] == 6 * 61


def test_images_cost_tokens_of_their_own(tmp_path, server):
    asked = {**RANDOM, "dataset-name": "image", "image-resolution": "56x84", "image-count": 2, "num-prompts": 2}
    status, output, result = bench(tmp_path, server.port, **{**asked, "backend": "sglang-oai-chat"})
    assert status == 0, output
    assert result["total_input_vision_tokens"] == 2 * 2 * (2 * 3)
    assert result["total_input_text_tokens"] == 2 * 16
    assert result["completed"] == 2


@pytest.mark.parametrize("backend", ["sglang-oai", "sglang-oai-chat"])
def test_openais_endpoints_are_measured_too(tmp_path, server, backend):
    status, output, result = bench(tmp_path, server.port, **{**RANDOM, "backend": backend})
    assert status == 0, output
    assert (result["completed"], result["total_output_tokens"]) == (6, 48)
    assert result["mean_tpot_ms"] > 0.5


def test_every_benchmark_of_the_profiles_is_understood(tmp_path):
    import yaml

    sys.path.insert(0, str(ENGINE))
    from sglang.bench_serving_parts import arguments

    profiles = Path(__file__).resolve().parents[3] / "profiles"
    for path in sorted(profiles.glob("*.yml")):
        benchmark = (yaml.safe_load(path.read_text()) or {}).get("benchmark")
        if benchmark:
            words = [word for name, value in benchmark["args"].items() for word in (f"--{name}", str(value))]
            for version in ("0.5.13.post1", "0.5.23"):
                assert arguments.parse(version, words).backend in ("sglang", "sglang-oai-chat")
