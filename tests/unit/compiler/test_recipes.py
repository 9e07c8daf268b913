# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan equals the page for all 18 recipes, except for deviations; and those are the expected ones.

launches.json is what the pages' own shell blocks start, recorded by running them. The expected deviations are written
here by reason, from what the pages leave out or get wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from .cluster import plan_of, profile

LAUNCHES = {recipe["slug"]: recipe for recipe in json.loads((Path(__file__).parent / "launches.json").read_text())}
SLUGS = sorted(LAUNCHES)

KEPT_OUT = {"all_proxy", "ALL_PROXY", "RANK_TABLE_FILE", "HOST_IP", "HCCL_IF_IP", "ASCEND_RT_VISIBLE_DEVICES"}
ALL_PROXIES = {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}


def flags(words: list[str]) -> dict[str, Any]:
    """Words behind each flag; a list of lists for the router's repeatable flags."""
    result: dict[str, Any] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name = word
            if name in ("--prefill", "--decode"):
                result.setdefault(name, []).append([])
            else:
                assert name not in result
                result[name] = []
        elif name in ("--prefill", "--decode"):
            result[name][-1].append(word)
        else:
            result[name].append(word)
    return result


def sides(argv: list[str], env: dict[str, str], unset: list[str], source: list[str]) -> dict[tuple[str, str], Any]:
    return {
        **{("arg", name): words for name, words in flags(argv).items()},
        **{("env", name): value for name, value in env.items()},
        **{("unset", name): name for name in unset},
        **{("source", name): name for name in source},
    }


def expected_reasons(slug: str, key: str, page: dict[tuple[str, str], Any]) -> Counter[tuple[str, str, str]]:
    """(kind, name, reason) of every deviation that a service must have, by what the page has and has not."""
    two_node_mixed = slug == "kimi-k2-6-w4a8-16p-in64k-out1k-100ms"
    expected = []
    if key == "router":
        expected += [("unset", name, "environment-kept-out") for name in ALL_PROXIES]
        expected += [("env", "HF_HUB_OFFLINE", "tokenizer-offline")]
        if ("arg", "--mini-lb") not in page:
            expected += [("arg", "--prometheus-host", "router-monitoring-address")]
            expected += [("arg", "--worker-startup-timeout-secs", "worker-start-limit")]
        return Counter(expected)
    expected += [("unset", name, "environment-kept-out") for name in KEPT_OUT]
    if slug.startswith("deepseek-r1-w8a8") and key.startswith("decode"):
        expected += [("arg", "--moe-dense-tp", "flag-in-full"), ("arg", "--moe-dense-tp-size", "flag-in-full")]
    if slug.startswith("kimi-k2-6-w4a8-8p"):
        expected += [("arg", "--model-loader-extra-config", "json-one-argument")]
    if slug.startswith("kimi-k2-6-w4a8-1p1d-24p"):
        expected += [("arg", "--disaggregation-transfer-backend", "transfer-backend")]
    if slug in ("kimi-k2-6-w4a8-8p-in1024x1024-30-out1024-50ms", "kimi-k2-6-w4a8-8p-in1080p-30-out256-50ms"):
        expected += [("env", f"{library}_SOCKET_IFNAME", "socket-interface") for library in ("HCCL", "GLOO")]
    if two_node_mixed:
        expected += [
            ("arg", "--node-rank", "multi-node-rank"),
            ("arg", "--dist-init-addr", "multi-node-rendezvous"),
            ("arg", "--host", "multi-node-address"),
        ]
    if two_node_mixed or not key.startswith("server"):
        expected += [("env", "SGLANG_HOST_IP", "host-address")]
    return Counter(expected)


@pytest.mark.parametrize("slug", SLUGS)
def test_plan_is_the_page_but_for_declared_deviations(slug: str) -> None:
    recipe = LAUNCHES[slug]
    plan = plan_of(slug).as_dict()
    services = {(one["role"], one["instance"], one["rank"]): one for one in plan["services"]}
    for key, launch in page_services(recipe).items():
        service = services.pop(key)
        page = sides(launch["argv"][2:], launch["env"], launch["unset"], launch["sourced"])
        planned = sides(service["argv"][3:], service["env"], service["unset"], service["source"])
        assert service["argv"][:3] == ["python3", *launch["argv"][:2]]
        declared = {
            (one["kind"], one["name"]): one
            for one in plan["deviations"]
            if (one["host"], one["role"], one["rank"]) == (service["host"], key[0], key[2])
        }
        for thing in {*page, *planned, *declared}:
            if thing in declared:
                assert (declared[thing]["page"], declared[thing]["rendered"]) == (page.get(thing), planned.get(thing))
                assert page.get(thing) != planned.get(thing)
            else:
                assert planned.get(thing) == page.get(thing), thing
        reasons = Counter((kind, name, one["reason"]) for (kind, name), one in declared.items())
        assert reasons == expected_reasons(slug, page_key(recipe, key), page)
    assert not services


def page_services(recipe: dict[str, Any]) -> dict[tuple[str, int, int], dict[str, Any]]:
    """The page's services by role, instance and rank; both nodes of the two-node mixed recipe have the same page."""
    result = {}
    for key, launch in recipe["services"].items():
        if key == "router":
            result["router", 0, 0] = launch
        elif key.startswith("prefill"):
            result["prefill", int(key[-1]), 0] = launch
        elif key.startswith("decode"):
            result["decode", 0, int(key[-1])] = launch
        else:
            result["mixed", 0, 0] = launch
            if "--nnodes" in launch["argv"]:
                result["mixed", 0, 1] = launch
    return result


def page_key(recipe: dict[str, Any], key: tuple[str, int, int]) -> str:
    return {"prefill": f"prefill{key[1]}", "decode": f"decode{key[2]}", "router": "router"}.get(key[0], "server0")


@pytest.mark.parametrize("slug", SLUGS)
def test_benchmark_is_the_pages(slug: str) -> None:
    plan = plan_of(slug).as_dict()
    page = LAUNCHES[slug]["benchmark"]
    planned, declared = plan["benchmark"], [one for one in plan["deviations"] if one["role"] == "benchmark"]
    arguments = {one["name"]: one for one in declared if one["kind"] == "arg"}
    if slug == "kimi-k2-6-w4a8-16p-in64k-out1k-100ms":
        assert {name: (one["rendered"], one["reason"]) for name, one in arguments.items()} == {
            "--host": (["192.0.2.21"], "benchmark-entrance")
        }
        page = [word if word != "127.0.0.1" else "192.0.2.21" for word in page]
    else:
        assert not arguments
    assert planned["argv"] == ["python3", *page]
    assert {one["name"] for one in declared if one["kind"] == "unset"} == ALL_PROXIES


@pytest.mark.parametrize("slug", SLUGS)
def test_host_settings_facts_and_size_are_the_pages(slug: str) -> None:
    recipe, wanted = LAUNCHES[slug], profile(slug)
    first = next(iter(recipe["services"].values()))
    assert [f"{name}={value}" for name, value in wanted.sysctl.items()] == first["sysctl"]
    assert wanted.governor == first["governor"]
    assert dict(wanted.facts) == recipe["facts"]
    assert plan_of(slug).cards == int(recipe["facts"]["Cards"])


@pytest.mark.parametrize("slug", SLUGS)
def test_no_recipe_has_an_error(slug: str) -> None:
    assert [str(one) for one in plan_of(slug).findings if one.level == "error"] == []
