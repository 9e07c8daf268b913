# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From Ansible's groups and variables to a plan: whose variables count, and what stays outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from ansible_collections.ascend.sglang.plugins.plugin_utils.from_ansible import (
    SECRET_SET,
    Compiled,
    Variables,
    compile_from,
    hosts_from,
)

GROUPS = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}
EVERYBODY = [host for members in GROUPS.values() for host in members]
COMMON = {"sglang_profile": "deepseek-r1-w8a8-2p1d", "sglang_model_path": "/models/r1", "sglang_interface": "bond0"}
FULL_ROUTER = {"sglang_router_args": {"mini-lb": False}}


class Own(Mapping[str, Any]):
    """A host's variables; asking for one whose value is an exception raises it."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values_by_name = values
        self.asked: list[str] = []

    def __getitem__(self, name: str) -> Any:
        self.asked.append(name)
        value = self.values_by_name[name]
        if isinstance(value, Exception):
            raise value
        return value

    def __contains__(self, name: object) -> bool:
        return name in self.values_by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)


def variables(
    groups: Mapping[str, list[str]] | None = None, play: dict[str, Any] | None = None, **hosts: dict[str, Any]
) -> Variables:
    members = GROUPS if groups is None else groups
    known = dict.fromkeys([*EVERYBODY, *hosts])
    own = {
        host: Own({**COMMON, "sglang_data_address": f"192.0.2.{number}", **hosts.get(host, {})})
        for number, host in enumerate(known, 1)
    }
    return Variables({"all": list(known), **members}, own, play or {})


def compiled(*arguments: Any, **hosts: Any) -> Compiled:
    return compile_from(variables(*arguments, **hosts))


def refused(given: Variables, **more: Any) -> list[str]:
    with pytest.raises(CompileError) as caught:
        compile_from(given, **more)
    return str(caught.value).splitlines()


def test_no_host_at_all_is_the_only_error():
    assert refused(Variables({"all": [], "ungrouped": []}, {}, {})) == [
        "the inventory: it has no host. Give one with -i; where Ansible could not read it, its warnings above say why."
    ]


def test_the_plays_values_hold_for_every_host_and_win():
    plan = compiled(play={"sglang_model_path": "/play", "sglang_interface": "eth7", "other": 1}).plan
    assert {one.argv[4] for one in plan.services if one.npus} == {"/play"}
    assert {one.env["HCCL_SOCKET_IFNAME"] for one in plan.services if one.npus} == {"eth7"}


def test_only_settings_of_the_clusters_hosts_are_asked_for():
    hosts = {"x": {"sglang_npus": ValueError("no"), "secret_of_others": ValueError("no")}}
    given = variables(p1={"sglang_result": ValueError("no"), "ansible_host": ValueError("no"), "own": 1}, **hosts)
    plan = compile_from(given).plan
    assert "sglang_result is no setting" in " ".join(str(one) for one in plan.findings)


def test_ansibles_address_is_asked_for_where_it_is_needed():
    plan = compiled(p1={"sglang_data_address": "", "ansible_host": "198.51.100.1"}).plan
    assert plan.services[0].url == "http://198.51.100.1:8000"
    message = refused(variables(p1={"sglang_data_address": "", "ansible_host": ValueError("'x' is undefined")}))
    assert message == ["host p1, ansible_host: its value cannot be evaluated: 'x' is undefined. Correct the variable."]


def test_a_value_that_cannot_be_evaluated_is_named():
    assert refused(variables(d2={"sglang_decode_args": ValueError("'x' is\n undefined")})) == [
        "host d2, sglang_decode_args: its value cannot be evaluated: 'x' is undefined. Correct the variable."
    ]


def test_group_names_may_stand_with_any_host_of_the_cluster():
    names = {"sglang_groups": {"prefill": "pp", "decode": "dd"}}
    groups = {"pp": ["p1", "p2"], "dd": ["d1", "d2"], "router": ["r1"]}
    for host in ("r1", "d2"):
        assert len(compiled(groups, **{host: names}).plan.services) == 5
    assert len(compiled(groups, names).plan.services) == 5


def test_a_host_outside_the_cluster_names_no_groups():
    assert len(compiled(x={"sglang_groups": {"prefill": "nowhere"}}).plan.services) == 5


def test_a_key_comes_in_only_as_set():
    keys = {host: {"sglang_api_key": "hunter2", **FULL_ROUTER} for host in EVERYBODY}
    given = variables(**keys)
    result = compile_from(given)
    assert given.host("p1")["sglang_api_key"] == SECRET_SET
    assert result.settings.text("sglang_api_key") == SECRET_SET
    assert "hunter2" not in result.plan.as_json()
    assert {"secret": "api_key"} in result.plan.services[0].argv
    assert given.play == {}
    assert variables(play={"sglang_api_key": "hunter2"}).play == {"sglang_api_key": SECRET_SET}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"p1": "a"}, "sglang_api_key: host p2 has none, and host p1 has one. Set it once, in the group_vars of all."),
        ({"d1": "a"}, "sglang_api_key: host p1 has none, and host d1 has one. Set it once, in the group_vars of all."),
        (dict.fromkeys(EVERYBODY, "a") | {"r1": "b"}, "sglang_api_key: host r1 has another value than host p1. Set it"),
        ({host: ["a"] for host in EVERYBODY}, "sglang_api_key: text is needed, not a list. "),
        (dict.fromkeys(EVERYBODY, 123456), "sglang_api_key: text is needed, not a number. "),
        (dict.fromkeys(EVERYBODY, "hunter2\n"), "sglang_api_key: it has spaces, line feeds or other characters that a"),
        (dict.fromkeys(EVERYBODY, "schlüssel"), "sglang_api_key: it has spaces, line feeds or other characters that a"),
    ],
)
def test_one_key_for_all_or_none_and_no_message_tells_it(keys, message):
    hosts = {host: {**FULL_ROUTER, **({"sglang_api_key": keys[host]} if host in keys else {})} for host in EVERYBODY}
    (error,) = refused(variables(**hosts))
    assert error.startswith(message)
    assert "hunter2" not in error
    assert "123456" not in error


def test_an_empty_key_is_none():
    hosts = {host: {"sglang_api_key": ""} for host in EVERYBODY}
    assert not any("--api-key" in one.argv for one in compiled(**hosts).plan.services)


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            "kimi-k2-6-w4a8-8p",
            "profile: -e profile=kimi-k2-6-w4a8-8p and sglang_profile: deepseek-r1-w8a8-2p1d name differ",
        ),
        (["a"], "-e profile: text is needed, not a list. Give the name of one profile."),
        ({}, "-e profile: text is needed, not a mapping. Give the name of one profile."),
        (True, "-e profile: text is needed, not true. Give the name of one profile."),
    ],
)
def test_the_command_lines_profile_is_one_name_and_agrees(profile, message):
    assert refused(variables(), profile=profile)[0].startswith(message)


def test_an_empty_name_on_the_command_line_is_none():
    assert compile_from(variables(), profile="").choice.asked == "deepseek-r1-w8a8-2p1d"


def test_errors_of_all_passes_are_reported_together():
    groups = {**GROUPS, "router": []}
    hosts = {"p1": {"sglang_data_address": "127.0.0.1"}}
    common = {"sglang_decode_args": {"no-such-flag": 1}, "sglang_model_path": ""}
    checks = [one.split(":")[0] for one in refused(variables(groups, common, **hosts))]
    assert checks == [
        "group router",
        "sglang_decode_args",
        "host p1, sglang_data_address",
        "sglang_model_path",
    ]


def test_the_hosts_of_each_role_are_known_without_any_profile():
    assert hosts_from(variables(play={"sglang_profile": "nonsense"})) == {**GROUPS, "mixed": []}
    with pytest.raises(CompileError) as caught:
        hosts_from(variables({"gpu": ["p1"]}))
    assert str(caught.value) == (
        "the inventory: none of the groups prefill, decode, mixed, router has a host. "
        "Name your groups in sglang_groups."
    )


LOST = "group router: there is no such group, so there is no router, and no role has g1"


def mixed(**play: Any) -> list[str]:
    """The warnings about groups of a mixed cluster beside whose server a gateway stands."""
    play = {"sglang_profile": "deepseek-r1-w4a8-8p", **play}
    given = variables({"mixed": ["m1"], "gateway": ["g1"]}, play, m1={}, g1={})
    return [str(one) for one in compile_from(given).plan.findings if one.check == "groups"]


def test_warnings_from_before_the_compilation_are_the_plans():
    (warned,) = mixed()
    assert warned.startswith(LOST)
    assert mixed(sglang_preflight_skip=["groups"]) == []


def test_the_benchmarks_host_needs_no_role():
    address = {"sglang_mixed_args": {"host": "0.0.0.0"}}
    assert mixed(sglang_benchmark_host="g1", **address) == []
    assert len(mixed(**address)) == 1


def test_findings_keep_their_order_errors_first_and_none_stands_twice():
    play = {"sglang_profile": "deepseek-r1-w4a8-8p", "sglang_mixed_args": {"mem-fraction-static": 2}}
    found = compile_from(variables({"mixed": ["m1"], "gateway": ["g1"]}, play, m1={}, g1={})).plan.findings
    levels = [one.level for one in found]
    assert levels == sorted(levels)
    assert len(found) == len(set(found))
    assert "error" in levels
    assert next(one.check for one in found if one.level == "warning") == "groups"
