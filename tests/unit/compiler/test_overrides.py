# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's flags and variables: of every kind, and refused where the compiler decides or a secret would show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .cluster import compiled, errors_of, flags, groups_for, planned, profile, reasons, service, variables_for

R1 = "deepseek-r1-w8a8-2p1d"
NEWER = "0.5.23"


def decode(**args: Any) -> dict[str, list[Any]]:
    return flags(
        service(
            planned(R1, sglang_decode_args={name.replace("_", "-"): value for name, value in args.items()}), "decode"
        )
    )


def refused(args: dict[str, Any], role: str = "decode", **settings: Any) -> list[str]:
    return errors_of(R1, **{f"sglang_{role}_args": args, **settings})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("max-running-requests", 512, ["512"]),
        ("max-running-requests", "512", ["512"]),
        ("mem-fraction-static", 0.81, ["0.81"]),
        ("cuda-graph-bs", [2, 4, 6], ["2", "4", "6"]),
        ("cuda-graph-bs", "8", ["8"]),
        ("cuda-graph-bs", 8, ["8"]),
        ("context-length", [4096], ["4096"]),
        ("enable-metrics", True, []),
        ("served-model-name", "DeepSeek R1", ["DeepSeek R1"]),
        ("model-loader-extra-config", {"b": True, "a": {"z": None, "y": 1}}, ['{"a": {"y": 1, "z": null}, "b": true}']),
        ("json-model-override-args", '{"v": "$X 100%"}', ['{"v": "$X 100%"}']),
        ("chat-template", "{{ messages }} <tool_call>'\"", ["{{ messages }} <tool_call>'\""]),
        ("chat-template", "<model_path>/template.jinja", ["/path/to/model-weights/template.jinja"]),
    ],
)
def test_a_value_of_each_kind_reaches_the_command_line(name, value, words):
    plan = planned(R1, sglang_decode_args={name: value})
    for rank in (0, 1):
        assert flags(service(plan, "decode", 0, rank))[f"--{name}"] == words
        assert reasons(plan, "decode", 0, rank)[f"--{name}"] == "override"
    assert f"--{name}" not in reasons(plan, "prefill")


@pytest.mark.parametrize("nothing", [None, False, []])
def test_a_flag_is_left_out(nothing):
    plan = planned(R1, sglang_decode_args={"disable-shared-experts-fusion": nothing, "watchdog-timeout": nothing})
    assert not {"--disable-shared-experts-fusion", "--watchdog-timeout"} & set(flags(service(plan, "decode")))
    gone = next(one for one in plan.deviations if (one.rank, one.name) == (1, "--watchdog-timeout"))
    assert (gone.page, gone.rendered, gone.reason) == (["9000"], None, "override")


def test_leaving_out_what_is_not_there_changes_nothing():
    assert planned(R1, sglang_decode_args={"enable-metrics": None}).as_json() == planned(R1).as_json()


def test_the_pages_own_value_is_no_deviation():
    same = {"watchdog-timeout": 9000, "tp-size": "32", "cuda-graph-bs": [*range(2, 34, 2)]}
    assert {"--watchdog-timeout", "--tp-size", "--cuda-graph-bs"}.isdisjoint(
        reasons(planned(R1, sglang_decode_args=same), "decode")
    )


def test_a_flag_with_a_no_form_can_be_said_to_be_off():
    for args in ({"lora-strict-loading": False}, {"no-lora-strict-loading": True}):
        plan = planned(R1, sglang_decode_args=args)
        assert flags(service(plan, "decode"))["--no-lora-strict-loading"] == []
        assert reasons(plan, "decode")["--no-lora-strict-loading"] == "override"
    assert "--lora-strict-loading" in decode(lora_strict_loading=True)
    assert not any("lora-strict" in name for name in decode(lora_strict_loading=None))


@pytest.mark.parametrize(("other", "name"), [("tensor-parallel-size", "tp-size"), ("data-parallel-size", "dp-size")])
def test_another_name_of_a_flag_is_the_same_flag(other, name):
    plan = planned(R1, sglang_decode_args={other: 16})
    assert f"--{other}" not in flags(service(plan, "decode"))
    assert flags(service(plan, "decode"))[f"--{name}"] == ["16"]
    assert service(plan, "decode").npus == (0, 7 if name == "tp-size" else 15)


def test_a_profile_may_use_another_name_too():
    wanted = profile(R1)
    args = {
        {"tp-size": "tensor-parallel-size"}.get(name, name): value
        for name, value in wanted.roles["prefill"].args.items()
    }
    own = replace(wanted, roles={**wanted.roles, "prefill": replace(wanted.roles["prefill"], args=args)})
    groups = groups_for(own)
    plan = compiled(own, groups, variables_for(groups))
    assert service(plan, "prefill").npus == (0, 15)
    assert {name: reason for name, reason in reasons(plan, "prefill").items() if "-size" in name} == {
        "--tensor-parallel-size": "flag-in-full",
        "--tp-size": "flag-in-full",
    }


@given(st.permutations([("port", 9001), ("enable-metrics", True), ("log-level", "debug"), ("tp-size", 32)]))
def test_the_order_of_a_mapping_means_nothing(order):
    one, other = (planned(R1, sglang_decode_args=dict(pairs)) for pairs in (order, sorted(order)))
    assert one.as_json() == other.as_json()


def test_the_order_of_a_json_flags_keys_means_nothing():
    one, other = ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1})
    assert decode(model_loader_extra_config=one) == decode(model_loader_extra_config=other)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"no-such-flag": True}, "sglang_decode_args: SGLang 0.5.13.post1 has no flag --no-such-flag. "),
        ({"no-such-flag": None}, "sglang_decode_args: SGLang 0.5.13.post1 has no flag --no-such-flag. "),
        ({"max-runing-requests": 8}, "has no flag --max-runing-requests. Did you mean max-running-requests"),
        ({"--tp-size": 8}, "'--tp-size' has dashes in front; flags are named without them here. Write tp-size."),
        ({"moe-dense-tp": 1}, "'moe-dense-tp' is no full flag name of SGLang 0.5.13.post1. Write moe-dense-tp-size."),
        ({"tp-size": "many"}, "the value 'many' of --tp-size is no whole number. Give it a whole number."),
        ({"tp-size": [8, 16]}, "--tp-size takes a whole number, but was given 2 values"),
        ({"tp-size": {"a": 1}}, "--tp-size takes a whole number, but was given a mapping: it is no JSON flag"),
        (
            {"tp-size": True},
            "--tp-size takes a whole number, but was given true. Give it a value, or leave tp-size out.",
        ),
        ({"trust-remote-code": "yes"}, "--trust-remote-code is a flag without a value, but was given 'yes'"),
        ({"disaggregation-transfer-backend": "ascnd"}, "did you mean ascend?"),
        ({"cuda-graph-bs": [1, "two"]}, "the value 'two' of --cuda-graph-bs is no whole number"),
        ({"cuda-graph-bs": "1 2"}, "A list of values is written as a list."),
        ({"preferred-sampling-params": "{'temperature': 0.6}"}, "--preferred-sampling-params is no JSON"),
        ({"served-model-name": "--x"}, "begins with a dash, so the parser takes it for a flag"),
        ({"served-model-name": "a\0b"}, "sglang_decode_args.served-model-name: a NUL character cannot stand"),
        ({"tp-size": 32, "tensor-parallel-size": 16}, "are two names of one flag, and only the last would count"),
    ],
)
def test_what_the_parser_would_refuse_is_refused_before(args, message):
    (error,) = refused(args)
    assert message.lower() in error.lower()
    assert error.startswith("sglang_decode_args")


@pytest.mark.parametrize(
    ("args", "do"),
    [
        ({"model-path": "/x"}, "Set sglang_model_path."),
        ({"model": "/x"}, "Set sglang_model_path."),
        ({"model-path": None}, "Set sglang_model_path."),
        ({"speculative-draft-model": "/x"}, "Set sglang_draft_model_path."),
        ({"node-rank": 1}, "It follows from the order of the inventory; pin it with sglang_node_rank."),
        ({"nnodes": 4}, "The number of nodes of an instance is the profile's."),
        ({"disaggregation-mode": "null"}, "It follows from the group that a host is in."),
        ({"api-key": "hunter2"}, "A secret never stands on a command line: set sglang_api_key."),
    ],
)
def test_what_the_compiler_derives_is_refused_with_the_setting_to_use(args, do):
    (name,) = args
    assert refused(args) == [f"sglang_decode_args.{name}: the compiler derives this flag. {do}"]


@pytest.mark.parametrize("name", ["prefill", "decode", "worker-urls", "pd-disaggregation"])
def test_the_routers_workers_are_derived(name):
    (error,) = refused({name: ["http://192.0.2.1:8000"]}, "router")
    assert error.startswith(f"sglang_router_args.{name}: the compiler derives this flag. ")


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("decode", "admin-api-key"),
        ("decode", "ssl-keyfile-password"),
        ("router", "control-plane-api-keys"),
        ("router", "oracle-password"),
        ("router", "postgres-db-url"),
        ("router", "redis-url"),
    ],
)
def test_a_secret_on_a_command_line_is_refused_and_not_repeated(role, name):
    assert refused({name: "hunter2"}, role) == [
        f"sglang_{role}_args.{name}: a secret would stand on the command line. "
        "Leave it out; the one secret that the collection can pass is sglang_api_key."
    ]


def test_every_wrong_flag_is_named_at_once():
    assert len(refused({"no-such-flag": 1, "tp-size": "x", "nnodes": 2}, sglang_prefill_args={"nope": 1})) == 4


def test_values_that_do_not_go_together_are_refused():
    (error,) = refused({"mem-fraction-static": 1.5})
    assert error.startswith("decode services: mem-fraction-static is 1.5")
    (error,) = refused({"tp-size": 33, "dp-size": 33})
    assert "cannot be shared" in error


def test_a_flag_of_the_other_version_is_refused_with_its_new_name():
    (error,) = refused({"cuda-graph-bs": [1]}, sglang_engine=NEWER)
    assert "cuda-graph-bs-decode" in error
    (error,) = refused({"cuda-graph-bs-decode": [1]})
    assert "has no flag --cuda-graph-bs-decode" in error


def test_an_unknown_version_is_refused_with_those_known():
    (error,) = errors_of(R1, sglang_engine="0.5.14")
    assert "Known versions: 0.5.13.post1, 0.5.23." in error
    assert ".." not in error.replace("...", "")


# Variables


def env(role: str = "decode", **variables: Any) -> dict[str, str]:
    return dict(service(planned(R1, **{f"sglang_{role}_env": variables}), role).env)


@pytest.mark.parametrize(
    ("value", "text"),
    [("x y", "x y"), (256, "256"), (0.5, "0.5"), (True, "true"), (False, "false"), ("", ""), ("<think>", "<think>")],
)
def test_a_variable_is_text(value, text):
    assert env(HCCL_BUFFSIZE=value)["HCCL_BUFFSIZE"] == text


def test_null_leaves_a_variable_out():
    plan = planned(R1, sglang_decode_env={"HCCL_BUFFSIZE": None, "NOT_THERE": None})
    assert "HCCL_BUFFSIZE" not in service(plan, "decode").env
    assert reasons(plan, "decode")["HCCL_BUFFSIZE"] == "override"
    assert "NOT_THERE" not in reasons(plan, "decode")


def test_an_override_is_of_its_role_alone():
    plan = planned(R1, sglang_decode_env={"HCCL_BUFFSIZE": 256})
    assert (service(plan, "prefill").env["HCCL_BUFFSIZE"], service(plan, "decode").env["HCCL_BUFFSIZE"]) == (
        "800",
        "256",
    )


@given(st.permutations([("B", 1), ("A", 2), ("HCCL_BUFFSIZE", 3)]))
def test_the_order_of_variables_means_nothing(order):
    assert list(env(**dict(order))) == list(env(A=2, B=1, HCCL_BUFFSIZE=3))


def test_a_variable_that_the_page_unsets_can_be_set():
    plan = planned(R1, sglang_decode_env={"ASCEND_LAUNCH_BLOCKING": 1})
    one = service(plan, "decode")
    assert one.env["ASCEND_LAUNCH_BLOCKING"] == "1"
    assert "ASCEND_LAUNCH_BLOCKING" not in one.unset
    assert {each.kind for each in plan.deviations if each.name == "ASCEND_LAUNCH_BLOCKING"} == {"env", "unset"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("1X", "a", "sglang_decode_env.1X: '1X' is no name of a variable. Correct the name."),
        ("A B", "a", "sglang_decode_env.A B: 'A B' is no name of a variable. Correct the name."),
        ("A", [1], "sglang_decode_env.A: a text or number is needed, not a list. "),
        ("A", {"b": 1}, "sglang_decode_env.A: a text or number is needed, not a mapping. "),
        ("A", "x\0", "sglang_decode_env.A: a text or number is needed, not the text 'x\\x00'. "),
        ("ASCEND_MF_STORE_URL", "tcp://PIP:PORT", "sglang_decode_env.ASCEND_MF_STORE_URL: the compiler derives this"),
        ("ASCEND_MF_STORE_URL", None, "sglang_decode_env.ASCEND_MF_STORE_URL: the compiler derives this variable. It"),
        (
            "SGLANG_HOST_IP",
            "192.0.2.1",
            "sglang_decode_env.SGLANG_HOST_IP: the compiler derives this variable. Set sgl",
        ),
        (
            "HCCL_SOCKET_IFNAME",
            "eth0",
            "sglang_decode_env.HCCL_SOCKET_IFNAME: the compiler derives this variable. Set ",
        ),
        (
            "GLOO_SOCKET_IFNAME",
            "eth0",
            "sglang_decode_env.GLOO_SOCKET_IFNAME: the compiler derives this variable. Set ",
        ),
        (
            "HCCL_IF_IP",
            "192.0.2.1",
            "sglang_decode_env.HCCL_IF_IP: the compiler derives this variable. Leave it out: HCCL finds the address "
            "by the interface. Set sglang_data_address on the host, or sglang_interface.",
        ),
        (
            "ASCEND_RT_VISIBLE_DEVICES",
            "8,9",
            "sglang_decode_env.ASCEND_RT_VISIBLE_DEVICES: the compiler derives this variable. Leave it out: each "
            "server gets NPUs of its own. Name their first with base-gpu-id.",
        ),
        ("HOST_IP", "192.0.2.1", "sglang_decode_env.HOST_IP: this variable is kept out of every service. "),
        ("https_proxy", "http://x", "sglang_decode_env.https_proxy: this variable is kept out of every service. "),
        ("RANK_TABLE_FILE", "/x", "sglang_decode_env.RANK_TABLE_FILE: this variable is kept out of every service. "),
        (
            "HCCL_IF_BASE_PORT",
            "high",
            "sglang_decode_env.HCCL_IF_BASE_PORT: a port number is needed, not the text 'high'",
        ),
    ],
)
def test_a_variable_that_will_not_do_is_refused(name, value, message):
    (error,) = errors_of(R1, sglang_decode_env={name: value})
    assert error.startswith(message)


@pytest.mark.parametrize(
    "given", ["<network-interface>", "<Network_Interface>", "x <model path> y", "<NODE-RANK>", "<model-path>/a"]
)
def test_a_pages_placeholder_that_was_left_in_is_refused(given):
    says = "is a placeholder that nobody replaced. Give the value itself, or write <"
    for setting, value in (
        ("sglang_decode_env", {"TP_SOCKET_IFNAME": given}),
        ("sglang_decode_args", {"served-model-name": given}),
        ("sglang_decode_args", {"model-loader-extra-config": {"a": ["b", given]}}),
        ("sglang_router_args", {"tokenizer-path": given}),
    ):
        (error,) = errors_of(R1, **{setting: value})
        assert error.startswith(f"{setting}.{next(iter(value))}: <")
        assert says in error


def test_a_base_port_of_the_user_is_kept():
    plan = planned(R1, sglang_decode_env={"HCCL_IF_BASE_PORT": 61000})
    assert service(plan, "decode").port_ranges["hccl"] == [61000, 61015]
    assert service(plan, "decode").env["HCCL_IF_BASE_PORT"] == "61000"
