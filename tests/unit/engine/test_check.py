# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a version's parser refuses is found before anything starts, and said in the user's words."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.arguments import argv
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.check import check
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.problem import Problem, without_repeats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .oracle import NEW, OLD, ROUTER, RefusedError, parser, raw

WHERE = "sglang_decode_args"


def found(engine, **args):
    return check(engine, {name.replace("_", "-"): value for name, value in args.items()}, where=WHERE, role="decode")


def one(engine, args, name):
    problems = check(engine, args, where=WHERE, role="decode")
    assert [problem.check for problem in problems] == [name], problems
    assert problems[0].where == WHERE
    return problems[0]


def test_a_good_launch_has_no_problem(old):
    args = {"tp-size": 16, "mem-fraction-static": "0.8", "cuda-graph-bs": [1, 2], "disable-radix-cache": True}
    args |= {"model-loader-extra-config": {"a": True}, "lora-strict-loading": False, "max-prefill-tokens": "16k"}
    args |= {"model-checksum": True, "lora-paths": ["a=/a", {"lora_name": "b", "lora_path": "/b"}], "model-path": "/m"}
    assert check(old, args, where=WHERE, role="decode", complete=True) == []


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("cuda-grap-bs", "cuda-graph-bs"),
        ("disable-radix-cahce", "disable-radix-cache"),
        ("max-runing-requests", "max-running-requests"),
        ("attention_backed", "attention-backend"),
    ],
)
def test_an_unknown_flag_gets_the_nearest_ones(old, name, near):
    problem = one(old, {name: 1}, "unknown-flag")
    assert problem.level == "error"
    assert f"SGLang 0.5.13.post1 has no flag --{name}" in problem.what
    assert problem.do.startswith(f"did you mean {near}")


def test_a_flag_that_is_like_none_says_so(old):
    assert one(old, {"zzqq": 1}, "unknown-flag").do == "remove it; no flag has a name like it"


@pytest.mark.parametrize(
    ("name", "full"),
    [("tp_size", "tp-size"), ("--tp-size", "tp-size"), ("moe-dense-tp", "moe-dense-tp-size"), ("TP-SIZE", "tp-size")],
)
def test_another_spelling_of_a_flag_is_told_its_full_name(old, name, full):
    problem = one(old, {name: 1}, "flag-not-in-full")
    assert name in problem.what
    assert problem.do == f"write {full}"


def test_a_beginning_of_several_flags_names_them(new):
    problem = one(new, {"cuda-graph-backend": "full"}, "flag-ambiguous")
    assert problem.do == "write the one that is meant: cuda-graph-backend-decode or cuda-graph-backend-prefill"
    many = one(new, {"enable": True}, "flag-ambiguous")
    assert "in all)" in many.do
    assert len(many.do) < 400


def test_a_flag_of_another_version_is_told_what_became_of_it(old, new):
    problem = one(new, {"cuda-graph-bs": [1]}, "unknown-flag")
    assert "since 0.5.14" in problem.what
    assert problem.do == "write --cuda-graph-bs-decode instead"
    assert one(new, {"prefill-round-robin-balance": True}, "unknown-flag").do == "leave it out"
    assert one(old, {"fuseep-mode": 2}, "unknown-flag").do == (
        "write SGLANG_NPU_FUSED_MOE_MODE=N in the environment instead"
    )
    assert one(old, {"attn-dp-size": 2}, "unknown-flag").do == "write --enable-dp-attention --dp-size N instead"


def test_advice_that_depends_on_the_value_or_on_another_flag_is_not_given(old):
    problem = one(old, {"cuda-graph-backend-decode": "disabled"}, "unknown-flag")
    assert "--disable-cuda-graph instead" not in problem.do


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("tp-size", "sixteen", "is no whole number"),
        ("tp-size", 1.5, "is no whole number"),
        ("tp-size", "16.0", "is no whole number"),
        ("tp-size", "", "is no whole number"),
        ("mem-fraction-static", "0,8", "is no number"),
        ("max-prefill-tokens", "16kk", "16384, 16k and 16Ki are"),
        ("max-prefill-tokens", "1.5Ki", "16384, 16k and 16Ki are"),
        ("cuda-graph-bs", ["1", "x"], "is no whole number"),
        ("host", {"a": 1}, "was given a mapping"),
        ("cuda-graph-bs", {"a": 1}, "was given a mapping"),
    ],
)
def test_a_wrong_type_says_what_is_wanted(old, name, value, says):
    problem = one(old, {name: value}, "wrong-type")
    assert says in problem.what
    assert f"--{name}" in problem.what


def test_a_list_written_as_one_text_is_told_to_be_a_list(old):
    assert "written as a list" in one(old, {"cuda-graph-bs": "1 2 4"}, "wrong-type").do


def test_a_wrong_choice_lists_them_all(old):
    problem = one(old, {"attention-backend": "ascned"}, "wrong-choice")
    assert problem.do.startswith("did you mean ascend? Choose from: triton, torch_native")
    assert "intel_xpu" in problem.do


def test_choices_that_are_numbers_take_numbers_and_their_texts(new):
    assert found(new, fuseep_mode=1) == found(new, fuseep_mode="2") == []
    assert one(new, {"fuseep-mode": 3}, "wrong-choice").do == "Choose from: 1, 2"


@pytest.mark.parametrize(
    ("name", "value"), [("nnodes", [1, 2]), ("nnodes", []), ("cuda-graph-bs", []), ("host", ["a", "b"])]
)
def test_a_wrong_number_of_values(old, name, value):
    assert f"was given {len(value)} values" in one(old, {name: value}, "value-count").what


def test_a_repeatable_flag_checks_each_time_it_is_given(router):
    assert found(router, prefill=[["http://a", 1], ["http://b"]], decode=["http://c", "http://d"]) == []
    assert one(router, {"decode": [["http://a", "http://b"]]}, "value-count").flag == "--decode"


@pytest.mark.parametrize("value", ["yes", 1, ["a"], {"a": 1}, "true"])
def test_a_bare_flag_takes_no_value(old, value):
    problem = one(old, {"disable-radix-cache": value}, "bare-flag-value")
    assert problem.do == "write disable-radix-cache: true, or leave it out"


def test_a_bare_flag_has_no_false(old):
    assert one(old, {"disable-radix-cache": False}, "bare-flag-false").do == "leave disable-radix-cache out"


def test_a_flag_with_two_sides_takes_true_and_false_and_nothing_else(old):
    assert found(old, lora_strict_loading=True) == found(old, lora_strict_loading=False) == []
    assert found(old, no_lora_strict_loading=True) == []
    assert "--no-lora-strict-loading" in one(old, {"lora-strict-loading": "yes"}, "bare-flag-value").do
    one(old, {"no-lora-strict-loading": False}, "bare-flag-false")


@pytest.mark.parametrize("value", [True, False, None])
def test_a_flag_with_a_value_needs_one(old, value):
    one(old, {"tp-size": value}, "value-missing")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model-loader-extra-config", "{enable_multithread_load: true}"),
        ("model-loader-extra-config", "[1]"),
        ("json-model-override-args", "3"),
        ("extra-metric-labels", "{'a': 1}"),
        ("forward-hooks", "nothing"),
    ],
)
def test_bad_json(old, name, value):
    problem = one(old, {name: value}, "bad-json")
    assert "JSON" in problem.what
    assert f"{name}: {{key: value}}" in problem.do


def test_what_json_cannot_say_is_no_traceback(old):
    one(old, {"model-loader-extra-config": {"a": {1, 2}}}, "bad-json")
    one(old, {"model-loader-extra-config": {("a", "b"): 1}}, "bad-json")


def test_a_flag_that_takes_json_or_a_file_takes_any_text_and_a_mapping(old):
    assert found(old, hicache_storage_backend_extra_config="@/etc/x.yml") == []
    assert found(old, hicache_storage_backend_extra_config={"a": 1}) == []


def test_a_value_that_looks_like_a_flag(old):
    one(old, {"served-model-name": "-x"}, "value-like-flag")
    one(old, {"served-model-name": "--port"}, "value-like-flag")
    assert found(old, chunked_prefill_size=-1) == found(old, served_model_name="- a name") == []


def test_two_names_of_one_flag(old):
    problem = one(old, {"tp-size": 16, "tensor-parallel-size": 8}, "flag-twice")
    assert "tp-size and tensor-parallel-size" in problem.what
    assert problem.do == "keep one of them; its full name is tp-size"
    one(old, {"lora-strict-loading": True, "no-lora-strict-loading": True}, "flag-twice")


def test_deprecated_flags_are_warnings_that_name_their_successor(old, new):
    problem = one(new, {"disable-cuda-graph": True}, "deprecated-flag")
    assert problem.level == "warning"
    assert problem.do == "use --cuda-graph-backend-{decode,prefill}=disabled instead"
    assert "does nothing" in one(old, {"prefill-round-robin-balance": True}, "deprecated-flag").do


def test_speculative_algorithms_are_known_but_plugins_may_add_more(old, new):
    for name in ("EAGLE3", "NEXTN", "eagle", "NGRAM", "STANDALONE"):
        assert found(old, speculative_algorithm=name) == found(new, speculative_algorithm=name) == []
    problem = one(old, {"speculative-algorithm": "EAGEL3"}, "unknown-value")
    assert problem.level == "warning"
    assert problem.do.startswith("did you mean EAGLE3?")
    assert found(new, speculative_algorithm="DSPARK") == []
    one(old, {"speculative-algorithm": "DSPARK"}, "unknown-value")


def test_a_complete_launch_needs_the_required_flags(old):
    problems = check(old, {"tp-size": 1}, where=WHERE, role="decode", complete=True)
    assert [(problem.check, problem.flag) for problem in problems] == [("required-flag", "--model-path")]
    assert check(old, {"model": "/m"}, where=WHERE, role="decode", complete=True) == []


def test_the_first_problem_about_a_flag_is_kept():
    first, second = (Problem("error", name, WHERE, name, "do", "--x") for name in ("one", "two"))
    other = Problem("error", "three", "elsewhere", "three", "do", "--x")
    assert without_repeats([first, second, other]) == [first, other]


SCALARS = st.one_of(
    st.booleans(),
    st.integers(-5, 70000),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.sampled_from(
        ["", "-", "-1", "-x", "--no-such", "16", "0.5", "16k", "1Ki", "auto", "ascend", "{}", '{"a": 1}', "x y"]
    ),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS.filter(lambda each: not isinstance(each, bool)), max_size=3))


@pytest.mark.parametrize("version", [OLD, NEW, ROUTER])
def test_check_agrees_with_the_parser_itself(version, catalogue):
    """For any flag and any value: no error if and only if the program's own parser takes the words."""
    engine = catalogue.get(raw(version)["version"], raw(version)["program"])
    made = parser(version)
    base = ["--model-path", "/m"] if any(flag.required for flag in engine.flags) else []

    @settings(max_examples=600, deadline=None)
    @given(flag=st.sampled_from(engine.flags), value=VALUES)
    def agrees(flag, value):
        assume(not flag.required)
        name = flag.name
        problems = [each for each in check(engine, {name: value}, where=WHERE, role="mixed") if each.level == "error"]
        words = argv(engine, {name: value})
        try:
            made.parse_args(base + words)
            taken = True
        except RefusedError:
            taken = False
        stricter = (
            # what no word says: false of a flag without such a side, and true or false where a value is wanted
            isinstance(value, bool)
            # JSON that only the engine itself would find to be wrong
            or any(each.check == "bad-json" for each in problems)
            # a value for a bare flag: the words are refused only because they stand alone
            or (flag.bare and value == [])
        )
        if problems:
            assert not taken or stricter, (name, value, problems)
        else:
            assert taken, (name, value)

    agrees()
