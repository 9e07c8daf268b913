# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Passed or failed, and why: beside the published figure, with what was not as on the page."""

from __future__ import annotations

import json
import math

import pytest

from .kept import MIXED, judged, recorded, samples

TPOT = 6.012911357142262  # the recording's mean
OUTPUT = 141.17157878545632


def test_a_figure_below_the_published_one_passes():
    verdict = judged(published={"tpot_ms": 50})
    (figure,) = verdict.figures
    assert (figure.label, figure.unit, figure.published, figure.measured) == ("mean TPOT", "ms", 50, TPOT)
    assert figure.ratio == pytest.approx(TPOT / 50)
    assert verdict.passed
    assert verdict.reasons == ()
    assert verdict.line == "PASSED: mean TPOT 6.01 ms, published 50 ms, ratio 0.12; 0 of 8 requests failed"


@pytest.mark.parametrize(
    ("published", "tolerance", "passed"),
    [
        (TPOT, 0, True),
        (TPOT * 0.999, 0, False),
        (TPOT / 1.1, 10, True),
        (TPOT / 1.11, 10, False),
        (TPOT / 3, 200, True),
    ],
)
def test_the_tolerance_decides(published, tolerance, passed):
    verdict = judged(published={"tpot_ms": published}, tolerance=tolerance)
    assert verdict.passed is passed
    assert bool(verdict.reasons) is not passed


def test_why_it_failed_is_said():
    (reason,) = judged(published={"tpot_ms": 5}).reasons
    assert reason == "mean TPOT is 6.01 ms, more than 10 % more than the published 5 ms"


@pytest.mark.parametrize(("published", "passed"), [(OUTPUT, True), (OUTPUT / 0.91, True), (OUTPUT / 0.89, False)])
def test_more_throughput_is_better(published, passed):
    verdict = judged(published={"output_throughput": published})
    assert verdict.passed is passed
    if not passed:
        assert "output throughput is 141.17 tokens/s, more than 10 % less than the published" in verdict.reasons[0]


def test_several_figures_are_judged_each():
    verdict = judged(published={"ttft_ms": 100, "tpot_ms": 5, "p99_itl_ms": 1000})
    assert [one.passed for one in verdict.figures] == [True, False, True]
    assert [one.label for one in verdict.figures] == ["mean TTFT", "mean TPOT", "p99 ITL"]
    assert not verdict.passed


def test_a_failed_request_fails_it_unless_it_may():
    told = samples(sent=10, errors={"Service Unavailable: no worker": 2})
    verdict = judged(samples=told)
    assert verdict.requests.failed == 2
    assert verdict.reasons == ("2 of 10 requests failed, 0 may",)
    assert verdict.as_dict()["requests"]["errors"] == {"Service Unavailable: no worker": 2}
    assert judged(samples=told, failed=2).passed


def test_without_details_the_command_says_how_many_were_sent():
    assert judged(args={"num-prompts": 10}).reasons == ("2 of 10 requests failed, 0 may",)
    shared = {
        "dataset-name": "generated-shared-prefix",
        "gsp-num-groups": 3,
        "gsp-prompts-per-group": 4,
        "gsp-output-len": 8,
    }
    assert judged(args=shared).requests.sent == 12


def test_no_answer_at_all_fails_it_although_the_file_has_zeros():
    verdict = judged(recorded(completed=0, mean_tpot_ms=0.0, total_output_tokens=0, mean_e2e_latency_ms=math.nan))
    assert not verdict.passed
    assert verdict.reasons == ("no request was answered, all 8 failed",)
    assert verdict.figures[0].ratio is None
    assert verdict.line == "FAILED: mean TPOT not measured, published 50 ms; 8 of 8 requests failed"
    json.dumps(verdict.as_dict(), allow_nan=False)


def test_answers_that_broke_off_fail_it():
    """The tool counts a stream that ends early as answered."""
    verdict = judged(recorded(total_output_tokens=60))
    assert verdict.reasons == ("answers broke off: the answered requests have 60 tokens instead of 64",)


@pytest.mark.parametrize(
    "args", [{"random-range-ratio": 0.5}, {"disable-ignore-eos": True}, {"extra-request-body": '{"a": 1}'}]
)
def test_where_lengths_differ_fewer_tokens_are_no_sign(args):
    assert judged(recorded(total_output_tokens=60), args=args).passed


def test_a_dataset_with_too_few_texts_is_noted():
    verdict = judged(samples=samples(sent=8), args={"num-prompts": 100})
    assert verdict.passed
    assert verdict.notes == ("8 requests were sent, 100 were asked for: the dataset has too few texts",)


def test_a_page_without_a_figure_is_said():
    verdict = judged(published={})
    assert verdict.passed
    assert "the page publishes no figure" in verdict.line
    assert verdict.notes == ("the page publishes no figure, so that only failed requests can fail",)
    assert judged(published={"cost": 3}).notes == ("1 of the published figures are none that bench_serving measures",)


def test_throughput_per_card_goes_by_the_plans_cards():
    verdict = judged(name=MIXED)
    assert verdict.cards == 8
    assert verdict.per_card["output"] == OUTPUT / 8


def test_the_json_has_all_that_is_asked_for():
    told = judged().as_dict()
    assert {"mean", "median", "p99"} <= set(told["latency_ms"]["itl"])
    assert set(told["latency_ms"]) == {"ttft", "tpot", "itl", "e2e"}
    assert set(told["throughput_per_second"]) == {"cluster", "card"}
    json.dumps(told, allow_nan=False)


# What was not as on the page


def conditions(**settings):
    return [(one.topic, str(one)) for one in judged(**settings).conditions]


def test_another_engine_is_a_condition():
    assert ("engine", "SGLang 0.5.23, the page was written for 0.5.13.post1") in conditions(sglang_engine="0.5.23")
    assert "engine" not in [topic for topic, _what in conditions()]


def test_another_size_is_a_condition():
    assert ("size", "3 prefill instances, the page has 2") in conditions(sglang_instances={"prefill": 3})


def test_overrides_come_first_and_say_both_sides():
    found = conditions(sglang_decode_args={"max-running-requests": 512}, sglang_prefill_env={"HCCL_BUFFSIZE": None})
    overrides = [what for topic, what in found if topic == "override"]
    assert "decode: --max-running-requests 512, the page has 1024" in overrides
    assert "prefill: HCCL_BUFFSIZE left out, the page has 800" in overrides
    assert "benchmark: --num-prompts 8, the page has 7168" in overrides
    assert [topic for topic, _what in found if topic in ("override", "deviation")] == sorted(
        (topic for topic, _what in found if topic in ("override", "deviation")), key=lambda topic: topic != "override"
    )


def test_what_the_plan_declares_itself_is_there_with_its_reason():
    found = [what for topic, what in conditions() if topic == "deviation"]
    (rank,) = [what for what in found if "SGLANG_HOST_IP" in what]
    assert rank.startswith("prefill, decode: SGLANG_HOST_IP another for each, not on the page (")
    (out,) = [what for what in found if "prefill, decode, router, benchmark: unset" in what or "ALL_PROXY" in what]
    assert "all_proxy, ALL_PROXY" in out


def test_asking_from_elsewhere_is_a_condition():
    told = conditions(sglang_router_args={"host": "192.0.2.91"}, sglang_benchmark_host="p1")
    assert ("load", "asked from p1, the page asks on the entrance's own host") in told


# Odd results and odd figures


NOTHING = {"completed": 0, "output_throughput": None, "mean_ttft_ms": None, "mean_tpot_ms": None, "mean_itl_ms": None}


def test_nothing_completed_and_null_everywhere_is_a_verdict_too():
    verdict = judged(recorded(**NOTHING, total_output_tokens=None), samples=samples(sent=8, errors={"gone": 8}))
    assert verdict.reasons == ("no request was answered, all 8 failed",)
    json.dumps(verdict.as_dict(), allow_nan=False)


def test_tokens_that_are_not_told_do_not_fail_it():
    verdict = judged(recorded(total_output_tokens=None, total_input_tokens=None))
    assert verdict.passed
    assert verdict.as_dict()["tokens"] == {"input": None, "output": None}


@pytest.mark.parametrize("value", [None, math.inf, math.nan])
def test_a_published_figure_that_was_not_measured_fails_it(value):
    verdict = judged(recorded(mean_tpot_ms=value), published={"tpot_ms": 50})
    assert verdict.reasons == ("mean TPOT was not measured",)
    assert "mean TPOT not measured, published 50 ms;" in verdict.line
    json.dumps(verdict.as_dict(), allow_nan=False)


def test_a_page_may_publish_the_time_to_the_first_token_only():
    assert judged(published={"ttft_ms": 100}).passed
    (reason,) = judged(published={"ttft_ms": 1}).reasons
    assert reason.startswith("mean TTFT is ")


def test_each_figure_says_on_which_side_it_passes():
    times, rate = judged(published={"tpot_ms": 50, "output_throughput": 100}).figures
    assert (times.bound, times.limit, times.more_is_better) == ("at most", pytest.approx(55), False)
    assert (rate.bound, rate.limit, rate.more_is_better) == ("at least", pytest.approx(90), True)
    assert rate.ratio == pytest.approx(OUTPUT / 100)


def test_the_load_is_said():
    assert str(judged().load) == "dataset random, 40 requests/s, 1024 under way at most"
    without = judged(args={"request-rate": None, "max-concurrency": None})
    assert str(without.load) == "dataset random, all at once, any number under way at most"


def test_a_figure_of_nothing_has_no_ratio():
    (figure,) = judged(published={"tpot_ms": 0}).figures
    assert (figure.ratio, figure.passed) == (None, False)
