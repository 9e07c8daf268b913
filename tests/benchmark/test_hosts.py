# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look at five hosts costs, against the gathering of their facts: as a preflight, and as a deploy.

The two are measured in turn, so that what else the machine does meets both. The tests are steps of one life.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from on_hosts import hosts, playbooks

PREFLIGHT_LIMIT = 1.5
DEPLOY_LIMIT = 3
ROUNDS = 5

NUMBERS = {"p1": 241, "p2": 242, "d1": 243, "d2": 244, "r1": 245}
GROUPS = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}
PROFILE = ("-e", "profile=deepseek-r1-w8a8-2p1d")
GATHER = """\
---
- name: Gather facts
  hosts: all
  gather_facts: true
"""


@dataclass(frozen=True)
class Cluster:
    """Five hosts, as a user has them."""

    inventory: pathlib.Path
    gather: pathlib.Path

    def gather_facts(self) -> None:
        command = [playbooks.ANSIBLE_PLAYBOOK, self.gather, "-i", self.inventory]
        environment = os.environ | {"ANSIBLE_CONFIG": str(playbooks.PROJECT / "ansible.cfg")}
        subprocess.run(command, check=True, capture_output=True, env=environment)

    def run(self, name: str) -> playbooks.Run:
        return playbooks.run(name, self.inventory, *PROFILE).passed()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("benchmark")
    with hosts.booted("bench", NUMBERS) as lab:
        groups = {group: {name: lab[name].inventory() for name in names} for group, names in GROUPS.items()}
        variables = {"sglang_model_path": "/models/deepseek-r1", **hosts.CONNECTION}
        there = Cluster(playbooks.write_inventory(folder / "inventory.yml", variables, groups), folder / "gather.yml")
        there.gather.write_text(GATHER)
        # Connections of ssh are open afterwards, and what Python compiles is compiled.
        there.gather_facts()
        yield there


@pytest.fixture
def ratio(cluster: Cluster, note: Callable[[str], None]) -> Callable[[str, Callable[[], object]], float]:
    """How many times as long something takes as gathering the facts right before it, in the least disturbed round."""

    def seconds(work: Callable[[], object]) -> float:
        start = time.monotonic()
        work()
        return time.monotonic() - start

    def measure(name: str, work: Callable[[], object]) -> float:
        work()
        rounds = [(seconds(cluster.gather_facts), seconds(work)) for _round in range(ROUNDS)]
        ratios = [look / fact for fact, look in rounds]
        found = min(ratios)
        note(f"{name}: {found:.2f} x gathering their facts at best, {statistics.median(ratios):.2f} x in the median")
        note("   " + ", ".join(f"{look:.2f} / {fact:.2f}" for fact, look in rounds))
        return found

    return measure


def test_a_preflight_of_hosts_on_which_nothing_runs(cluster, ratio):
    def preflight() -> None:
        # All connections, not those only that running services leave.
        cluster.run("preflight").said("ok       connections", "all 5 hosts")

    assert ratio("preflight of 5 hosts", preflight) <= PREFLIGHT_LIMIT


def test_a_deploy_that_finds_nothing_to_do(cluster, ratio):
    cluster.run("deploy")

    def again() -> None:
        run = cluster.run("deploy")
        assert run.count("changed") == 0, run.output

    assert ratio("deploy that changes nothing on 5 hosts", again) <= DEPLOY_LIMIT
