# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that the plan derives is there in vain: with any one of these values wrong the cluster does not answer.

One value of one service at a time is changed in what the host really runs, and what has to start anew does.
"""

from __future__ import annotations

import functools
import json
import pathlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from long.clusters import Cluster
from long.flips import Flip, Place, flips
from on_hosts import hosts, playbooks

# Quick, and impatient where the real engine would wait for minutes.
KNOBS = {
    "start_seconds": 0, "load_seconds": 0, "graph_seconds": 0, "warmup_seconds": 0, "health_seconds": 0.02,
    "token_seconds": 0, "peer_death_seconds": 0.1, "port_taken_seconds": 0.1, "drain_poll_seconds": 0.05,
    "drain_repeat_seconds": 0.05,
    "kv_timeout_seconds": 2, "handshake_timeout_seconds": 2, "zbal_timeout_seconds": 2, "warmup_retry_seconds": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A cluster: profile and models, and hosts with their numbers by group."""

    profile: str
    models: dict[str, str]
    groups: dict[str, dict[str, int]]

    @property
    def numbers(self) -> dict[str, int]:
        return {name: number for group in self.groups.values() for name, number in group.items()}

    def inventory(self, path: pathlib.Path) -> pathlib.Path:
        labs = {name: hosts.LabHost(name, name, number) for name, number in self.numbers.items()}
        groups = {group: {name: labs[name].inventory() for name in members} for group, members in self.groups.items()}
        # Guards would put right what is flipped together with other services.
        variables = {**hosts.CONNECTION, **self.models, "sglang_profile": self.profile, "sglang_guard": False}
        return playbooks.write_inventory(path, variables, groups)


CASES = {
    "r1-2p1d": Case(
        "deepseek-r1-w8a8-2p1d",
        {"sglang_model_path": "/models/deepseek-r1"},
        {"prefill": {"p1": 180, "p2": 181}, "decode": {"d1": 182, "d2": 183}, "router": {"r1": 184}},
    ),
    "kimi-16p-mixed": Case(
        "kimi-k2-6-w4a8-16p-in64k-out1k-100ms",
        {"sglang_model_path": "/models/kimi-k2.6", "sglang_draft_model_path": "/models/kimi-draft"},
        {"mixed": {"m1": 185, "m2": 186}},
    ),
}

# What survives, and why that is right. Each of these must survive; nothing else may.
NOT_ASKED = "clients and peers ask rank 0 only; of the others the deployment asks whether they have loaded"
SURVIVORS = {
    ("r1-2p1d", "d2.decode --port port"): NOT_ASKED,
    ("r1-2p1d", "r1.router HF_HUB_OFFLINE left out"): "the model is on the router's host, so it asks no hub anyway",
    ("kimi-16p-mixed", "m2.mixed --port port"): NOT_ASKED,
}


@functools.cache
def planned(case: str) -> dict[str, Any]:
    """The plan without asking a host."""
    with tempfile.TemporaryDirectory() as folder:
        inventory = CASES[case].inventory(pathlib.Path(folder) / "inventory.yml")
        interface = f"sglang_interface={hosts.DATA_INTERFACE}"
        playbooks.run("plan", inventory, "-e", f"sglang_plan_dir={folder}", "-e", interface).passed()
        return json.loads((pathlib.Path(folder) / "plan.json").read_text())


def all_flips(case: str, plan: dict[str, Any]) -> list[Flip]:
    """The flips of a case's plan."""
    places = {}
    for name, number in CASES[case].numbers.items():
        host = hosts.LabHost(name, name, number)
        places[name] = Place(host.data, host.management, hosts.DATA_INTERFACE, hosts.MANAGEMENT_INTERFACE)
    return flips(plan, places)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each flip of each case, those of one cluster together."""
    if "flip" in metafunc.fixturenames:
        found = [(case, flip) for case in CASES for flip in all_flips(case, planned(case))]
        ids = [f"{case}: {flip.id}" for case, flip in found]
        metafunc.parametrize(("cluster", "flip"), found, ids=ids, indirect=["cluster"], scope="module")
    elif "cluster" in metafunc.fixturenames:
        metafunc.parametrize("cluster", CASES, indirect=True, scope="module")


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The case's cluster, deployed on hosts of its own."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp("deploy")
    with hosts.booted("mut", case.numbers, KNOBS) as labs:
        inventory = case.inventory(folder / "inventory.yml")
        playbooks.run("deploy", inventory, "-e", f"sglang_plan_dir={folder}").passed()
        yield Cluster(labs, json.loads((folder / "plan.json").read_text()))


def test_hosts_run_what_was_planned(cluster, request):
    case = request.node.callspec.params["cluster"]
    assert cluster.plan["services"] == planned(case)["services"]
    for service in cluster.services:
        assert cluster.started_with(service) == (service["argv"], service["env"])


def test_a_wrong_value_is_noticed(cluster, flip, request, record_property):
    case = request.node.callspec.params["cluster"]
    noticed = cluster.flip(flip)
    record_property("flip", noticed or "survives")
    why = SURVIVORS.get((case, flip.id))
    if why is None:
        assert noticed, f"with {flip.name} {flip.new} in place of {flip.old} the cluster still answers"
    else:
        assert noticed is None, f"is said to survive ({why}), but: {noticed}"


def test_the_cluster_is_whole_again(cluster):
    cluster.restore()


def test_every_survivor_is_a_flip():
    known = {(case, flip.id) for case in CASES for flip in all_flips(case, planned(case))}
    assert SURVIVORS.keys() <= known
