# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: worst first, one line for what is the same, at four hosts and at many."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import error, warning
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import registry, report
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import spans

from .good import Cluster
from .test_checks import shards

MANY = {"prefill": [f"p{n + 1}" for n in range(24)], "decode": [f"d{n + 1}" for n in range(40)], "router": ["r1"]}


def lines_of(cluster: Cluster, skip: tuple[str, ...] = (), *of_plan) -> tuple[report.Line, ...]:
    return report.lines(registry.run(cluster.situation(), skip), of_plan, list(cluster.addresses))


def big() -> Cluster:
    return Cluster(groups=MANY, sglang_instances={"prefill": 24, "decode": 20})


def test_a_good_cluster_is_one_line_a_check():
    for cluster in (Cluster(), big()):
        text = report.text(lines_of(cluster))
        assert len(text) == len(registry.host_checks()) + 2
        assert text[-1] == "preflight: 0 errors, 0 warnings"
        assert all(line.startswith("ok ") for line in text[:-1])
        assert max(map(len, text)) < 100


def test_worst_first():
    cluster = Cluster()
    cluster["d1"]["uid"] = 1000
    cluster.clocks["d2"] = (600.0, 601.0)
    cluster.looked("p1")["ports"]["range"] = None
    found = lines_of(cluster, ("disk",), warning("mini-lb", "router", "it is for debugging", "do not"))
    levels = [one.level for one in found]
    assert levels == sorted(levels, key=report.LEVELS.index)
    assert set(levels) == set(report.LEVELS)
    text = report.text(found)
    assert text[0].split()[:3] == ["ERROR", "become", "d1"]
    assert text[-1] == "preflight: 1 error, 2 warnings, 2 not looked at, 1 skipped"


def test_hosts_without_a_problem_have_their_own_line():
    cluster = Cluster()
    cluster["d1"]["uid"] = 1000
    said = [(one.level, one.hosts) for one in lines_of(cluster) if one.check == "become"]
    assert said == [("error", ("d1",)), ("ok", ("p1", "p2", "d2", "r1"))]


def test_the_same_of_many_hosts_is_one_line():
    cluster = big()
    for host in cluster.engines():
        shards(host, ("m-2.safetensors", "pointer"))(cluster)
    text = report.text(lines_of(cluster))
    (line,) = [one for one in text if one.startswith("ERROR")]
    assert "p1 to p24, d1 to d40 " in line
    assert len(text) < 40


def test_one_host_of_many_is_named():
    cluster = big()
    cluster.clocks["d33"] = (600.0, 601.0)
    (line,) = [one for one in report.text(lines_of(cluster)) if one.startswith("warning")]
    assert line.split()[:3] == ["warning", "clock", "d33"]


def test_everybody_is_a_number():
    (line,) = [one for one in report.text(lines_of(big())) if one.split()[1] == "clock"]
    assert line.endswith("all 65 hosts")


def test_an_error_names_every_host():
    cluster = big()
    hosts = [host for number, host in enumerate(cluster.engines()) if number % 3 != 0]
    for host in hosts:
        cluster[host]["uid"] = 1000
    line, *_rest = report.text(lines_of(cluster))
    assert all(f" {host}," in f"{line}," or f" {host} " in line for host in hosts)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["p1", "p2"], "p1, p2"),
        (["p1", "p2", "p3", "p5"], "p1 to p3, p5"),
        (["n08", "n09", "n10", "n11"], "n08 to n11"),
        (["n8", "n9", "n10", "x", "n11"], "n8 to n10, x, n11"),
        (["n1.a", "n2.a", "n3.a", "n4.b"], "n1.a to n3.a, n4.b"),
        (["10.0.0.9", "10.0.0.10", "10.0.0.11"], "10.0.0.9 to 10.0.0.11"),
        (["p3", "p2", "p1"], "p3, p2, p1"),
        ([], ""),
    ],
)
def test_spans_of_hosts(names: list[str], text: str):
    assert spans(names) == text


@pytest.mark.parametrize(
    ("where", "hosts", "text"),
    [
        ("host d2", ("d2",), "it is down"),
        ("hosts d1, d2", ("d1", "d2"), "it is down"),
        ("host d2, sglang_instance", ("d2",), "sglang_instance: it is down"),
        ("host zz9", ("plan",), "host zz9: it is down"),
        ("decode hosts", ("plan",), "decode hosts: it is down"),
    ],
)
def test_findings_of_the_plan_are_lines_too(where: str, hosts: tuple[str, ...], text: str):
    found = lines_of(Cluster(), (), error("interface", where, "it is down", "Bring it up"))
    assert found[0] == report.Line("error", "interface", hosts, text, "Bring it up")
    assert next(one.text for one in found if one.check == "plan").endswith("checks of the plan alone")


def test_a_host_that_does_not_answer():
    cluster = Cluster()
    del cluster.answers["d2"]
    found = lines_of(cluster, (), error("unreachable", "host d2", "no route", "Repair it"))
    first, *rest = report.text(found)
    assert first.split()[:3] == ["ERROR", "unreachable", "d2"]
    assert any(line.endswith("all 4 hosts") for line in rest)
    content = report.as_dict(found, list(cluster.addresses), {})
    assert content["hosts"]["d2"] == {"unreachable": "error"}
    assert content["findings"][0]["hosts"] == ["d2"]


def test_for_machines():
    cluster = Cluster()
    cluster["d1"]["uid"] = 1000
    found = lines_of(cluster, ("disk",))
    text = report.as_json(report.as_dict(found, list(cluster.addresses), registry.explained()))
    content = json.loads(text)
    assert (content["errors"], content["warnings"]) == (1, 0)
    assert content["hosts"]["d1"]["become"] == "error"
    assert content["hosts"]["p1"]["become"] == "ok"
    assert content["hosts"]["p1"]["disk"] == "skipped"
    assert "npu-count" not in content["hosts"]["r1"]
    assert {one["name"] for one in content["checks"]} == {one.name for one in registry.host_checks()}
    told = next(one for one in content["findings"] if one["level"] == "error")
    assert told["check"] == "become"
    assert told["hosts"] == ["d1"]
    assert told["do"].startswith("Connect as root")


def test_equal_clusters_give_equal_files():
    texts = set()
    for _run in range(2):
        cluster = Cluster()
        texts.add(report.as_json(report.as_dict(lines_of(cluster), list(cluster.addresses), registry.explained())))
    assert len(texts) == 1
