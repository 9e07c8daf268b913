# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages as a browser lays them out: nothing overlaps, nothing is asked for, readable in light and dark."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking import history
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.comparison import compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import parse
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.verdict import Limits, judge
from ansible_collections.ascend.sglang.plugins.plugin_utils.report import benchmark_page, comparison_page, plan_page
from unit.benchmarking.kept import MIXED, NOW, R1, keep, recorded, samples
from unit.compiler.cluster import plan_of, planned

MIXED_TWO = "kimi-k2-6-w4a8-16p-in64k-out1k-100ms"
NOTE = "The profile was taken by its own name."

# 4 hosts and a router; 10 + 22 hosts and a router; and the other shapes that clusters have.
PLANS = {
    "4": lambda: plan_of(R1),
    "32": lambda: plan_of(R1, sglang_instances={"prefill": 10, "decode": 11}),
    "32-dedicated-store": lambda: plan_of(
        R1,
        sglang_instances={"prefill": 10, "decode": 11},
        sglang_store="dedicated",
        sglang_router_args={"mini-lb": False},
    ),
    "mixed": lambda: plan_of(MIXED),
    "mixed-two-nodes": lambda: plan_of(MIXED_TWO),
    "32-mixed": lambda: planned(
        MIXED, groups={"mixed": [f"m{n}" for n in range(32)], "router": ["r1"]}, sglang_instances={"mixed": 32}
    ),
    "router-on-prefill": lambda: planned(
        R1, groups={"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["p1"]}
    ),
    "names-and-ipv6": lambda: planned(
        R1,
        groups={"prefill": ["p" * 60, "p2"], "decode": ["rack-7.long.example.org", "d2"], "router": ["r1"]},
        hosts={
            "p" * 60: {"sglang_data_address": "2001:db8:1234:5678:9abc:def0:1234:5678"},
            "p2": {"sglang_data_address": "2001:db8::2"},
            "rack-7.long.example.org": {"sglang_data_address": "node-with-a-long-name.rack-7.data.example.org"},
        },
    ),
    "overrides": lambda: plan_of(
        R1,
        sglang_decode_args={"max-running-requests": 512, "served-model-name": "<b>&\"'</b>"},
        sglang_prefill_args={"served-model-name": "<b>&\"'</b>"},
        sglang_decode_env={"LONG": "x" * 400},
        sglang_engine="0.5.23",
    ),
}


def clean(saw):
    assert saw["errors"] == []
    assert saw["overlaps"] == []
    assert saw["outside"] == []
    assert saw["faint"] == []
    assert saw["resources"] == []
    assert saw["width"] <= 0, "the page is wider than the window"


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plan_page(browser, name, theme):
    plan = PLANS[name]()
    saw = browser.look(plan_page.html(plan, NOTE), theme)
    clean(saw)
    # The clients are a box too.
    assert saw["counts"]["service"] == len(plan.services) + 1
    assert saw["counts"]["text"] > 4 * len(plan.services)


@pytest.mark.parametrize("width", [480, 900, 1920])
def test_plan_page_in_windows_of_all_widths(browser, width):
    clean(browser.look(plan_page.html(PLANS["4"](), NOTE), "light", width))


def test_light_and_dark_are_not_the_same(browser):
    page = plan_page.html(PLANS["mixed"](), NOTE)
    assert browser.look(page, "light")["background"] == "rgb(255, 255, 255)"
    assert browser.look(page, "dark")["background"] == "rgb(20, 24, 29)"


def measured(tmp_path, text=None, told=None, **settings):
    path = keep(tmp_path, text, **settings)
    run = history.read(path)
    run = history.Run(run.path, run.plan, run.about, run.result, told or samples(), run.verdict)
    return run, judge(run.plan, run.about["page"], parse(run.result), run.samples, Limits())


BIG = {"sglang_instances": {"prefill": 10, "decode": 11}}
WIDE = samples(
    ttft_ms=[1.5**number for number in range(40)],
    tpot_ms=[0.001 * number for number in range(200)],
    itl_ms=[1000.0, 250000.0],
)
BENCHMARKS = {
    "passed": {},
    "failed": {
        "told": samples(sent=20, errors={"Service Unavailable: <no worker> " * 8: 12}),
        "text": recorded(mean_tpot_ms=99.0),
    },
    "newer": {"text": recorded("0.5.23-sglang"), "sglang_engine": "0.5.23"},
    "32": BIG,
    "wide": {"told": WIDE},
    "nothing": {
        "text": recorded(completed=0, mean_e2e_latency_ms=math.nan),
        "told": samples(ttft_ms=[], tpot_ms=[], itl_ms=[], errors={"gone": 8}),
    },
}


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_benchmark_page(browser, tmp_path, name, theme):
    run, verdict = measured(tmp_path, **BENCHMARKS[name])
    saw = browser.look(benchmark_page.html(run, verdict, None), theme)
    clean(saw)
    assert (saw["counts"].get("plot text", 0) > 20) is (name != "nothing")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_comparison(browser, tmp_path, theme):
    before = history.read(keep(tmp_path))
    after = history.read(
        keep(
            tmp_path,
            recorded(mean_tpot_ms=2.0),
            now=NOW + timedelta(hours=1),
            sglang_decode_args={"max-running-requests": 5},
        )
    )
    compared = compare(before, after)
    clean(browser.look(comparison_page.html(compared), theme))
    verdict = judge(after.plan, after.about["page"], parse(after.result), after.samples, Limits())
    clean(browser.look(benchmark_page.html(after, verdict, compared), theme))
