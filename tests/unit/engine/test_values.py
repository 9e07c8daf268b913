# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parser lets through and the engine dies of."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.values import DISPATCH_LIMIT, check_values
from hypothesis import given
from hypothesis import strategies as st


def found(role="mixed", env=None, **args):
    named = {name.replace("_", "-"): value for name, value in args.items()}
    return check_values(named, env or {}, where="decode-0", role=role)


def one(name, role="mixed", env=None, **args):
    problems = found(role, env, **args)
    assert [problem.check for problem in problems] == [name], problems
    assert problems[0].level == "error"
    assert problems[0].where == "decode-0"
    return problems[0]


@pytest.mark.parametrize("value", [0, 1, 1.0, "1.2", -0.5, 80, "nan", "inf"])
def test_the_memory_fraction_lies_between_0_and_1(value):
    assert one("mem-fraction", mem_fraction_static=value).flag == "--mem-fraction-static"


@pytest.mark.parametrize("value", [0.81, "0.9", 0.001])
def test_a_memory_fraction_between_0_and_1_is_good(value):
    assert found(mem_fraction_static=value) == []


def test_nodes_share_the_ranks_evenly():
    problem = one("ranks-per-node", tp_size=16, nnodes=3)
    assert "tp-size 16 x pp-size 1 = 16 ranks" in problem.what
    assert "nnodes 3" in problem.what
    assert one("ranks-per-node", tp_size="8", pp_size="3", nnodes="5").flag == "--tp-size"
    assert found(tp_size=8, pp_size=3, nnodes=2) == found(tp_size=32, nnodes=2) == []


def test_a_node_rank_is_below_the_number_of_nodes():
    assert "nnodes is 2" in one("node-rank", tp_size=2, nnodes=2, node_rank=2).what
    assert found(tp_size=2, nnodes=2, node_rank=1) == []


@pytest.mark.parametrize("flag", ["tp_size", "nnodes", "max_running_requests"])
def test_sizes_are_positive(flag):
    assert one("size", **{flag: 0}).what == f"{flag.replace('_', '-')} is 0"


def test_moe_dense_tp_size_is_1_or_tp_size():
    problem = one("moe-dense-tp", tp_size=16, moe_dense_tp_size=4)
    assert "only 1 or tp-size, which is 16" in problem.what
    assert found(tp_size=16, moe_dense_tp_size=1) == found(tp_size=16, moe_dense_tp_size="16") == []


@pytest.mark.parametrize("groups", [{"dp_size": 3, "enable_dp_attention": True}, {"attn_dp_size": 3}])
def test_attention_groups_share_the_ranks_evenly(groups):
    assert "tp-size 16 cannot be shared evenly" in one("dp-attention", tp_size=16, **groups).what
    assert found(tp_size=16, dp_size=3) == []  # three replicas, each with 16 ranks


def test_chunked_prefill_size_is_a_multiple_of_the_page_size():
    problem = one("chunked-prefill", chunked_prefill_size=1000)
    assert "1000, which is no multiple of the page size 128" in problem.what
    assert problem.do == "give 896 or 1024, or -1 to prefill unchunked"
    assert one("chunked-prefill", chunked_prefill_size=100).do == "give 128, or -1 to prefill unchunked"
    assert found(chunked_prefill_size=16384) == found(chunked_prefill_size=-1) == found(chunked_prefill_size=0) == []
    assert found(chunked_prefill_size=1000, page_size=100) == []


def test_decode_does_not_prefill():
    assert found("decode", chunked_prefill_size=1000) == []
    assert found("mixed", chunked_prefill_size=1000, disaggregation_mode="decode") == []


def test_attention_groups_share_the_chunk():
    args = {"tp_size": 16, "dp_size": 16, "enable_dp_attention": True}
    problem = one("chunked-prefill", chunked_prefill_size=1024, **args)
    assert "divided by dp-size 16 it is 64" in problem.what
    assert problem.do == "give 2048, or -1 to prefill unchunked"
    assert found(chunked_prefill_size=32768, **args) == found(chunked_prefill_size=1024, tp_size=16, dp_size=16) == []


DECODE = {"moe_a2a_backend": "deepep", "tp_size": 16, "speculative_algorithm": "NEXTN"}


@pytest.mark.parametrize("groups", [{"dp_size": 16, "enable_dp_attention": True}, {"attn_dp_size": 16}])
@pytest.mark.parametrize("role", ["decode", "mixed"])
def test_a_rank_dispatches_no_more_tokens_than_the_buffer_holds(role, groups):
    args = DECODE | groups | {"max_running_requests": 250, "speculative_num_draft_tokens": 4}
    problem = one("dispatch-tokens", role, {DISPATCH_LIMIT: "60"}, **args)
    assert problem.flag == DISPATCH_LIMIT
    assert "max-running-requests 250" in problem.what
    assert "= 16 requests a rank x 4 draft tokens = 64 tokens a rank" in problem.what
    assert f"{DISPATCH_LIMIT} is 60" in problem.what
    assert problem.do == f"set {DISPATCH_LIMIT} to at least 64, or max-running-requests to at most 240"
    assert found(role, {DISPATCH_LIMIT: "64"}, **args) == []


def test_the_buffer_has_a_size_of_its_own_where_none_is_set():
    problem = one("dispatch-tokens", max_running_requests=129, moe_a2a_backend="ascend_fuseep")
    assert f"{DISPATCH_LIMIT} is not set, so 128" in problem.what
    assert found(max_running_requests=128, moe_a2a_backend="ascend_fuseep") == []


def test_draft_tokens_count_only_with_speculation():
    assert found(max_running_requests=128, moe_a2a_backend="deepep", speculative_num_draft_tokens=4) == []


@pytest.mark.parametrize(
    "args",
    [
        {"moe_a2a_backend": "none"},
        {},
        {"moe_a2a_backend": "deepep", "deepep_mode": "normal"},
        {"moe_a2a_backend": "deepep", "max_running_requests": "many"},
    ],
)
def test_the_rule_of_the_buffer_is_for_low_latency_dispatch(args):
    assert found("mixed", **({"max_running_requests": 4096} | args)) == []
    assert found("prefill", max_running_requests=4096, moe_a2a_backend="deepep") == []


def test_deepep_counts_to_1024():
    env = {DISPATCH_LIMIT: "131072"}
    assert "may be 1024 at most" in one("dispatch-limit", "prefill", env, moe_a2a_backend="deepep").what
    assert found("prefill", env, moe_a2a_backend="ascend_fuseep") == []


def test_what_is_no_number_is_left_to_the_grammar():
    args = {"tp_size": "x", "nnodes": [1, 2], "mem_fraction_static": {"a": 1}, "chunked_prefill_size": True}
    assert found(max_running_requests="x", node_rank="<node_rank>", moe_dense_tp_size=None, **args) == []


@given(requests=st.integers(1, 5000), dp=st.integers(1, 64), drafts=st.integers(1, 8), limit=st.integers(1, 1024))
def test_the_rule_is_its_formula_and_its_advice_helps(requests, dp, drafts, limit):
    args = {"moe_a2a_backend": "deepep", "attn_dp_size": dp, "tp_size": dp, "speculative_num_draft_tokens": drafts}
    args["speculative_algorithm"] = "EAGLE3"
    problems = found("decode", {DISPATCH_LIMIT: str(limit)}, max_running_requests=requests, **args)
    need = -(-requests // dp) * drafts
    assert bool(problems) == (need > limit)
    if problems:
        assert found("decode", {DISPATCH_LIMIT: str(need)}, max_running_requests=requests, **args) == [] or need > 1024
        lower = limit // drafts * dp
        if lower:
            assert found("decode", {DISPATCH_LIMIT: str(limit)}, max_running_requests=lower, **args) == []
