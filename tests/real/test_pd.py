# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real prefill and decode on hosts of their own behind the real router; mooncake moves the cache over TCP."""

from __future__ import annotations

import json
import math

import pytest
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


def readiness(cluster):
    url = cluster.plan["entrances"][0]["url"]
    ask = f"curl --noproxy '*' -s -m 5 -o /dev/null -w '%{{http_code}}' {url}/readiness || true"
    return cluster["h1"].run(ask)


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
    assert one.answers() == expected
    moved = one["h1"].run(f"journalctl --no-pager --output=cat --unit={PREFILL} | grep -c 'Prefill batch'")
    assert int(moved) > len(expected)


def test_a_second_deployment_changes_nothing(one):
    before = one.runs()
    assert one.deploy().count("changed") == 0
    assert one.runs() == before
    told = one.status()
    assert told["ready"]
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
    """The router says so; with mooncake its decode goes on, and what was moved is answered."""
    before = one.runs()
    one.kill("h1", PREFILL)
    noticed = within(60, lambda: [] if readiness(one) == "503" else "the router is said to be ready", 0.3)
    failed = one.ask(limit=60, prompts=["Hello"])
    told = one.status()
    back = within(180, lambda: [] if readiness(one) == "200" else "the router has no prefill")
    measured(f"prefill killed: the router says so after {noticed} s, and is ready again {back} s later")
    assert not told["ready"] or "answers" in failed
    assert one.answers() == expected
    after = one.runs()
    assert after[f"h2 {DECODE}"] == before[f"h2 {DECODE}"]
    assert after[f"h1 {PREFILL}"] != before[f"h1 {PREFILL}"]


def test_a_power_cut_of_decode(one, expected, measured):
    one.power("kill", "h2")
    one.power("boot", "h2")
    seconds = within(240, lambda: one.ask(limit=60, prompts=["Hello"]).get("failure"), 2)
    measured(f"decode's host without power: answered again after {seconds} s")
    assert one.answers() == expected
    assert one.deploy().count("changed") == 0


def test_two_prefills_answer_as_one_server_does(two, expected):
    assert two.answers() == expected
    asked = [
        two[host].run(f"journalctl --no-pager --output=cat --unit={PREFILL} | grep -c 'POST /'")
        for host in P2D1.groups["prefill"]
    ]
    assert min(map(int, asked)) > 3


def test_one_of_two_prefills_is_enough(two, expected, measured):
    before = two.runs()
    two.kill("h3", PREFILL)
    seconds = within(60, lambda: two.ask(limit=60, prompts=["Hello"]).get("failure"))
    measured(f"one of two prefills killed: every request answered after {seconds} s")
    within(180, lambda: [] if two.status()["ready"] else "not ready")
    assert two.answers() == expected
    after = two.runs()
    assert [name for name in after if after[name] != before[name]] == [f"h3 {PREFILL}"]
