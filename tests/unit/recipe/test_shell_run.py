# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What bash starts from a page is what the plan of the imported profile says, but for declared deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils import profile as profiles
from ansible_collections.ascend.sglang.tests.unit.compiler.cluster import compiled, groups_for, variables_for

from .importing import PAGES, imported
from .shell_run import Bash, Started, blocks, run_recipe

P = ("192.0.2.11", "192.0.2.12", "192.0.2.13", "192.0.2.14")
D = ("192.0.2.21", "192.0.2.22", "192.0.2.23", "192.0.2.24")
MODEL, DRAFT = "/path/to/model-weights", "/path/to/draft-model-weights"


@dataclass(frozen=True)
class Filled:
    """A page, and what its reader has to fill in."""

    page: str
    fill: dict[str, str]


def your(prefill: int, decode: int, template: str = "<your {} ip{}>") -> dict[str, str]:
    """``<your prefill ip1>`` and so on; a role with one host has no number."""
    found = {}
    for role, count, addresses in (("prefill", prefill, P), ("decode", decode, D)):
        for number in range(count):
            found[template.format(role, "" if count == 1 else number + 1)] = addresses[number]
    return found


NIC = {"<network-interface>": "bond0", "<nic>": "bond0", "IFNAME=lo": "IFNAME=bond0", "IFNAME=xxx": "IFNAME=bond0"}

FILLED = [
    Filled("your-ip.md", {**your(2, 2, "your {} ip{}"), "MODEL_PATH=xxx": f"MODEL_PATH={MODEL}"}),
    Filled("pip-dip.md", {"PIP": P[0], "DIP1": D[0], "DIP2": D[1], "MODEL_PATH=xxx": f"MODEL_PATH={MODEL}"}),
    Filled("multi-node-prefill.mdx", {**your(2, 2), "/path/to/quarry": MODEL}),
    Filled("grouped-prefills.md", {**your(4, 4, "<{}-ip-{}>"), "/models/meridian": MODEL}),
    Filled("short-flags.md", {"<your ip1>": D[0], "<your ip2>": D[1], "/path/to/cobalt": MODEL}),
    Filled("part-of-node.md", {"/path/to/pebble": MODEL}),
    Filled(
        "zbal-by-address.md",
        {**your(2, 0), "<your decode ip>": D[0], "/path/to/tundra-draft": DRAFT, "/path/to/tundra": MODEL},
    ),
    Filled(
        "mixed-two-nodes.md", {"IP1": D[0], "IP2": D[1], "=xxx": f"={MODEL}", " xxx": f" {MODEL}", " yyy": f" {DRAFT}"}
    ),
    Filled("json.md", {"/path/to/basalt": MODEL}),
    Filled("tables-only.mdx", {"$MODEL_PATH": MODEL}),
    Filled(
        "separate-blocks.md",
        {
            "<prefill-node-ip>": P[0],
            "<decode-node-ip-1>": D[0],
            "<decode-node-ip-2>": D[1],
            "<model-path>": MODEL,
        },
    ),
    Filled("node-ips.mdx", {**your(4, 2), "<your node1 ip>": D[0], "<your node2 ip>": D[1]}),
    Filled(
        "rank-outside-the-loop.md",
        {
            "your_ip_0": D[0],
            "your_ip_1": D[1],
            "10.0.0.1": P[0],
            "10.0.0.2": D[0],
            "/path/to/heron": MODEL,
            "IFNAME=eth0": "IFNAME=bond0",
        },
    ),
    Filled("odds-and-ends.md", {"/path/to/willow": MODEL}),
    Filled("deepseek-r1.md", {**your(2, 2), "<your prefill ip>": P[0], "<your decode ip>": D[0]}),
]


def cases() -> list[Any]:
    found = []
    for filled in FILLED:
        for number, profile in enumerate(imported((PAGES / filled.page).read_text(), filled.page).profiles):
            found.append(pytest.param(filled, number, id=f"{filled.page}-{profile.name}"))
    return found


@pytest.mark.parametrize(("filled", "number"), cases())
def test_bash_starts_what_the_plan_says(filled: Filled, number: int, tmp_path: Path) -> None:
    text = (PAGES / filled.page).read_text()
    profile = imported(text, filled.page).profiles[number]
    for placeholder, meant in {**filled.fill, **NIC}.items():
        text = text.replace(placeholder, meant)
    title, shell = [each for each in blocks(text) if each[1]][number]
    assert title.split() == profile.title.split()
    started = run_recipe(Bash(tmp_path), shell, (*P, *D))

    wanted = profiles.load(profile.data, filled.page)
    groups = groups_for(wanted)
    hosts = variables_for(groups)
    plan = compiled(wanted, groups, hosts).as_dict()
    assert [one for one in plan["findings"] if one["level"] == "error" and one["check"] != "required-flag"] == []
    addresses = {host: values["sglang_data_address"] for host, values in hosts.items()}

    servers = [one for one in started if one.module == "sglang.launch_server"]
    in_place = [one for one in plan["services"] if one["role"] != "router"]
    for one in servers:
        fitting = [
            service
            for service in in_place
            if service["role"] == role_of(one) and one.address in (None, addresses[service["host"]])
        ]
        service = fitting[0]
        in_place.remove(service)
        assert_same(one, service, plan["deviations"], profile)
    # Only the second node of a mixed instance may have no start on the page.
    assert all(service["role"] == "mixed" and service["rank"] > 0 for service in in_place)
    for one in started:
        if one.module == "sglang_router.launch_router":
            (service,) = [service for service in plan["services"] if service["role"] == "router"]
            assert_same(one, service, plan["deviations"], profile)
    benchmarks = [one for one in started if one.module == "sglang.bench_serving"]
    assert bool(benchmarks) == (plan["benchmark"] is not None)
    if benchmarks:
        page = words_of(benchmarks[0].argv[2:])
        moved = {one["name"] for one in plan["deviations"] if one["role"] == "benchmark"}
        planned = words_of([word.replace("<model_path>", MODEL) for word in plan["benchmark"]["argv"][3:]])
        assert {name: words for name, words in page.items() if name not in moved} == {
            name: words for name, words in planned.items() if name not in moved
        }


def role_of(one: Started) -> str:
    words = list(one.argv)
    mode = "--disaggregation-mode"
    return words[words.index(mode) + 1] if mode in words else "mixed"


def words_of(argv: Sequence[str]) -> dict[str, Any]:
    """Words behind each flag; the last one counts, but the router's lists add up."""
    found: dict[str, Any] = {}
    name = ""
    for word in argv:
        if word.startswith("--"):
            name, sign, rest = word.partition("=")
            adds = name in ("--prefill", "--decode")
            found[name] = [*found.get(name, []), []] if adds else []
            if sign:
                found[name].append(rest)
        elif name in ("--prefill", "--decode"):
            found[name][-1].append(word)
        else:
            found[name].append(word)
    return found


def assert_same(one: Started, service: dict[str, Any], deviations: list[dict[str, Any]], profile: Any) -> None:
    page = {("arg", name): words for name, words in words_of(one.argv[2:]).items()}
    page |= {("env", name): value for name, value in one.env.items()}
    page |= {("unset", name): name for name in one.unset} | {("source", path): path for path in one.source}
    planned = {("arg", name): words for name, words in words_of(service["argv"][3:]).items()}
    planned |= {("env", name): value for name, value in service["env"].items()}
    planned |= {("unset", name): name for name in service["unset"]}
    planned |= {("source", path): path for path in service["source"]}
    declared = {
        (each["kind"], each["name"]): each
        for each in deviations
        if (each["host"], each["role"], each["rank"]) == (service["host"], service["role"], service["rank"])
    }
    noted = {note.what for note in profile.notes if "gives each server its NPUs" in note.why}
    for thing in {*page, *planned, *declared}:
        if f"export {thing[1]}" in noted or thing[1] == "--base-gpu-id":
            continue
        if thing[0] == "env" and "<env:" in page.get(thing, ""):
            # How the plan writes what the host has is the plan's matter; the profile is compared.
            held = profile.data["roles"][service["role"]]["env"][thing[1]]
            assert held.replace("<draft_model_path>", DRAFT) == page[thing]
            continue
        if thing in declared:
            assert (declared[thing]["page"], declared[thing]["rendered"]) == (page.get(thing), planned.get(thing))
        else:
            assert planned.get(thing) == page.get(thing), thing
