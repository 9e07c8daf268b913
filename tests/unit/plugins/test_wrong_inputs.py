# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong inputs that the plan alone shows, each run as a user runs it.

Every run ends with an error in words that names what, where and what to do; nothing is written where nothing could be
compiled. The rules behind the messages have tests of their own; here is what Ansible makes of the inputs.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .conftest import host, r1

NAME = "deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms"


def changed(inventory: dict[str, Any], *, drop: str | None = None, **groups: dict[str, Any] | None) -> dict[str, Any]:
    """Other hosts in some groups; a group renamed or taken away."""
    result = copy.deepcopy(inventory)
    if drop:
        del result["all"]["children"][drop]
    for name, hosts in groups.items():
        result["all"]["children"][name] = {"hosts": hosts} if hosts is not None else {}
    return result


@pytest.mark.parametrize(
    ("inventory", "expected"),
    [
        pytest.param(
            changed(r1(), decode={"d1": host(21), "d2": host(22), "d3": host(23)}, prefill={"p1": host(11)}),
            [
                f"prefill hosts: profile {NAME} runs 2 prefill instances of 1 node, so 2 hosts, and the group has 1",
                f"decode hosts: profile {NAME} runs 1 decode instance of 2 nodes, so 2 hosts, and the group has 3 (d1",
            ],
            id="group sizes",
        ),
        pytest.param(
            changed(r1(), drop="router", prefill=None),
            [
                f"group prefill: it has no host. Profile {NAME} needs prefill, decode and router hosts: add hosts",
                "group router: there is no such group; the inventory has prefill, decode. "
                f"Profile {NAME} needs prefill, decode and router hosts: add the group, or name yours in "
                "sglang_groups.router.",
            ],
            id="a missing and an empty group",
        ),
        pytest.param(
            changed(r1(), drop="router", routers={"r1": host(91)}),
            [
                f"group router: there is no such group; did you mean routers? Profile {NAME} needs prefill, decode and "
                "router hosts: add the group, or name yours in sglang_groups.router."
            ],
            id="a misspelt group",
        ),
        pytest.param(
            changed(r1(), decode={"p1": {}, "d2": host(22)}),
            [
                "host p1: prefill-0 16 and decode-0 rank 0 16 NPUs do not fit: together 32, and the host has 16. "
                "Give the services hosts of their own, or correct sglang_npus if the host has more."
            ],
            id="a host in prefill and decode without room",
        ),
        pytest.param(
            changed(
                r1(),
                prefill={
                    "p1": host(11, sglang_data_address="127.0.0.1"),
                    "p2": host(12, sglang_data_address="0.0.0.0"),
                },
                decode={"d1": host(21, sglang_data_address="192.0.2.256"), "d2": host(91)},
            ),
            [
                "host p1, sglang_data_address: 127.0.0.1 is a loopback address: other hosts cannot reach it. Give",
                "host p2, sglang_data_address: 0.0.0.0 is a wildcard: it names no host. Give the host's own address",
                "host d1, sglang_data_address: '192.0.2.256' is no IPv4 address, and no host name ends in a number. ",
                "hosts d2, r1: all have the data address 192.0.2.91. Give every host its own sglang_data_address.",
            ],
            id="addresses",
        ),
        pytest.param(
            changed(r1(), decode={"d1": {}, "d2": {"ansible_host": "login.example"}}),
            [
                "host d1: no data address: sglang_data_address is not set and its name in the inventory (d1) is no",
                "host d2: no data address: sglang_data_address is not set and ansible_host (login.example) is no",
            ],
            id="no address",
        ),
        pytest.param(
            changed(
                r1(),
                prefill={
                    "p1": host(11, sglang_interface="<network-interface>"),
                    "p2": host(12, sglang_interface="^lo"),
                },
                decode={"d1": host(21, sglang_interface="eth0,eth1"), "d2": host(22, sglang_interface=["eth0"])},
            ),
            [
                "host p1, sglang_interface: '<network-interface>' is a placeholder that nobody replaced. Give one ",
                "host p2, sglang_interface: '^lo' is a pattern of another library; Gloo takes one exact name. Give",
                "host d1, sglang_interface: 'eth0,eth1' lists several interfaces; Gloo takes one exact name. Give",
                "host d2, sglang_interface: text is needed, not a list. Interface that owns the data address.",
            ],
            id="interfaces",
        ),
        pytest.param(
            changed(r1(sglang_router_args={"port": 8000}), router={"p1": {}}),
            [
                "host p1: port 8000 is wanted by router (http, set by sglang_router_args.port) and by prefill-0 (http, "
                "dp_attention). Set one of them to another port."
            ],
            id="a port clash",
        ),
        pytest.param(
            r1(
                sglang_decode_args={"max-runing-requests": 8, "tp-size": "many"},
                sglang_prefill_args={"trust-remote-code": "yes", "disaggregation-transfer-backend": "ascnd"},
            ),
            [
                "sglang_prefill_args: 'ascnd' is no value that SGLang 0.5.13.post1 takes for "
                "--disaggregation-transfer-backend. Did you mean ascend? Choose from: ",
                "sglang_prefill_args: --trust-remote-code is a flag without a value, but was given 'yes'. Write",
                "sglang_decode_args: SGLang 0.5.13.post1 has no flag --max-runing-requests. Did you mean max-running",
                "sglang_decode_args: the value 'many' of --tp-size is no whole number. Give it a whole number.",
            ],
            id="overrides",
        ),
        pytest.param(
            r1(sglang_model_path=None),
            [f"sglang_model_path: is not set. Profile {NAME} needs the directory of the weights: set it, for"],
            id="no model path",
        ),
        pytest.param(
            r1(sglang_prefill_args=["tp-size"], sglang_instances="many", sglang_npus=[8], sglang_ready_timeout="soon"),
            [
                "the inventory, sglang_instances: a mapping is needed, not the text 'many' (on the command line",
                "the inventory, sglang_prefill_args: a mapping is needed, not a list. Flags of every prefill service",
                "the inventory, sglang_ready_timeout: a whole number is needed, not the text 'soon'. Seconds that",
            ],
            id="types of the cluster's settings",
        ),
        pytest.param(
            r1(sglang_npus=[8]),
            ["hosts p1, p2, d1, d2, r1, sglang_npus: a whole number is needed, not a list. Number of NPUs of"],
            id="types of the hosts' settings",
        ),
        pytest.param(
            r1(sglang_prefill_args={"log-level": "{{ nowhere }}"}),
            ["host p1, sglang_prefill_args: its value cannot be evaluated: "],
            id="a template of nothing",
        ),
        pytest.param(
            r1(sglang_model_path="{{ 5 | no_such_filter }}"),
            ["host p1, sglang_model_path: its value cannot be evaluated: "],
            id="a template with a mistake",
        ),
        pytest.param(
            r1(sglang_groups="{{ nowhere }}"),
            ["host p1, sglang_groups: its value cannot be evaluated: "],
            id="a template in the groups' names",
        ),
        pytest.param(
            changed(r1(), router={"r1": {"ansible_host": "{{ nowhere }}"}}),
            ["host r1, ansible_host: its value cannot be evaluated: "],
            id="a template in Ansible's address",
        ),
        pytest.param({"all": {}}, ["the inventory: it has no host. Give one with -i; where Ansible"], id="no host"),
    ],
)
def test_a_wrong_inventory_is_refused(refused, inventory, expected):
    errors = refused(inventory)
    assert len(errors) == len(expected), errors
    for error, words in zip(errors, expected, strict=True):
        assert error.startswith(words), errors


# What is reported together runs together.
COMMAND_LINES = {
    "two profiles": {
        "profile=kimi-k2-6-w4a8-16p": "profile: -e profile=kimi-k2-6-w4a8-16p and sglang_profile: deepseek-r1"
    },
    "no name": {'{"profile": ["a"]}': "-e profile: text is needed, not a list. Give the name of one profile."},
    "unknown": {
        "sglang_profile=deepseek-r1-w8a8": "sglang_profile: there is no profile 'deepseek-r1-w8a8'. Did you mean"
    },
    "early": {
        '{"sglang_profile": {}}': "the inventory, sglang_profile: text is needed, not a mapping. What to run: ",
        "sglang_profile_dirs=mine": "the inventory, sglang_profile_dirs: a list is needed, not the text 'mine' (on the",
    },
    "cluster": {
        "sglang_instances=2": "the inventory, sglang_instances: a mapping is needed, not the number 2.",
        "sglang_decode_args={tp-size:8}": "the inventory, sglang_decode_args: a mapping is needed, not the text '{tp-",
        "sglang_store=elsewhere": "the inventory, sglang_store: 'elsewhere' is none of prefill, dedicated.",
        "sglang_host_tuning=maybe": "the inventory, sglang_host_tuning: true or false is needed, not the text 'maybe'.",
    },
    "hosts": {
        "sglang_npus=1.5": "hosts p1, p2, d1, d2, r1, sglang_npus: a whole number is needed, not the text '1.5'.",
        "sglang_bootstrap_port=70000": "hosts p1, p2, d1, d2, r1, sglang_bootstrap_port: 70000 is more than 65535.",
    },
    "engine": {"sglang_engine=0.5.14": "sglang_engine: there is no engine file for sglang.launch_server 0.5.14"},
    "no mapping": {
        "sglang_groups=gpu": "the inventory, sglang_groups: a mapping is needed, not the text 'gpu' (on the "
    },
    "no group": {
        'sglang_groups={"prefill":"p"}': "group p: there is no such group; the inventory has prefill, decode, "
    },
}


@pytest.mark.parametrize("given", COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_a_wrong_word_on_the_command_line_is_refused(refused, given):
    errors = refused(r1(), *(part for argument in given for part in ("-e", argument)))
    assert len(errors) == len(given), errors
    for error, words in zip(errors, given.values(), strict=True):
        assert error.startswith(words), errors


def test_hosts_given_as_a_list_are_no_hosts(playbook):
    """Ansible itself refuses such an inventory, with a warning, and goes on without any host."""
    inventory = r1()
    inventory["all"]["children"]["prefill"]["hosts"] = ["p1", "p2"]
    done = playbook(inventory)
    assert (done.rc != 0, done.wrote) == (True, False)
    (message,) = done.failure
    assert message.endswith(
        "inventory.yml, group prefill: hosts is a list (p1, p2), and has to be a mapping. "
        "Write each host as a line of its own with a colon: `p1:` `p2:`."
    )


def test_a_plan_with_errors_is_written_and_the_message_has_the_errors_only(playbook):
    done = playbook(r1(sglang_decode_args={"mem-fraction-static": 1.5}, sglang_interfase="eth0"))
    assert done.rc != 0
    assert done.failure == [
        "decode services: mem-fraction-static is 1.5: it is the share of an NPU's memory for weights and KV cache. "
        "Give a number between 0 and 1, for instance 0.8."
    ]
    levels = [one["level"] for one in done.plan["findings"]]
    assert levels == sorted(levels)
    assert levels[0] == "error"
    assert "warning" in levels
    assert "sglang_interfase is no setting of this collection" in done.warnings
    assert done.output.rstrip().rpartition("PLAY RECAP")[0].rstrip().endswith("}")


@pytest.mark.parametrize("where", ["a file", "below a file"])
def test_a_plan_that_cannot_be_written_is_said_so(playbook, tmp_path, where):
    (tmp_path / "taken").write_text("x")
    directory = tmp_path / "taken" / ("x" if where == "below a file" else "")
    done = playbook(r1(), directory=directory)
    assert done.rc != 0
    (message,) = done.failure
    assert message.startswith(f"sglang_plan_dir, {directory}: the plan cannot be written there: ")
    assert message.endswith("Name a directory that you may write, or leave sglang_plan_dir out.")


def test_check_mode_writes_nothing(playbook):
    done = playbook(r1(), "--check")
    assert (done.rc, done.wrote) == (0, False)
    assert "changed=1" in done.output
