# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of two prefill and two decode instances behind the real router, changed while clients ask it.

The tests are steps of one life, in this order. Every request is accounted for: streams and others, from the router's
host, with the API key.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from on_hosts import hosts, load, playbooks, state

NUMBERS = {"p1": 170, "p2": 171, "d1": 172, "d2": 173, "r1": 174}
GROUPS = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}
KEY = "a-key-of-the-tests"
KNOBS = {
    "start_seconds": 0, "load_seconds": 1, "graph_seconds": 0, "warmup_seconds": 0.1, "health_seconds": 0.05,
    "token_seconds": 0.02, "drain_poll_seconds": 0.2,
}  # fmt: skip


@dataclass
class Cluster:
    """The hosts, and a folder for inventory and results."""

    hosts: dict[str, hosts.LabHost]
    folder: pathlib.Path
    before: dict[str, list[str]]

    @property
    def url(self) -> str:
        return f"http://{self.hosts['r1'].data}:6688"

    def run(self, name: str, *options: str, **changes: Any) -> playbooks.Run:
        """A playbook with the inventory as it would be after these changes."""
        variables = {
            **hosts.CONNECTION,
            "sglang_profile": "deepseek-r1-w4a8-1p1d-16p-in3k5-out1k5-41ms",
            "sglang_model_path": "/models/deepseek-r1",
            "sglang_instances": {"prefill": 2, "decode": 2},
            "sglang_store": "dedicated",
            "sglang_router_args": {"mini-lb": False, "host": self.hosts["r1"].data},
            "sglang_api_key": KEY,
            # Tuning stays when services go; restore.yml has tests of its own.
            "sglang_host_tuning": False,
            **changes,
        }
        groups = {group: {name: self.hosts[name].inventory() for name in names} for group, names in GROUPS.items()}
        inventory = playbooks.write_inventory(self.folder / "inventory.yml", variables, groups)
        return playbooks.run(name, inventory, *options)

    def status(self, **changes: Any) -> dict[str, Any]:
        """What status.yml says."""
        path = self.folder / "status.json"
        self.run("status", "-e", f"status_file={path}", **changes).passed()
        return json.loads(path.read_text())

    def invocations(self) -> dict[str, str]:
        """Host and unit -> the run of it that is alive."""
        told = hosts.everywhere(
            self.hosts.values(),
            "for unit in $(cd /etc/ascend-sglang && ls -d sglang-*); do"
            ' echo "$unit $(systemctl show --value --property=InvocationID $unit)"; done',
        )
        return {f"{name} {line.split()[0]}": line for name, text in told.items() for line in text.splitlines()}

    def asked(self) -> Any:
        return load.asked(self.hosts["r1"], self.url, KEY)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Five hosts with the first deployment on them."""
    with hosts.booted("roll", NUMBERS, KNOBS) as booted:
        there = Cluster(booted, tmp_path_factory.mktemp("rolling"), state.lasting(booted.values()))
        there.run("deploy").passed()
        yield there


def new_runs(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def not_as_planned(told: dict[str, Any]) -> list[str]:
    """What status.yml has to complain of."""
    rows = [(one, f"{one['host']} {one['unit']}: ") for one in told["services"]]
    found = [name + line for one, name in rows for line in one["differs"]]
    found += [f"{name}{one['state']}: {one['why']}" for one, name in rows if not one["ready"]]
    found += [*told["problems"], *told["router"]["missing"], *told["router"]["unknown"]]
    assert (not found) == (told["ready"] and not told["differs"])
    return found


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
