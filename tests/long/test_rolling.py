# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of two prefill and two decode instances behind the real router, changed while clients ask it.

The tests are steps of one life, in this order. Every request is accounted for: streams and others, from the router's
host, with the API key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from long.rolling import Cluster, deployed, new_runs, not_as_planned
from on_hosts import hosts, playbooks, state

NUMBERS = {"p1": 170, "p2": 171, "d1": 172, "d2": 173, "r1": 174}
GROUPS = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}
VARIABLES = {
    "sglang_profile": "deepseek-r1-w4a8-1p1d-16p-in3k5-out1k5-41ms",
    "sglang_instances": {"prefill": 2, "decode": 2},
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Five hosts with the first deployment on them."""
    with deployed("roll", NUMBERS, GROUPS, tmp_path_factory.mktemp("rolling"), **VARIABLES) as there:
        yield there


def measured(run: playbooks.Run) -> float:
    """What the playbook says how long the interruption was."""
    (seconds,) = re.findall(r"answering again ([\d.]+) s after", run.output)
    return float(seconds)


FLAG = {"sglang_decode_args": {"max-running-requests": 400}}
BROKEN = {**FLAG, "sglang_decode_env": {"STAND_IN_CRASH_AT": "load", "STAND_IN_CRASH_LINE": "[ZBAL] zbal init failed!"}}


def test_the_cluster_is_as_planned(cluster):
    told = cluster.status()
    assert not_as_planned(told) == []
    servers = [one for one in told["services"] if one["role"] in ("prefill", "decode")]
    assert {one["version"]["reported"] for one in servers} == {"0.5.13.post1"}
    assert sorted(one["instance"] for one in told["router"]["workers"]) == [
        "decode-0", "decode-1", "prefill-0", "prefill-1",
    ]  # fmt: skip


def test_a_changed_decode_flag_restarts_exactly_the_decode_units_and_no_request_fails(cluster, record_property):
    before = cluster.invocations()
    with cluster.asked() as account:
        cluster.run("deploy", **FLAG).passed()
    record_property("rolling", f"deploy of a decode flag: {account}")
    assert new_runs(before, cluster.invocations()) == {"d1 sglang-decode", "d2 sglang-decode"}
    assert account.failed == []
    assert len(account.requests) > 50


def test_a_rolling_restart_of_both_prefills_fails_no_request(cluster, record_property):
    before = cluster.invocations()
    with cluster.asked() as account:
        cluster.run("restart", "-e", "role=prefill").passed()
    record_property("rolling", f"restart of both prefills, dedicated store: {account}")
    assert new_runs(before, cluster.invocations()) == {"p1 sglang-prefill", "p2 sglang-prefill"}
    assert account.failed == []


def test_a_second_deployment_changes_nothing(cluster):
    before = cluster.invocations()
    assert cluster.run("deploy", **FLAG).passed().count("changed") == 0
    assert cluster.invocations() == before


def test_a_broken_change_is_stopped_at_the_first_instance_and_rolled_back(cluster, record_property):
    before = cluster.invocations()
    with cluster.asked() as account:
        broken = cluster.run("deploy", **BROKEN).refused()
        broken.said(
            "sglang-decode on d1 died", "zbal init failed", "prefill-0, prefill-1 and decode-1 were left to serve"
        )
        told = cluster.status(**BROKEN)
        assert not told["ready"]
        assert told["router"]["missing"] == ["decode-0"]
        assert new_runs(before, cluster.invocations()) == {"d1 sglang-decode"}
        cluster.run("rollback", **FLAG).passed().said("restart sglang-decode")
    record_property("rolling", f"broken change and rollback: {account}")
    assert account.failed == []
    told = cluster.status(**FLAG)
    assert not_as_planned(told) == []


def test_with_the_store_in_the_first_prefill_the_interruption_is_announced_and_measured(cluster, record_property):
    cluster.run("deploy", **FLAG, sglang_store="prefill").passed()
    with cluster.asked() as account:
        run = cluster.run("restart", "-e", "instance=prefill-0", **FLAG, sglang_store="prefill").passed()
    run.said("prefill-0 holds the store, so that its whole PD group restarts")
    record_property("rolling", f"restart of the store's holder: told {measured(run)} s, clients saw {account}")
    assert account.failed
    # It counts from where the first instance leaves the router to an answer.
    assert account.outage <= measured(run) + 1
    after = max(one["end"] for one in account.failed)
    assert any(one["begin"] > after and not one["wrong"] for one in account.requests), "nobody was answered afterwards"
    # The others of its role need it, and it needs none of them.
    with cluster.asked() as account:
        cluster.run("restart", "-e", "instance=prefill-1", **FLAG, sglang_store="prefill").passed()
    record_property("rolling", f"restart of the other prefill: {account}")
    assert account.failed == []


def test_stop_and_remove_leave_the_hosts_as_they_were(cluster):
    cluster.run("stop").passed()
    everywhere = hosts.everywhere(cluster.hosts.values(), "systemctl list-units 'sglang-*' --all --no-legend --plain")
    assert not any("running" in text for text in everywhere.values()), everywhere
    assert cluster.run("stop").passed().count("changed") == 0
    cluster.run("remove").passed()
    assert state.differences(cluster.before, state.lasting(cluster.hosts.values())) == []
    assert cluster.run("remove").passed().count("changed") == 0
