# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real prefill and decode on hosts of their own behind the real router; mooncake moves the cache over TCP."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from on_hosts.places import PLACES
from real.cluster import P1D1, P2D1, within

CONVERSATIONS = [
    {
        "conversations": [
            {"from": "human", "value": f"Tell me number {turn} of many things that nobody needs to know."},
            {"from": "gpt", "value": "There is a lot that nobody needs, and somebody knows all of it. " * 3},
        ]
    }
    for turn in range(40)
]
PREFILL, DECODE = "sglang-prefill", "sglang-decode"
# Seconds of work for one request.
LONG = {"text": "Hello", "stream": True, "sampling_params": {"max_new_tokens": 1000, "ignore_eos": True}}


def readiness(cluster):
    url = cluster.plan["entrances"][0]["url"]
    ask = f"curl --noproxy '*' -s -m 5 -o /dev/null -w '%{{http_code}}' {url}/readiness || true"
    return cluster["h1"].run(ask)


def posts(cluster, host, unit):
    """How many requests the present run of a server has had. Health checks are others."""
    return cluster.log(host, unit).count('"POST /')


class Stream:
    """A long answer, asked at the entrance; it has begun when this returns."""

    def __init__(self, cluster) -> None:
        url = cluster.plan["entrances"][0]["url"]
        ask = f"curl --noproxy '*' -sS -N -m 120 -H 'Content-Type: application/json' -d @- {url}/generate"
        pipe = subprocess.PIPE
        self._asked = subprocess.Popen(cluster["h1"].ssh(ask), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert self._asked.stdin
        assert self._asked.stdout
        self._asked.stdin.write(json.dumps(LONG))
        self._asked.stdin.close()
        self.begin = self._asked.stdout.readline()

    def end(self) -> Mapping[str, Any]:
        """The last event before [DONE]."""
        assert self._asked.stdout
        text = self.begin + self._asked.stdout.read()
        self._asked.wait(30)
        events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        assert events[-1:] == ["[DONE]"], text[-500:]
        return json.loads(events[-2])


@pytest.fixture(scope="module")
def one(cluster, expected):
    """One prefill, one decode."""
    cluster.deploy(P1D1)
    return cluster


@pytest.fixture(scope="module")
def two(cluster, expected):
    """Two prefills, one decode."""
    cluster.deploy(P2D1)
    yield cluster
    # The next shape has no third host.
    cluster.run("remove").passed()


def test_prefill_and_decode_answer_as_one_server_does(one, expected):
    before = posts(one, "h1", PREFILL), posts(one, "h2", DECODE)
    assert one.answers() == expected
    asked = sum(len(ways) for ways in expected.values())
    assert posts(one, "h1", PREFILL) - before[0] == posts(one, "h2", DECODE) - before[1] == asked


def test_a_second_deployment_changes_nothing(one):
    before = one.runs()
    assert one.deploy().count("changed") == 0
    assert one.runs() == before
    told = one.status_when_ready()
    assert not told["differs"]
    assert {(each["role"], each["mode"]["reported"]) for each in told["services"] if each["role"] != "router"} == {
        ("prefill", "prefill"),
        ("decode", "decode"),
    }


def test_the_benchmark_measures_it(one, tmp_path):
    """bench_serving itself: without a rate its line of JSON has `Infinity`, which strict readers refuse."""
    one["h1"].run("cat >/root/conversations.json", json.dumps(CONVERSATIONS))
    told = {"sglang_benchmark_dataset": "/root/conversations.json", "sglang_benchmark_dir": str(tmp_path)}
    one.run("benchmark", **told).passed()
    (line,) = next(tmp_path.rglob("result.jsonl")).read_text().splitlines()
    assert '"request_rate": Infinity' in line
    result = json.loads(line)
    assert result["request_rate"] == math.inf
    assert (result["completed"], result["total_output_tokens"]) == (12, 12 * 8)
    assert result["mean_tpot_ms"] > 0
    verdict = json.loads(next(tmp_path.rglob("verdict.json")).read_text())
    assert verdict["passed"]
    assert verdict["requests"]["completed"] == 12


def test_a_prefill_that_is_killed(one, expected, measured):
    """systemd starts it anew. With mooncake its decode goes on, and what was moved is answered to its end."""
    before = one.runs()
    long = Stream(one)
    one.kill("h1", PREFILL)
    noticed = within(60, lambda: [] if readiness(one) == "503" else "the router is said to be ready", 0.3)
    back = within(180, lambda: [] if readiness(one) == "200" else "the router has no prefill")
    measured(f"prefill killed: the router says so after {noticed} s, and is ready again {back} s later")
    last = long.end()["meta_info"]
    assert (last["completion_tokens"], last["finish_reason"]["type"]) == (1000, "length")
    assert one.answers() == expected
    after = one.runs()
    assert after[f"h2 {DECODE}"] == before[f"h2 {DECODE}"]
    assert after[f"h1 {PREFILL}"] not in ("", before[f"h1 {PREFILL}"])


def test_a_prefill_that_is_not_there(one, expected):
    """What readiness, the answers and status say while nobody starts it."""
    before = one.runs()
    one["h1"].run(f"systemctl stop {PREFILL}", limit=90)
    within(60, lambda: [] if readiness(one) == "503" else "the router is said to be ready", 0.3)
    failed = one.ask(limit=60, prompts=["Hello"])["failure"]
    assert ": 503 " in failed
    assert "No available prefill workers" in failed
    told = one.status()
    assert not told["ready"]
    assert one.state(told, "h1", "prefill").startswith("stopped: ")
    assert one.state(told, "h2", "decode").startswith("ready: ")
    assert not one.state(told, "h1", "router").startswith("ready: ")
    said = one.wait_ready("h1", 5)
    assert f"{PREFILL} on h1" in said
    one["h1"].run(f"systemctl start {PREFILL}")
    within(180, lambda: [] if readiness(one) == "200" else "the router has no prefill")
    assert one.answers() == expected
    assert one.runs()[f"h2 {DECODE}"] == before[f"h2 {DECODE}"]


def test_a_power_cut_of_decode(one, expected, measured):
    one.power("kill", "h2")
    one.power("boot", "h2")
    seconds = within(240, lambda: one.ask(limit=60, prompts=["Hello"]).get("failure"), 2)
    measured(f"decode's host without power: answered again after {seconds} s")
    assert one.answers() == expected
    assert one.deploy().count("changed") == 0


KEY = "a-key-for-the-real-engine"
ASK_WITH_KEY = "curl --noproxy '*' -s -m 10 -H @/dev/stdin"


@pytest.fixture
def with_key(one):
    """Clients must send it; afterwards they need not any more."""
    one.deploy(sglang_api_key=KEY)
    yield one
    one.deploy()


def test_a_key_is_in_no_journal(with_key):
    """Each engine logs its arguments when it starts and tells them in /server_info, the key with them."""
    entrance = with_key.plan["entrances"][0]["url"]
    assert (
        with_key["h1"].run(f"curl --noproxy '*' -s -m 10 -o /dev/null -w '%{{http_code}}' {entrance}/workers") == "401"
    )
    for host, unit in (("h1", PREFILL), ("h2", DECODE)):
        (url,) = [each["url"] for each in with_key.services if each["unit"] == unit]
        told = json.loads(with_key[host].run(f"{ASK_WITH_KEY} {url}/server_info", f"Authorization: Bearer {KEY}\n"))
        assert told["api_key"] == KEY
        assert "api_key='<redacted>'" in with_key.log(host, unit)
        lines = "".join(map(with_key[host].run, PLACES.values()))
        assert len(lines) > 10000
        assert KEY not in lines


def test_two_prefills_answer_as_one_server_does(two, expected):
    before = {host: posts(two, host, PREFILL) for host in P2D1.groups["prefill"]}
    assert two.answers() == expected
    assert all(posts(two, host, PREFILL) - count > 3 for host, count in before.items())


def test_a_second_deployment_of_two_prefills_changes_nothing(two):
    before = two.runs()
    assert two.deploy().count("changed") == 0
    assert two.runs() == before


def test_one_of_two_prefills_is_enough(two, expected, measured):
    """One that nobody starts again: the other one answers everything."""
    before = two.runs()
    two["h3"].run(f"systemctl stop {PREFILL}", limit=90)
    seconds = within(60, lambda: two.ask(limit=60, prompts=["Hello"]).get("failure"))
    measured(f"one of two prefills stopped: every request answered after {seconds} s")
    assert two.answers() == expected
    told = two.status()
    assert two.runs()[f"h3 {PREFILL}"] == ""
    assert two.state(told, "h3", "prefill").startswith("stopped: ")
    two["h3"].run(f"systemctl start {PREFILL}")
    two.status_when_ready()
    assert two.answers() == expected
    after = two.runs()
    assert [name for name in after if after[name] != before[name]] == [f"h3 {PREFILL}"]
