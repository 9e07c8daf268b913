# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One version's spelling becomes another's, and the meaning stays."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import load_catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.translate import Change, translate
from hypothesis import given, settings
from hypothesis import strategies as st

from .oracle import NEW, OLD, raw


def to(source, target, args=None, env=None):
    return translate(args or {}, env or {}, source=source, target=target, role="decode")


def changed(translation):
    return {(change.name, change.before, change.after) for change in translation.changes}


def problems(translation):
    return [(problem.level, problem.check, problem.flag) for problem in translation.problems]


# The table of renames, row by row: args and env of 0.5.13.post1, and the same for 0.5.23.
ROWS = {
    "graph batch sizes": ({"cuda-graph-bs": [1, 2, 4]}, {}, {"cuda-graph-bs-decode": [1, 2, 4]}, {}),
    "graph batch limit": ({"cuda-graph-max-bs": 16}, {}, {"cuda-graph-max-bs-decode": 16}, {}),
    "no graphs": (
        {"disable-cuda-graph": True},
        {},
        {"cuda-graph-backend-decode": "disabled", "cuda-graph-backend-prefill": "disabled"},
        {},
    ),
    "attention groups": (
        {"dp-size": 16, "enable-dp-attention": True},
        {},
        {"attn-dp-size": 16},
        {},
    ),
    "fused experts, mode 1": ({"moe-a2a-backend": "ascend_fuseep"}, {"SGLANG_NPU_FUSED_MOE_MODE": "1"}, None, {}),
    "fused experts, mode 2": ({"moe-a2a-backend": "ascend_fuseep"}, {"SGLANG_NPU_FUSED_MOE_MODE": "2"}, None, {}),
    "replicas": ({"dp-size": 2}, {}, {"dp-size": 2}, {}),
    "no prefill graphs": ({"disable-piecewise-cuda-graph": True}, {}, {"cuda-graph-backend-prefill": "disabled"}, {}),
    "cache strategy": ({"mamba-scheduler-strategy": "auto"}, {}, {"mamba-radix-cache-strategy": "auto"}, {}),
}
for _mode in ("1", "2"):
    _row = ROWS[f"fused experts, mode {_mode}"]
    ROWS[f"fused experts, mode {_mode}"] = (*_row[:2], {"moe-a2a-backend": "ascend_fuseep", "fuseep-mode": _mode}, {})


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_each_row_of_the_table_forwards(old, new, row):
    args, env, wanted_args, wanted_env = row
    done = to(old, new, args, env)
    assert (done.args, done.env, done.problems) == (wanted_args, wanted_env, ())


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_each_row_of_the_table_backwards(old, new, row):
    args, env, wanted_args, wanted_env = row
    done = to(new, old, wanted_args, wanted_env)
    assert (done.args, done.env, done.problems) == (args, env, ())


def test_moe_dense_tp_size_is_spelled_in_full_everywhere(old, new):
    assert to(old, new, {"moe-dense-tp-size": 1}).args == {"moe-dense-tp-size": 1}
    assert to(new, old, {"moe-dense-tp-size": 1}).args == {"moe-dense-tp-size": 1}


def test_a_flag_that_did_nothing_is_left_out_and_this_is_said(old, new):
    done = to(old, new, {"prefill-round-robin-balance": True, "tp-size": 16})
    assert done.args == {"tp-size": 16}
    assert done.problems == ()
    (change,) = done.changes
    assert (change.kind, change.name, change.before, change.after) == ("arg", "--prefill-round-robin-balance", (), None)
    assert "does nothing since 0.5.8" in change.why


def test_speculation_v2_is_left_out_where_it_is_always_on(old, new):
    done = to(old, new, {}, {"SGLANG_ENABLE_SPEC_V2": "1"})
    assert (done.env, done.problems) == ({}, ())
    assert changed(done) == {("SGLANG_ENABLE_SPEC_V2", ("1",), None)}
    assert done.changes[0].kind == "env"
    assert "always on" in done.changes[0].why


@pytest.mark.parametrize("off", ["0", "false"])
def test_speculation_v2_turned_off_is_said_otherwise(old, new, off):
    done = to(old, new, {}, {"SGLANG_ENABLE_SPEC_V2": off})
    assert (done.args, done.env, done.problems) == ({"disable-overlap-schedule": True}, {}, ())


def test_a_strange_value_of_a_variable_that_is_gone_is_no_silent_loss(old, new):
    done = to(old, new, {}, {"SGLANG_ENABLE_SPEC_V2": "maybe"})
    assert problems(done) == [("warning", "env-not-read", "SGLANG_ENABLE_SPEC_V2")]
    assert done.env == {"SGLANG_ENABLE_SPEC_V2": "maybe"}


def test_variables_without_a_known_reader_stay(old, new):
    env = {"ENABLE_MOE_NZ": "1", "SGLANG_LM_HEAD_TP": "8", "HCCL_BUFFSIZE": "650", "MINE": "x"}
    assert to(old, new, {}, env).env == env
    assert to(old, new, {}, env).problems == ()


def test_the_fused_mode_that_was_the_default_is_said_where_the_default_is_another(old, new):
    done = to(old, new, {"moe-a2a-backend": "ascend_fuseep"})
    assert done.args == {"moe-a2a-backend": "ascend_fuseep", "fuseep-mode": "1"}
    assert to(new, old, {"moe-a2a-backend": "ascend_fuseep"}).env == {"SGLANG_NPU_FUSED_MOE_MODE": "2"}
    assert to(old, new, {"moe-a2a-backend": "deepep"}).args == {"moe-a2a-backend": "deepep"}


def test_a_mode_that_the_flag_does_not_take_is_a_problem(old, new):
    done = to(old, new, {}, {"SGLANG_NPU_FUSED_MOE_MODE": "3"})
    assert done.args == {"fuseep-mode": "3"}
    assert [problem.check for problem in done.problems] == ["value-not-in-version"]


def test_dp_attention_without_a_size_means_one_group(old, new):
    assert to(old, new, {"enable-dp-attention": True}).args == {"attn-dp-size": "1"}


def test_other_names_of_a_flag_are_translated_too(old, new):
    assert to(old, new, {"data-parallel-size": 4, "enable-dp-attention": True}).args == {"attn-dp-size": 4}


def test_the_new_flag_stands_where_the_old_one_stood(old, new):
    args = {"tp-size": 16, "enable-dp-attention": True, "port": 1, "dp-size": 16, "cuda-graph-bs": [1], "host": "h"}
    assert list(to(old, new, args).args) == ["tp-size", "attn-dp-size", "port", "cuda-graph-bs-decode", "host"]


def test_a_rename_is_two_changes_with_the_words_of_each(old, new):
    done = to(old, new, {"cuda-graph-bs": [1, 2], "disable-cuda-graph": True})
    assert changed(done) == {
        ("--cuda-graph-bs", ("1", "2"), None),
        ("--cuda-graph-bs-decode", None, ("1", "2")),
        ("--disable-cuda-graph", (), None),
        ("--cuda-graph-backend-decode", None, ("disabled",)),
        ("--cuda-graph-backend-prefill", None, ("disabled",)),
    }
    assert all(isinstance(change, Change) and "0.5" in change.why for change in done.changes)


def test_the_same_version_changes_nothing_not_even_what_is_deprecated(old):
    args = {"prefill-round-robin-balance": True, "cuda-graph-bs": [1]}
    done = to(old, old, args, {"SGLANG_ENABLE_SPEC_V2": "1"})
    assert (done.args, done.changes, done.problems) == (args, (), ())


def test_the_router_is_not_translated_by_the_servers_rules(router, old):
    args = {"policy": "cache_aware", "mini-lb": True}
    assert to(router, router, args).args == args


# What cannot be said


def test_a_flag_that_the_version_has_not_is_an_error_that_says_what_can_be_done(old, new):
    done = to(old, new, {"torchao-config": "int4wo-128"})
    assert done.args == {"torchao-config": "int4wo-128"}
    (problem,) = done.problems
    assert (problem.level, problem.check, problem.flag) == ("error", "flag-not-in-version", "--torchao-config")
    assert "SGLang 0.5.13.post1 has --torchao-config, SGLang 0.5.23 has not" in problem.what
    assert "stay with sglang_engine 0.5.13.post1" in problem.do


def test_a_value_that_the_version_has_not_is_an_error(old, new):
    done = to(old, new, {"fp4-gemm-backend": "cutlass"})
    (problem,) = done.problems
    assert problem.check == "value-not-in-version"
    assert "flashinfer_cutlass" in problem.do


def test_a_value_that_no_version_takes_is_left_to_the_check(old, new):
    assert to(old, new, {"attention-backend": "nonsense", "no-such-flag": 1}).problems == ()


def test_graphs_of_decode_alone_cannot_be_turned_off_in_the_old_version(old, new):
    done = to(new, old, {"cuda-graph-backend-decode": "disabled"})
    assert problems(done) == [("error", "flag-not-in-version", "--cuda-graph-backend-decode")]


def test_a_variable_that_only_one_version_reads_is_a_warning(old, new):
    done = to(new, old, {}, {"SGLANG_CACHE_DIR_THAT_IS_NEW": "/x", "SGLANG_DEEPEP_V2_NUM_SMS": "4"})
    assert problems(done) == [("warning", "env-not-read", "SGLANG_DEEPEP_V2_NUM_SMS")]
    assert "sglang_engine 0.5.23" in done.problems[0].do


def test_tc_piecewise_is_gone_from_both_sides_of_the_rule(old, new):
    assert problems(to(old, new, {"enforce-piecewise-cuda-graph": True})) == [
        ("error", "flag-not-in-version", "--enforce-piecewise-cuda-graph")
    ]


# Names of the target in the arguments


def test_a_name_that_only_the_target_has_counts(old, new):
    """Whoever overrides a flag for the newer version writes its newer name."""
    done = to(old, new, {"cuda-graph-bs": [1], "cuda-graph-bs-decode": [8, 16]})
    assert (done.args, done.problems) == ({"cuda-graph-bs-decode": [8, 16]}, ())
    assert changed(done) == {("--cuda-graph-bs", ("1",), None)}


def test_two_names_that_the_source_both_has_must_not_contradict(old):
    middle = _middle()
    new = load_catalogue({"new": raw(NEW)}).get("0.5.23")
    agreeing = {"cuda-graph-bs": [1], "cuda-graph-bs-decode": [1]}
    assert to(middle, new, agreeing).args == {"cuda-graph-bs-decode": [1]}
    done = to(middle, new, {"cuda-graph-bs": [1], "cuda-graph-bs-decode": [2]})
    assert problems(done) == [("error", "said-twice", "--cuda-graph-bs")]
    assert "--cuda-graph-bs-decode 1" in done.problems[0].what
    assert "--cuda-graph-bs-decode 2 is given too" in done.problems[0].what


# A version in between, made by hand as a dump of it looks: both names, the old ones deprecated


def _middle():
    flags = [flag for flag in raw(NEW)["flags"] if flag["dest"] != "fuseep_mode"]
    renamed = {"action": "DeprecatedAliasStore", "deprecated": True, "new_flag": "--cuda-graph-bs-decode"}
    for flag in raw(OLD)["flags"]:
        if flag["names"] == ["--cuda-graph-bs"]:
            flags.append(flag | renamed)
        elif flag["names"] == ["--stream-output"] or flag["action"] == "Deprecated":
            flags.append(flag)
    env = {"sglang": [*raw(NEW)["env"]["sglang"], "SGLANG_NPU_FUSED_MOE_MODE"]}
    mapping = {"program": "sglang.launch_server", "version": "0.5.19", "flags": flags, "env": env}
    files = {"old": raw(OLD), "new": raw(NEW), "middle": mapping}
    return load_catalogue(files).get("0.5.19")


def test_a_version_in_between_needs_nothing_but_its_own_file(old):
    middle = _middle()
    args = {
        "cuda-graph-bs": [1],
        "disable-cuda-graph": True,
        "prefill-round-robin-balance": True,
        "stream-output": True,
    }
    done = to(old, middle, args, {"SGLANG_NPU_FUSED_MOE_MODE": "1", "SGLANG_ENABLE_SPEC_V2": "1"})
    assert done.problems == ()
    assert done.args == {
        "cuda-graph-bs-decode": [1],
        "cuda-graph-backend-decode": "disabled",
        "cuda-graph-backend-prefill": "disabled",
        "incremental-streaming-output": True,
    }
    assert done.env == {"SGLANG_NPU_FUSED_MOE_MODE": "1"}  # still read there


def test_what_a_grammar_tells_of_its_deprecated_flags_is_a_rule(old, new):
    done = to(old, new, {"nsa-prefill-backend": "fa3", "stream-output": True})
    assert done.args == {"dsa-prefill-backend": "fa3", "incremental-streaming-output": True}
    assert done.problems == ()


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ({"enable-dsa-prefill-context-parallel": True}, "interleave"),
        ({"enable-dsa-prefill-context-parallel": True, "dsa-prefill-cp-mode": "in-seq-split"}, "zigzag"),
        ({"enable-nsa-prefill-context-parallel": True, "nsa-prefill-cp-mode": "round-robin-split"}, "interleave"),
        ({"enable-prefill-context-parallel": True, "prefill-cp-mode": "in-seq-split"}, "zigzag"),
        ({"enable-prefill-context-parallel": True}, "zigzag"),
    ],
)
def test_context_parallel_prefill(old, new, args, wanted):
    done = to(old, new, args)
    assert (done.args, done.problems) == ({"enable-prefill-cp": True, "cp-strategy": wanted}, ())


def test_a_flag_that_chose_another_flags_value_still_does(old, new):
    wanted = {"enable-waterfill": True, "moe-a2a-backend": "deepep"}
    assert to(old, new, {"enable-deepep-waterfill": True}).args == wanted
    assert to(old, new, {"moe-a2a-backend": "deepep", "enable-deepep-waterfill": True}).args == wanted
    done = to(old, new, {"moe-a2a-backend": "mooncake", "enable-deepep-waterfill": True})
    assert problems(done) == [("error", "said-twice", "--enable-deepep-waterfill")]


@settings(deadline=None)
@given(data=st.data())
def test_nothing_is_lost_in_silence(data, catalogue):
    """Whatever is given, each of its names is in the result, or in a change with its words and a reason."""
    versions = data.draw(st.sampled_from([("0.5.13.post1", "0.5.23"), ("0.5.23", "0.5.13.post1")]))
    source, target = (catalogue.get(version) for version in versions)
    names = data.draw(st.lists(st.sampled_from([flag.name for flag in source.flags]), max_size=12, unique=True))
    flags = [source.flag(name) for name in names]
    args = {flag.name: True if flag.bare else data.draw(st.sampled_from(flag.choices or ("1",))) for flag in flags}
    env = dict.fromkeys(data.draw(st.lists(st.sampled_from(sorted(source.known_env)), max_size=8)), "1")
    done = to(source, target, args, env)
    gone = {change.name for change in done.changes if change.after is None}
    assert {f"--{name}" for name in args} - {f"--{name}" for name in done.args} <= gone
    assert set(env) - set(done.env) <= gone
    assert all(change.why for change in done.changes)
    said = {problem.flag for problem in done.problems}
    for name in done.args:
        assert target.flag(name) is not None or f"--{name}" in said
    for name in done.env:
        assert name in target.known_env or name in said or name not in source.own_env
    again = translate(done.args, done.env, source=source, target=target, role="decode")
    assert (again.args, again.env) == (done.args, done.env)  # what is translated stays so
