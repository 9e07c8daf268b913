# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as a page, and the views that plays and roles take of it."""

from __future__ import annotations

import re
import shlex

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import gather
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan_page import command_line, page, summary
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan_result import (
    OF_A_PLAN,
    by_host,
    differences,
    entrances_by_host,
    needed_paths,
    placements,
    set_aside,
    write_plan,
)

from .cluster import PROFILES, compiled, groups_for, plan_of, planned, profile, variables_for

R1 = "deepseek-r1-w8a8-2p1d"
KIMI = "kimi-k2-6-w4a8-1p1d-24p"


def shell_words(command: str) -> list[str]:
    """As a shell reads it: shlex alone takes a continued line for a word."""
    return shlex.split(command.replace("\\\n", ""))


@pytest.mark.parametrize("name", sorted(PROFILES.files))
def test_a_command_of_the_page_is_the_command(name):
    plan = plan_of(name)
    text = page(plan, "note")
    blocks = re.findall(r"```bash\n(.*?)\n```", text, re.DOTALL)
    assert len(blocks) == len(plan.services) + 1
    for one, block in zip(plan.services, blocks, strict=False):
        command = block[block.index(f"{one.argv[0]} -m ") :]
        assert tuple(shell_words(command)) == one.argv
        exported = dict(
            line.removeprefix("export ").split("=", 1) for line in block.splitlines() if line.startswith("exp")
        )
        assert {key: shlex.split(value)[0] if value else "" for key, value in exported.items()} == dict(one.env)


def test_awkward_words_are_quoted_and_a_secret_stands_by_name():
    words = ("python3", "-m", "x", "--a", "it's {{ x }} | $Y\n", "--b", "", {"secret": "api_key"})
    text = command_line(words)
    assert shell_words(text.replace("<api_key>", "KEY")) == [*words[:-1], "KEY"]
    assert text.splitlines()[1].startswith("    --a ")


def test_the_page_tells_everything_once():
    plan = planned(R1, sglang_decode_args={"log-level": "a|b"}, hosts={"p1": {"sglang_interfase": "x"}})
    text = page(plan, "A note.")
    assert text.startswith(f"# Plan: {plan.profile}\n\nA note.\nSGLang 0.5.13.post1, 32 cards, 5 services.\n")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Findings",
        "## Instances",
        "## Services",
        "## Deviations from the page",
        "## Commands",
    ]
    assert "| decode-0 | d1, d2 | http://192.0.2.21:8001 |" in text
    assert "sglang_interfase is no setting of this collection" in text
    # One row for both ranks, and a bar that does not end the cell.
    assert text.count("--log-level |") == 1
    assert "`a\\|b`" in text
    assert "decode-0/0@d1, decode-0/1@d2" in text


def test_the_summary_is_who_runs_what():
    assert summary(planned(R1), "A note.") == [
        "A note.",
        "prefill instance 0: rank 0 p1; http://192.0.2.11:8000, bootstrap port 8998",
        "prefill instance 1: rank 0 p2; http://192.0.2.12:8000, bootstrap port 8999",
        "decode instance 0: rank 0 d1, rank 1 d2; http://192.0.2.21:8001",
        "entrance: http://127.0.0.1:6688 on r1",
        f"5 services on 32 cards; {len(planned(R1).deviations)} deviations from the page",
    ]


def test_hosts_get_the_groups_of_what_they_run():
    groups = {"prefill": ["p1"], "decode": ["d1", "d2"], "router": ["p1"]}
    found = {one["host"]: one["groups"] for one in placements(planned(KIMI, groups=groups))}
    assert sorted(found) == ["d1", "d2", "p1"]
    assert found["p1"] == [
        "ascend_sglang",
        "ascend_sglang_prefill",
        "ascend_sglang_engines",
        "ascend_sglang_router",
        "ascend_sglang_entrance",
    ]
    mixed = {one["host"]: one["groups"] for one in placements(planned("kimi-k2-6-w4a8-16p"))}
    assert ["ascend_sglang_entrance" in mixed[host] for host in ("m1", "m2")] == [True, False]


def test_a_host_gets_its_own_services_and_entrances():
    plan = planned(R1)
    assert {host: [one["unit"] for one in own["all"]] for host, own in by_host(plan).items()} == {
        "p1": ["sglang-prefill"],
        "p2": ["sglang-prefill"],
        "d1": ["sglang-decode"],
        "d2": ["sglang-decode"],
        "r1": ["sglang-router"],
    }
    assert entrances_by_host(plan) == {"r1": [{"unit": "sglang-router", "url": "http://127.0.0.1:6688"}]}


def test_what_the_hosts_own_facts_change_is_told_line_by_line():
    before = planned(R1).as_dict()
    after = planned(R1, hosts={"d2": {"sglang_interface": "eth9"}}, sglang_prefill_args={"port": 8100}).as_dict()
    lines = differences(before, after)
    assert "d2 sglang-decode env HCCL_SOCKET_IFNAME: bond0 -> eth9" in lines
    assert any(line.startswith("p1 sglang-prefill ports http: 8000 -> 8100") for line in lines)
    assert differences(before, before) == []


def test_a_plan_is_written_when_it_differs(tmp_path):
    files = {"plan.json": "{}\n", "plan.md": "# ü\n"}
    directory = tmp_path / "a" / "b"
    assert write_plan(directory, files, write=False)
    assert not directory.exists()
    assert write_plan(directory, files, write=True)
    assert (directory / "plan.md").read_text(encoding="utf-8") == "# ü\n"
    assert not write_plan(directory, files, write=True)
    assert write_plan(directory, {**files, "plan.json": "[]\n"}, write=True)


def test_an_earlier_plan_is_set_aside_until_there_is_a_new_one(tmp_path):
    assert set_aside(tmp_path / "nowhere", OF_A_PLAN, write=True) == []
    write_plan(tmp_path, {"plan.json": "{}\n", "plan.md": "# 1\n"}, write=True)
    assert set_aside(tmp_path, OF_A_PLAN, write=False) == ["plan.json", "plan.md"]
    assert set_aside(tmp_path, OF_A_PLAN, write=True) == ["plan.json", "plan.md"]
    assert {path.name for path in tmp_path.iterdir()} == {"plan.json.outdated", "plan.md.outdated"}
    assert (tmp_path / "plan.json.outdated").read_text() == "{}\n"
    assert set_aside(tmp_path, OF_A_PLAN, write=True) == []
    write_plan(tmp_path, {"plan.json": "{}\n", "plan.md": "# 2\n"}, write=True)
    assert {path.name for path in tmp_path.iterdir()} == {"plan.json", "plan.md"}


def test_only_paths_that_a_service_names_are_needed():
    wanted = profile(R1)
    groups = groups_for(wanted)
    plan = compiled(wanted, groups, variables_for(groups))
    settings = gather(Inventory(groups, variables_for(groups)), groups, {})[0]
    assert needed_paths(plan, settings) == ["/path/to/model-weights"]
