# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Result files of both SGLang versions, and what is none."""

from __future__ import annotations

import json
import math

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import ResultError, Spread, parse

from .kept import RESULTS, recorded

NAMES = sorted(path.stem for path in RESULTS.glob("*.jsonl"))


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_the_files_own(name):
    raw = json.loads((RESULTS / f"{name}.jsonl").read_text())
    found = parse((RESULTS / f"{name}.jsonl").read_text())
    assert (found.completed, found.duration) == (raw["completed"], raw["duration"])
    for kind, spread in (("ttft", found.ttft), ("tpot", found.tpot), ("itl", found.itl), ("e2e_latency", found.e2e)):
        assert spread.as_dict() == {
            statistic: raw.get(f"{statistic}_{kind}_ms") for statistic in ("mean", "median", "std", "p90", "p95", "p99")
        }
    assert found.throughputs == {kind: raw[f"{kind}_throughput"] for kind in ("request", "input", "output", "total")}
    assert found.total_output_tokens == raw["total_output_tokens"]


def test_the_older_version_has_fewer_percentiles_and_the_newer_has_all():
    old, new = parse(recorded()), parse(recorded("0.5.23-sglang"))
    assert (old.tpot.p90, old.tpot.p95, old.itl.p90) == (None, None, None)
    assert old.itl.p95 is not None
    assert all(
        value is not None for spread in (new.ttft, new.tpot, new.itl, new.e2e) for value in spread.as_dict().values()
    )
    assert new.tpot.mean == old.tpot.mean


def test_the_file_is_pythons_json():
    assert '"request_rate": Infinity' in recorded()
    assert parse(recorded()).completed == 8


def test_the_last_line_counts():
    assert parse(recorded(completed=3) + "\n" + recorded(completed=5) + "\n\n").completed == 5


def test_without_an_answer_there_are_no_times():
    """What numpy makes of nothing: zeros for some, NaN for others. Neither is a time."""
    nothing = {
        f"{kind}_{name}_ms": 0.0 for kind in ("mean", "median", "std", "p99") for name in ("ttft", "tpot", "itl")
    }
    found = parse(recorded(completed=0, mean_e2e_latency_ms=math.nan, p90_e2e_latency_ms=math.nan, **nothing))
    assert found.ttft == found.tpot == found.itl == found.e2e == Spread()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the result file is empty"),
        ("\n \n", "the result file is empty"),
        ("{", "its last line is no JSON"),
        ("[1]", "its last line is no JSON object"),
        (recorded(mean_tpot_ms=...), "its last line has no mean_tpot_ms"),
        (recorded(completed=..., duration=...), "has no completed, duration"),
        (recorded(completed="8"), "its completed is no number: '8'"),
        (recorded(completed=True), "its completed is no number: True"),
        (recorded(completed=-1), "its completed is no count: -1"),
        (recorded(completed=math.nan), "its completed is no count: nan"),
    ],
)
def test_what_is_no_result_is_said_in_words(text, message):
    with pytest.raises(ResultError, match=message.replace("(", r"\(")):
        parse(text)


@pytest.mark.parametrize("key", ["output_throughput", "mean_ttft_ms", "mean_tpot_ms", "mean_itl_ms"])
def test_a_figure_that_is_null_is_not_measured_and_one_of_another_kind_is_refused(key):
    assert parse(recorded(**{key: None})).figure(key) is None
    with pytest.raises(ResultError, match=f"its {key} is no number: 'fast'"):
        parse(recorded(**{key: "fast"}))


def test_a_last_line_that_breaks_off_is_none_although_an_earlier_one_is_whole():
    """The earlier line is another run's."""
    with pytest.raises(ResultError, match="its last line is no JSON"):
        parse(recorded() + recorded()[:200])
