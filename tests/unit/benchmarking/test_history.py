# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that are kept, by profile and plan, and two of them compared."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking import history
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.comparison import changes, compare

from .kept import NOW, R1, keep, plan, recorded


def test_plans_that_run_the_same_have_one_hash():
    first = plan()
    assert history.plan_hash(first) == history.plan_hash(plan())
    told = {**first, "findings": [{"level": "warning"}], "deviations": []}
    assert history.plan_hash(told) == history.plan_hash(first)
    for other in (
        plan(sglang_decode_args={"max-running-requests": 512}),
        plan(sglang_prefill_env={"X": "1"}),
        plan(sglang_benchmark_args={"num-prompts": 8}),
        plan(sglang_engine="0.5.23"),
        plan(sglang_instances={"prefill": 3}),
    ):
        assert history.plan_hash(other) != history.plan_hash(first)


def test_a_run_comes_back_as_it_was_kept(tmp_path):
    path = keep(tmp_path)
    assert path.parts[-3:] == (R1, history.plan_hash(plan())[:12], "20261130T111500Z")
    run = history.read(path)
    assert (run.plan, run.result, run.about["at"]) == (plan(), recorded(), "2026-11-30 11:15:00 UTC")
    assert run.samples is not None
    assert run.name == f"2026-11-30 11:15:00 UTC ({history.plan_hash(plan())[:12]})"


def test_runs_of_one_second_do_not_overwrite_each_other(tmp_path):
    first, second, third = keep(tmp_path), keep(tmp_path), keep(tmp_path)
    assert [path.name for path in (first, second, third)] == [
        "20261130T111500Z",
        "20261130T111500Z-2",
        "20261130T111500Z-3",
    ]
    assert history.runs(tmp_path, R1) == [first, second, third]


def test_runs_are_in_the_order_of_time_whatever_their_plans(tmp_path):
    late = keep(tmp_path, now=NOW + timedelta(hours=1))
    early = keep(tmp_path, now=NOW - timedelta(hours=1), sglang_decode_args={"max-running-requests": 512})
    tenth = [keep(tmp_path) for _unused in range(10)]
    assert history.runs(tmp_path, R1) == [early, *tenth, late]
    assert history.runs(tmp_path, "another") == []
    assert history.runs(tmp_path / "nothing", R1) == []


def test_a_run_without_a_verdict_is_none_to_compare_with(tmp_path):
    path = keep(tmp_path)
    (path / history.VERDICT).unlink()
    assert history.runs(tmp_path, R1) == []
    assert history.read(path).verdict == {}


@pytest.mark.parametrize("name", [history.PLAN, history.RUN, history.RESULT])
def test_a_directory_that_holds_no_run_is_said(tmp_path, name):
    path = keep(tmp_path)
    (path / name).unlink()
    with pytest.raises(history.HistoryError, match=f"{path} holds no run: {name} cannot be read"):
        history.read(path)


@pytest.mark.parametrize("name", [history.PLAN, history.RUN])
@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"plan_hash": "x", "profile": "y"}', "null"])
def test_a_file_that_somebody_changed_is_said(tmp_path, name, text):
    path = keep(tmp_path)
    (path / name).write_text(text)
    with pytest.raises(history.HistoryError, match="holds no run"):
        history.read(path)


@pytest.mark.parametrize("name", [history.SAMPLES, history.VERDICT])
def test_what_goes_with_a_run_must_be_an_object(tmp_path, name):
    path = keep(tmp_path)
    (path / name).write_text("[1]")
    with pytest.raises(history.HistoryError, match="holds no run"):
        history.read(path)


def test_the_plan_of_another_kind_is_none_of_a_benchmark(tmp_path):
    path = keep(tmp_path)
    (path / history.PLAN).write_text(json.dumps({**plan(), "benchmark": None}))
    with pytest.raises(history.HistoryError, match="not one of a benchmark"):
        history.read(path)


def test_the_runs_before_one_are_those_of_an_earlier_second_or_number(tmp_path):
    runs = [keep(tmp_path) for _unused in range(11)]
    assert history.runs_before(runs[9], R1) == runs[:9]
    assert history.runs_before(runs[1], R1) == runs[:1]
    assert history.runs_before(runs[0], R1) == []


# Comparison


def compared(tmp_path, before, after, **settings):
    first = keep(tmp_path, before)
    second = keep(tmp_path, after, now=NOW + timedelta(minutes=5), **settings)
    return compare(history.read(first), history.read(second))


def test_figures_stand_side_by_side(tmp_path):
    found = compared(tmp_path, recorded(mean_tpot_ms=10.0), recorded(mean_tpot_ms=5.0, output_throughput=70.0))
    rows = {one.name: one for one in found.rows}
    assert (rows["mean TPOT"].before, rows["mean TPOT"].after, rows["mean TPOT"].ratio) == (10.0, 5.0, 0.5)
    assert rows["mean TPOT"].better is True
    assert rows["output throughput"].better is False
    assert rows["output throughput per card"].after == 70.0 / 32
    assert rows["mean TTFT"].better is None
    assert found.changes == ()
    assert found.lines[-1] == "the plans are the same"
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_figure_that_one_has_not_is_a_gap(tmp_path):
    found = compared(tmp_path, recorded(completed=0), recorded())
    row = next(one for one in found.rows if one.name == "mean TPOT")
    assert (row.before, row.ratio, row.better) == (None, None, None)


def test_a_hair_is_neither_better_nor_worse(tmp_path):
    found = compared(
        tmp_path, recorded(mean_tpot_ms=100.0, mean_itl_ms=0.0), recorded(mean_tpot_ms=99.8, mean_itl_ms=1.0)
    )
    rows = {one.name: one for one in found.rows}
    assert (rows["mean TPOT"].better, rows["mean TPOT"].ratio) == (None, 0.998)
    assert (rows["mean ITL"].better, rows["mean ITL"].ratio) == (False, None)


def test_versions_compare_with_each_other(tmp_path):
    found = compared(tmp_path, recorded(), recorded("0.5.23-sglang"), sglang_engine="0.5.23")
    assert "SGLang: 0.5.13.post1 -> 0.5.23" in found.changes


def test_what_changed_is_said_once_for_all_hosts():
    found = list(changes(plan(), plan(sglang_decode_args={"max-running-requests": 512})))
    assert found == ["decode --max-running-requests: 1024 -> 512 (on d1, d2)"]


def test_every_kind_of_change_is_found():
    found = list(
        changes(
            plan(),
            plan(
                sglang_instances={"prefill": 3},
                sglang_prefill_env={"HCCL_BUFFSIZE": "900", "NEW": "1"},
                sglang_decode_args={"disable-shared-experts-fusion": None},
                sglang_benchmark_args={"num-prompts": 64},
            ),
        )
    )
    assert "cards: 32 -> 40" in found
    assert "prefill-2: nowhere -> on p3" in found
    assert "prefill HCCL_BUFFSIZE: 800 -> 900 (on p1, p2)" in found
    assert "prefill NEW: absent -> 1 (on p1, p2)" in found
    assert "decode --disable-shared-experts-fusion: (bare) -> absent (on d1, d2)" in found
    assert "benchmark --num-prompts: 7168 -> 64" in found


def test_another_profile_is_a_change():
    other = plan("deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-18-9ms")
    assert f"profile: {R1} -> deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-18-9ms" in list(changes(plan(), other))
