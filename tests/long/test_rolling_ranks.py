# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two decode instances of two nodes each: the ranks of one become new together, while the other one serves.

The tests are steps of one life, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from long.rolling import KNOBS, Cluster, deployed, new_runs, not_as_planned
from on_hosts import hosts

NUMBERS = {"p1": 160, "d1": 161, "d2": 162, "d3": 163, "d4": 164, "r1": 165}
GROUPS = {"prefill": ["p1"], "decode": ["d1", "d2", "d3", "d4"], "router": ["r1"]}
VARIABLES = {"sglang_profile": "deepseek-r1-w8a8-2p1d", "sglang_instances": {"prefill": 1, "decode": 2}}
FLAG = {"sglang_decode_args": {"max-running-requests": 400}}
CRASH = {"crash_at": "load", "crash_line": "[ZBAL] zbal init failed!"}
FIRST, SECOND = {"d1 sglang-decode", "d2 sglang-decode"}, {"d3 sglang-decode", "d4 sglang-decode"}

# Seconds since 1970 at which the process of the present run began, and at which the one before had ended.
WHEN = """
for name in ExecMainStartTimestamp InactiveEnterTimestamp; do
  date --date="$(systemctl show --timestamp=us+utc --value --property=$name sglang-decode)" +%s.%N
done
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Six hosts with the first deployment on them."""
    with deployed("rank", NUMBERS, GROUPS, tmp_path_factory.mktemp("ranks"), **VARIABLES) as there:
        yield there


def life(cluster: Cluster, *names: str) -> tuple[list[float], list[float]]:
    """When the decode services of these hosts began, and when their runs before had ended."""
    told = [[float(one) for one in cluster.hosts[name].run(WHEN).split()] for name in names]
    return [began for began, _ended in told], [ended for _began, ended in told]


def test_the_ranks_of_an_instance_become_new_together_and_no_request_fails(cluster, record_property):
    assert not_as_planned(cluster.status()) == []
    before = cluster.invocations()
    with cluster.asked() as account:
        cluster.run("deploy", **FLAG).passed()
    record_property("rolling", f"deploy of a decode flag, two nodes an instance: {account}")
    assert new_runs(before, cluster.invocations()) == FIRST | SECOND
    assert account.failed == []
    assert len(account.requests) > 50
    for names in (("d1", "d2"), ("d3", "d4")):
        began, ended = life(cluster, *names)
        # No rank of before can have met one of now.
        assert max(ended) < min(began), names
    # One instance after the other: the second one went when the first had come.
    assert max(life(cluster, "d1", "d2")[0]) < min(life(cluster, "d3", "d4")[1])


def test_one_instance_restarts_on_all_its_nodes_alone(cluster, record_property):
    before = cluster.invocations()
    with cluster.asked() as account:
        cluster.run("restart", "-e", "instance=decode-1", **FLAG).passed()
    record_property("rolling", f"restart of one instance of two nodes: {account}")
    assert new_runs(before, cluster.invocations()) == SECOND
    assert account.failed == []


def test_a_rank_that_does_not_come_back_stops_the_rest(cluster, record_property):
    """The change is good on one node of the first instance and broken on the other."""
    before = cluster.invocations()
    hosts.set_knobs(cluster.hosts["d2"], {**KNOBS, **CRASH})
    change = {"sglang_decode_args": {"max-running-requests": 300}}
    with cluster.asked() as account:
        broken = cluster.run("deploy", **change).said("sglang-decode on d2 died", "zbal init failed", "decode-1")
        # The engine's last lines are shown, its traceback as well.
        assert broken.status != 0
        assert new_runs(before, cluster.invocations()) <= FIRST
        assert cluster.status(**change)["router"]["missing"] == ["decode-0"]
        hosts.set_knobs(cluster.hosts["d2"], KNOBS)
        cluster.run("rollback", **FLAG).passed()
    record_property("rolling", f"a broken rank and rollback, two nodes an instance: {account}")
    assert account.failed == []
    assert not_as_planned(cluster.status(**FLAG)) == []
