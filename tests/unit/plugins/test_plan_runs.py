# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible hands over is what is planned: templates, vaulted values, plays' variables, groups, --limit."""

from __future__ import annotations

import copy
import json
import subprocess
from typing import Any

import pytest
import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import SETTINGS
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings_page import render

from .conftest import ANSIBLE_PLAYBOOK, ROOT, Run, host, r1

INVENTORIES = sorted((ROOT / "inventories").glob("*.yml"))
KEY = "correct-horse-battery-staple"


def services(run: Run) -> dict[tuple[str, str], dict[str, Any]]:
    assert run.rc == 0, run.output
    return {(one["host"], one["role"]): one for one in run.plan["services"]}


def word(service: dict[str, Any], flag: str) -> Any:
    return service["argv"][service["argv"].index(flag) + 1]


# The examples


@pytest.mark.parametrize("inventory", INVENTORIES, ids=lambda path: path.stem)
def test_every_example_inventory_is_planned(playbook, inventory):
    done = playbook(inventory)
    found = services(done)
    groups = yaml.safe_load(inventory.read_text())["all"]["children"]
    assert {host for host, _role in found} == {host for group in groups.values() for host in group["hosts"]}
    assert [one for one in done.plan["findings"] if one["level"] == "error" or one["check"] == "groups"] == []


def test_hosts_that_were_to_be_the_router_are_named_in_a_warning(playbook):
    common = {"sglang_profile": "deepseek-r1-w4a8-8p", "sglang_model_path": "/models/r1"}
    children = {"mixed": {"hosts": {"m1": host(21)}}, "gateway": {"hosts": {"g1": host(91)}}}
    done = playbook({"all": {"vars": common, "children": children, "hosts": {"localhost": {}}}})
    assert done.rc == 0, done.output
    (warned,) = [one for one in done.plan["findings"] if one["check"] == "groups"]
    assert "no role has g1: nothing is started there" in warned["what"]
    assert warned["what"] in done.warnings


def test_there_is_an_example_for_every_kind_of_cluster():
    assert {path.stem for path in INVENTORIES} == {
        "2p1d",
        "1p1d-router-on-prefill",
        "1p1d-decode-on-two-nodes",
        "mixed-one-node",
        "mixed-two-nodes",
        "two-networks",
    }


def test_the_annotated_example_is_made_from_the_settings_and_has_them_all():
    text = (ROOT / "group_vars" / "all.example.yml").read_text()
    assert text == render()
    # What stands in it, taken out of its comments, is the defaults.
    lines = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# sglang_")]
    assert yaml.safe_load("\n".join(lines)) == {one.name: one.default for one in SETTINGS}


def test_no_playbook_loads_the_example():
    assert not (ROOT / "playbooks" / "group_vars").exists()
    assert [path.name for path in (ROOT / "group_vars").iterdir()] == ["all.example.yml"]


# Values


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A password file, and the key encrypted with it as it stands in an inventory."""
    password = tmp_path_factory.mktemp("vault") / "password"
    password.write_text("open sesame")
    tool = ANSIBLE_PLAYBOOK.with_name("ansible-vault")
    command = [tool, "encrypt_string", "--vault-password-file", password, "--stdin-name", "KEY"]
    done = subprocess.run(command, input=KEY, capture_output=True, text=True, check=True)
    return str(password), done.stdout.partition(":")[2].strip()


def with_vault(inventory: dict[str, Any], name: str, vaulted: str) -> str:
    """The inventory's YAML with an encrypted variable for all hosts."""
    tag, *lines = vaulted.splitlines()
    indented = "\n".join(f"      {line.strip()}" for line in lines)
    return yaml.safe_dump(inventory, sort_keys=False).replace(
        "  vars:\n", f"  vars:\n    {name}: {tag}\n{indented}\n", 1
    )


def test_a_vaulted_key_is_planned_by_name_and_shown_nowhere(playbook, vault):
    password, vaulted = vault
    inventory = r1(sglang_router_args={"mini-lb": False})
    text = with_vault(inventory, "sglang_api_key", vaulted)
    done = playbook(text, "--vault-password-file", password, "-vvv", "--diff")
    for service in services(done).values():
        assert word(service, "--api-key") == {"secret": "api_key"}
    assert done.plan["benchmark"]["env"]["OPENAI_API_KEY"] == {"secret": "api_key"}
    assert KEY not in done.output
    assert all(KEY not in path.read_text() for path in done.directory.iterdir())


def test_a_vaulted_value_that_is_no_secret_is_its_text(playbook, vault):
    password, vaulted = vault
    done = playbook(with_vault(r1(sglang_model_path=None), "name", vaulted), "--vault-password-file", password,
                    "-e", "sglang_model_path=/models/{{ name }}")  # fmt: skip
    assert word(services(done)["p1", "prefill"], "--model-path") == f"/models/{KEY}"
    done = playbook(with_vault(r1(), "sglang_python", vaulted), "--vault-password-file", password)
    assert services(done)["p1", "prefill"]["argv"][0] == KEY


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            f"{KEY}\n",
            "sglang_api_key: it has spaces, line feeds or other characters that a header of HTTP cannot have. ",
        ),
        ([KEY], "sglang_api_key: text is needed, not a list. "),
    ],
)
def test_a_key_that_will_not_do_is_refused_without_being_told(playbook, key, message):
    done = playbook(r1(sglang_api_key=key, sglang_router_args={"mini-lb": False}), "-vvv")
    assert done.failure[0].startswith(message)
    assert KEY not in done.output


def test_hosts_with_different_keys_are_refused_without_being_told(playbook):
    inventory = r1(sglang_router_args={"mini-lb": False})
    inventory["all"]["children"]["prefill"]["vars"] = {"sglang_api_key": KEY}
    done = playbook(inventory)
    assert done.failure == [
        "sglang_api_key: host d1 has none, and host p1 has one. Set it once, in the group_vars of all."
    ]
    inventory["all"]["children"]["decode"]["vars"] = {"sglang_api_key": f"{KEY}2"}
    done = playbook(inventory)
    assert done.failure[0].startswith("sglang_api_key: host d1 has another value than host p1. ")
    assert KEY not in done.output


def test_templates_are_evaluated_host_by_host_and_braces_of_a_chat_template_are_not(playbook):
    template = "{{ messages }} {% if x %} <tool_call>"
    text = yaml.safe_dump(
        r1(
            root="/models",
            names={"prefill": "p_nodes"},
            last={"d1": 21, "d2": 22},
            sglang_model_path="{{ root }}/{{ sglang_profile | upper }}",
            sglang_groups="{{ names }}",
            sglang_ready_timeout="{{ 60 * 60 }}",
            sglang_instances="{{ {'decode': 1} }}",
            sglang_prefill_args={"chat-template": "UNSAFE", "served-model-name": "{{ root | basename }}"},
            sglang_router_args={"host": "{{ hostvars[groups['router'][0]].sglang_data_address }}"},
        ),
        sort_keys=False,
    )
    text = text.replace("UNSAFE", f"!unsafe '{template}'").replace("prefill:\n      hosts", "p_nodes:\n      hosts")
    text = text.replace("192.0.2.21", "'192.0.2.{{ last[inventory_hostname] }}'")
    done = playbook(text, "-e", json.dumps({"sglang_decode_args": {"log-level": "{{ 'de' + 'bug' }}"}}))
    found = services(done)
    assert word(found["p1", "prefill"], "--model-path") == "/models/DEEPSEEK-R1-W8A8-2P1D"
    assert word(found["p2", "prefill"], "--chat-template") == template
    assert word(found["p1", "prefill"], "--served-model-name") == "models"
    assert word(found["d2", "decode"], "--log-level") == "debug"
    assert found["d1", "decode"]["url"] == "http://192.0.2.21:8001"
    assert found["r1", "router"]["url"] == "http://192.0.2.91:6688"


def test_the_command_lines_text_is_typed(playbook):
    arguments = (
        'sglang_router_args={"mini-lb":false,"port":"7000"}',
        "sglang_npus=32",
        "sglang_ready_timeout=600",
        "profile=deepseek-r1-w8a8-2p1d",
        'sglang_decode_env={"HCCL_BUFFSIZE":256}',
    )
    done = playbook(r1(sglang_profile=None), *(part for argument in arguments for part in ("-e", argument)))
    found = services(done)
    assert (word(found["r1", "router"], "--port"), found["r1", "router"]["ports"]["http"]) == ("7000", 7000)
    assert word(found["r1", "router"], "--worker-startup-timeout-secs") == "600"
    assert found["d1", "decode"]["env"]["HCCL_BUFFSIZE"] == "256"


def test_an_inventory_as_ini_is_the_same_inventory(playbook, tmp_path):
    text = """
[all:vars]
sglang_profile=deepseek-r1-w8a8-2p1d
sglang_model_path=/models/r1
sglang_host_tuning=false
sglang_router_args={'mini-lb': False, 'host': '0.0.0.0'}
[prefill]
p1 sglang_data_address=192.0.2.11
p2 sglang_data_address=192.0.2.12
[decode]
d1 sglang_data_address=192.0.2.21
d2 sglang_data_address=192.0.2.22
[router]
r1 sglang_data_address=192.0.2.91
"""
    ini = tmp_path / "hosts"
    ini.write_text(text)
    settings = {"sglang_host_tuning": False, "sglang_router_args": {"mini-lb": False, "host": "0.0.0.0"}}
    assert playbook(ini).plan == playbook(r1(**settings), directory=tmp_path / "yaml").plan


def test_both_names_of_the_profile_may_be_given_when_they_agree(playbook):
    assert playbook(r1(), "-e", "profile=deepseek-r1-w8a8-2p1d").rc == 0
    assert "Others: deepseek-r1-w8a8-2p1d-32p-in3k5-out1k-19-0ms" in playbook(r1()).output


def test_a_plays_variables_hold_for_every_host_and_win(playbook, tmp_path):
    play = {
        "name": "Plan of my own",
        "hosts": "all",
        "gather_facts": False,
        "vars": {
            "root": "/play",
            "sglang_model_path": "{{ root }}/model",
            "sglang_npus": 32,
            "sglang_interface": "bond7",
        },
        "tasks": [
            {"name": "Compile", "ascend.sglang.plan": {"dest": "{{ sglang_plan_dir }}"}, "run_once": True},
        ],
    }
    own = tmp_path / "play.yml"
    own.write_text(yaml.safe_dump([play], sort_keys=False))
    found = services(playbook(r1(sglang_model_path="/inventory"), name=own))
    assert word(found["p2", "prefill"], "--model-path") == "/play/model"
    assert found["d2", "decode"]["env"]["HCCL_SOCKET_IFNAME"] == "bond7"
    play["vars"]["sglang_data_address"] = "{{ ansible_host }}"
    own.write_text(yaml.safe_dump([play], sort_keys=False))
    assert playbook(r1(), name=own).failure == [
        "the play, sglang_data_address: it is a template for each host, and it stands in the play. "
        "Set it in the inventory."
    ]


# Groups and order


def test_nothing_but_the_groups_of_the_cluster_counts(playbook, tmp_path):
    """Not other hosts and their variables, not the order elsewhere, not --limit, not the host that the task is for."""
    first = playbook(r1())
    inventory = copy.deepcopy(r1())
    odd = {"sglang_groups": {"prefill": "x"}, "sglang_model_path": "/other", "sglang_npus": "{{ nowhere }}"}
    inventory["all"]["hosts"] = {"a0": {**odd, "ansible_host": "192.0.2.200"}}
    inventory["all"]["children"] = {"z": {"hosts": {"d2": {}, "r1": {}, "p2": {}}}, **inventory["all"]["children"]}
    for number, arguments in enumerate(((), ("--limit", "d2"), ("--limit", "router"), ("--limit", "a0"))):
        done = playbook(inventory, *arguments, directory=tmp_path / f"again{number}")
        assert done.rc == 0, done.output
        assert (done.directory / "plan.json").read_text() == (first.directory / "plan.json").read_text()


def test_order_is_ansibles_order_of_the_group(playbook, tmp_path):
    """A group's own hosts before those of its children; nothing is sorted."""
    inventory = r1(sglang_instances={"decode": 2})
    inventory["all"]["children"]["decode"] = {
        "hosts": {"node10": host(30), "node9": host(29)},
        "children": {"rack": {"hosts": {"zeta": host(31), "alpha": host(32)}}},
    }
    found = [one["nodes"] for one in playbook(inventory).plan["instances"] if one["role"] == "decode"]
    assert found == [["node10", "node9"], ["zeta", "alpha"]]


def test_a_settings_group_names_may_stand_with_the_groups_that_they_name(playbook):
    inventory = r1()
    groups = inventory["all"]["children"]
    names = {"prefill": "p_nodes", "decode": "d_nodes"}
    inventory["all"]["children"] = {
        "router": groups["router"],
        "p_nodes": {**groups["prefill"], "vars": {"sglang_groups": names}},
        "d_nodes": groups["decode"],
    }
    assert sorted(services(playbook(inventory)))[0] == ("d1", "decode")


# The filters


def test_the_filters_are_the_same_compiler(playbook, tmp_path):
    calls = {
        "topology": "groups | ascend.sglang.topology(hostvars)",
        "ranks": "groups | ascend.sglang.node_ranks(hostvars)",
        "ports": "groups | ascend.sglang.bootstrap_ports(hostvars)",
        "env": "groups | ascend.sglang.service_env(hostvars)",
        "services": "groups | ascend.sglang.services(hostvars)",
        "other": "groups | ascend.sglang.topology(hostvars, 'deepseek-r1-w8a8-2p1d-32p-in3k5-out1k-19-0ms')",
    }
    play = [
        {
            "name": "Filters",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "tasks": [
                {
                    "name": "Write what they give",
                    "ansible.builtin.copy": {
                        "content": "{{ %s | to_json }}"
                        % ("{" + ", ".join(f"'{k}': {v}" for k, v in calls.items()) + "}"),
                        "dest": str(tmp_path / "filters.json"),
                        "mode": "0600",
                    },
                },
            ],
        }
    ]
    own = tmp_path / "filters.yml"
    own.write_text(yaml.safe_dump(play, sort_keys=False))
    inventory = r1(sglang_prefill_args={"chat-template": "<tool_call>"}, root="/m", sglang_model_path="{{ root }}/r1")
    plan = playbook(inventory).plan
    done = playbook(inventory, name=own)
    assert done.rc == 0, done.output
    given = json.loads((tmp_path / "filters.json").read_text())
    assert given["topology"] == given["other"] == plan["instances"]
    assert given["services"] == plan["services"]
    assert given["ports"] == {"p1": 8998, "p2": 8999}
    assert given["ranks"] == {
        "p1": {"prefill": {"instance": 0, "rank": 0}},
        "p2": {"prefill": {"instance": 1, "rank": 0}},
        "d1": {"decode": {"instance": 0, "rank": 0}},
        "d2": {"decode": {"instance": 0, "rank": 1}},
    }
    assert given["env"]["d2"] == {"sglang-decode": next(one for one in plan["services"] if one["host"] == "d2")["env"]}


def test_a_filter_fails_with_its_name_and_the_errors(playbook, tmp_path):
    calls = {
        "groups | ascend.sglang.services(hostvars, 'nope')": "services: sglang_profile: there is no profile 'nope'",
        "groups | ascend.sglang.topology(5)": "topology: expected `groups | ascend.sglang.topology(hostvars)`, not ",
        "groups | ascend.sglang.topology(hostvars)": "topology: host p1, sglang_npus: a whole number is needed, not",
        "groups | ascend.sglang.node_ranks(bad)": "node_ranks: expected `groups | ascend.sglang.node_ranks(hostvars)`",
    }
    inventory = r1(bad=["hostvars"])
    inventory["all"]["children"]["prefill"]["hosts"]["p1"]["sglang_npus"] = "x"
    tasks = [
        {"name": "Call", "ansible.builtin.debug": {"msg": f"{{{{ {call} }}}}"}, "ignore_errors": True} for call in calls
    ]
    own = tmp_path / "filter.yml"
    own.write_text(yaml.safe_dump([{"name": "F", "hosts": "p1", "gather_facts": False, "tasks": tasks}]))
    output = " ".join(playbook(inventory, name=own).output.split())
    for message in calls.values():
        assert f"ascend.sglang.{message}" in output


def test_a_filter_names_the_variable_that_cannot_be_evaluated(playbook, tmp_path):
    own = tmp_path / "filter.yml"
    task = {"name": "Call", "ansible.builtin.debug": {"msg": "{{ groups | ascend.sglang.service_env(hostvars) }}"}}
    own.write_text(yaml.safe_dump([{"name": "F", "hosts": "p1", "gather_facts": False, "tasks": [task]}]))
    done = playbook(r1(sglang_decode_args={"log-level": "{{ nowhere }}"}), name=own)
    assert done.rc != 0
    assert "ascend.sglang.service_env: host p1, sglang_decode_args: its value" in " ".join(done.output.split())


# A plan that is no more


@pytest.mark.parametrize("name", ["plan", "preflight", "deploy"])
def test_an_earlier_plan_does_not_pass_for_one_that_cannot_be_compiled(playbook, name):
    """In check mode it stays and is said; else it is set aside, until there is a plan again."""
    good = {"plan.json", "plan.md", "plan.html"}
    done = playbook(r1())
    assert {path.name for path in done.directory.iterdir()} == good
    before = (done.directory / "plan.json").read_text()
    run = ROOT / "playbooks" / f"{name}.yml"
    checked = playbook(r1(sglang_profile="nope"), "--check", name=run)
    assert checked.rc != 0
    assert "plan.json (would be plan.json.outdated)" in checked.warnings
    assert {path.name for path in done.directory.iterdir()} == good
    failed = playbook(r1(sglang_profile="nope"), name=run)
    assert failed.rc != 0
    assert "plan.json (is now plan.json.outdated)" in failed.warnings
    assert "nope" in failed.failure[0]
    assert not any("outdated" in line for line in failed.failure)
    assert {path.name for path in done.directory.iterdir()} == {f"{one}.outdated" for one in good}
    assert (done.directory / "plan.json.outdated").read_text() == before
    again = playbook(r1())
    assert again.rc == 0
    assert {path.name for path in done.directory.iterdir()} == good


@pytest.mark.parametrize("name", ["plan", "preflight", "deploy"])
def test_a_plan_with_errors_takes_the_place_of_an_earlier_one(playbook, name):
    playbook(r1())
    done = playbook(r1(sglang_decode_args={"mem-fraction-static": 1.5}), name=ROOT / "playbooks" / f"{name}.yml")
    assert done.rc != 0
    assert [one["check"] for one in done.plan["findings"] if one["level"] == "error"] == ["mem-fraction"]


def test_an_earlier_plan_that_cannot_be_set_aside_is_said(playbook):
    """Such as one in a directory that belongs to somebody else: the run fails for its own reason all the same."""
    done = playbook(r1())
    (done.directory / "plan.json.outdated").mkdir()
    failed = playbook(r1(sglang_profile="nope"))
    assert failed.rc != 0
    assert "has the plan of an earlier run" in failed.warnings
    assert "nope" in failed.failure[0]
