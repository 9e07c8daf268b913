# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings: one list with types, defaults and bounds; one value for the cluster, however many hosts carry it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import gather
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import (
    BY_NAME,
    CLUSTER_SETTINGS,
    HOST_SETTINGS,
    SETTINGS,
    read,
    unknown,
)


def read_one(name: str, value: Any) -> tuple[Any, list[str]]:
    values, findings = read({name: value}, [BY_NAME[name]], "host p1")
    return values[name], [str(one) for one in findings]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.name)
def test_a_setting_that_is_absent_null_or_empty_has_its_default(setting):
    for values in ({}, {setting.name: None}, {setting.name: ""}):
        assert read(values, [setting], "host p1") == ({setting.name: setting.default}, [])


def test_every_setting_is_of_the_cluster_or_of_a_host_and_says_what_it_means():
    assert [*CLUSTER_SETTINGS, *HOST_SETTINGS] == sorted(SETTINGS, key=lambda one: one.scope == "host")
    assert all(one.meaning.endswith(".") and one.name.startswith("sglang_") for one in SETTINGS)


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("sglang_npus", "8", 8),
        ("sglang_host_tuning", "false", False),
        ("sglang_instances", '{"prefill": 3}', {"prefill": 3}),
        ("sglang_profile_dirs", '["/a"]', ["/a"]),
        ("sglang_store", "dedicated", "dedicated"),
        ("sglang_bootstrap_port", 65535, 65535),
    ],
)
def test_a_fitting_value_is_typed(name, value, typed):
    assert read_one(name, value) == (typed, [])


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("sglang_npus", "many", "host p1, sglang_npus: a whole number is needed, not the text 'many'"),
        ("sglang_npus", 0, "host p1, sglang_npus: 0 is less than 1"),
        ("sglang_bootstrap_port", 65536, "host p1, sglang_bootstrap_port: 65536 is more than 65535"),
        ("sglang_node_rank", -1, "host p1, sglang_node_rank: -1 is less than 0"),
        ("sglang_interface", ["eth0", "eth1"], "host p1, sglang_interface: text is needed, not a list"),
        ("sglang_store", "router", "host p1, sglang_store: 'router' is none of prefill, dedicated"),
        ("sglang_profile_dirs", ["/a", 5], "host p1, sglang_profile_dirs: a list of texts is needed, and it holds the"),
        (
            "sglang_profile_dirs",
            [None],
            "host p1, sglang_profile_dirs: a list of texts is needed, and it holds nothing",
        ),
        ("sglang_router_args", ["host"], "host p1, sglang_router_args: a mapping is needed, not a list"),
    ],
)
def test_another_value_is_refused_with_the_settings_name_and_meaning(name, value, what):
    value, findings = read_one(name, value)
    assert value == BY_NAME[name].default
    assert len(findings) == 1
    assert findings[0].startswith(what)
    assert findings[0].endswith(BY_NAME[name].meaning)


def test_a_variable_that_looks_like_a_setting_is_named_with_the_nearest():
    found = unknown(["sglang_interfase", "ansible_host", "sglang_npus", "sglang_preflight_skip"], "the inventory")
    assert [str(one) for one in found] == [
        "the inventory: sglang_interfase is no setting of this collection. "
        "Did you mean sglang_interface, sglang_instances or sglang_instance?"
    ]
    assert found[0].level == "warning"


ROLES = {"prefill": ["p1", "p2"], "decode": ["d1"]}


def gathered(elsewhere: dict[str, Any] | None = None, **hosts: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    settings, findings = gather(Inventory({}, hosts), ROLES, elsewhere or {})
    return dict(settings.values), [str(one) for one in findings]


def test_a_cluster_setting_counts_wherever_a_host_has_it():
    for host in ("p1", "p2", "d1"):
        values, findings = gathered(**{host: {"sglang_model_path": "/m"}})
        assert (values["sglang_model_path"], findings) == ("/m", [])


def test_a_setting_that_no_host_has_may_stand_elsewhere():
    assert gathered({"sglang_model_path": "/m"})[0]["sglang_model_path"] == "/m"
    assert gathered({"sglang_model_path": "/m"}, d1={"sglang_model_path": "/n"})[0]["sglang_model_path"] == "/n"


def test_hosts_that_disagree_are_named():
    _values, findings = gathered(p1={"sglang_model_path": "/m"}, d1={"sglang_model_path": "/n"})
    assert findings == [
        "sglang_model_path: hosts p1 and d1 have different values, and there is one plan for the whole cluster. "
        "Set it once, in the group_vars of all or on the command line."
    ]


def test_an_empty_value_does_not_disagree():
    assert gathered(p1={"sglang_model_path": "/m"}, d1={"sglang_model_path": ""})[1] == []


def test_a_roles_setting_is_its_hosts_business():
    one, other = {"sglang_prefill_args": {"tp-size": 8}}, {"sglang_prefill_args": {"tp-size": 4}}
    values, findings = gathered(p1=one, p2=one, d1=other)
    assert (values["sglang_prefill_args"], findings) == ({"tp-size": 8}, [])
    assert gathered(d1=other)[0]["sglang_prefill_args"] == {"tp-size": 4}


def test_a_roles_setting_on_some_of_its_hosts_is_refused():
    _values, findings = gathered(p1={"sglang_prefill_env": {"A": "1"}})
    assert findings == [
        "sglang_prefill_env: host p1 has it and host p2 has not, and all prefill services get the same. "
        "Set it for all prefill hosts, in their group's vars."
    ]
