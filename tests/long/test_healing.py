# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instances heal without a controller: no Ansible runs after the deployment.

The engines hang as badly as they can: a process that has lost a rank of its instance notices nothing and ignores
SIGTERM. What brings them back is their guards.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping

import pytest
from long.healing import Cluster
from on_hosts import hosts, playbooks

NUMBERS = {"p1": 190, "p2": 191, "d1": 192, "d2": 193, "r1": 194}
GROUPS = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}

KNOBS = {
    "load_seconds": 1, "graph_seconds": 0, "warmup_seconds": 0, "health_seconds": 0.1,
    "token_seconds": 0.01, "drain_poll_seconds": 0.5, "drain_repeat_seconds": 0.5,
    "kv_timeout_seconds": 5, "handshake_timeout_seconds": 3,
    "peer_death_seconds": 3600,
    # As long as an engine's imports: guards count on it that processes do not meet at once.
    "start_seconds": 6,
}  # fmt: skip

# The real router, which asks its workers often enough that it is not what is measured.
ROUTER = {
    "mini-lb": False, "health-check-interval-secs": 1, "health-check-timeout-secs": 2, "health-failure-threshold": 2,
    "health-success-threshold": 1, "cb-timeout-duration-secs": 2, "retry-max-retries": 1,
}  # fmt: skip
GONE_SECONDS = 15
SETTINGS = {
    "sglang_profile": "deepseek-r1-w8a8-2p1d",
    "sglang_model_path": "/models/deepseek-r1",
    "sglang_host_tuning": False,
    "sglang_stop_timeout": 10,
    "sglang_guard_gone_seconds": GONE_SECONDS,
    "sglang_router_args": ROUTER,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("healing")
    with hosts.booted("heal", NUMBERS, KNOBS) as labs:
        groups = {group: {name: labs[name].inventory() for name in names} for group, names in GROUPS.items()}
        inventory = playbooks.write_inventory(folder / "inventory.yml", {**hosts.CONNECTION, **SETTINGS}, groups)
        playbooks.run("deploy", inventory, "-e", f"sglang_plan_dir={folder}").passed()
        with Cluster(labs, json.loads((folder / "plan.json").read_text()), inventory) as deployed:
            yield deployed


@pytest.fixture(autouse=True)
def logs(cluster) -> Iterator[None]:
    """What the guards said, shown with a failure."""
    yield
    for name in cluster.names:
        print(f"guard of {name}:", *cluster.guard_log(name)[-12:], sep="\n  ")


@pytest.fixture
def measured(capsys):
    """Print how long it was until the cluster served again."""

    def note(what: str, seconds: float) -> None:
        with capsys.disabled():
            print(f"\n{what}: serving again after {seconds} s")

    return note


def anew(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    """The hosts whose processes are others now, or were started more often."""
    return {name for name, value in after.items() if value != before[name]}


def test_every_guard_follows_whom_it_should(cluster):
    runs = cluster.runs()
    followed = {name: cluster.told(name)["following"] for name in runs}
    assert followed == {"p1": "", "p2": runs["p1"], "d1": runs["p1"], "d2": runs["d1"]}


@pytest.mark.parametrize(
    ("name", "what", "takes_along"),
    [
        ("d2", "a rank killed", {"d1", "d2"}),
        ("d1", "rank 0 killed", {"d1", "d2"}),
        ("p1", "the first prefill, which holds the store, killed", {"p1", "p2", "d1", "d2"}),
    ],
)
def test_a_process_that_is_killed(cluster, measured, name, what, takes_along):
    starts = cluster.starts()
    event = time.time()
    cluster.kill(name)
    measured(what, cluster.served_after(event, 90, anew=takes_along))
    # Once each: by systemd the one that died, by their guards those that belong to it.
    after = cluster.starts()
    assert {each: after[each] - starts[each] for each in after} == {each: int(each in takes_along) for each in after}


def test_a_network_cut_of_ten_seconds_restarts_nothing(cluster, measured):
    before = cluster.runs()
    event = time.time()
    cluster.lab("link", "d1", "eth1", "down")
    time.sleep(10)
    cluster.lab("link", "d1", "eth1", "up")
    measured("rank 0 without network for 10 s", cluster.served_after(event, 60))
    assert cluster.runs() == before


@pytest.mark.parametrize(("name", "mate", "what"), [("d2", "d1", "a rank"), ("d1", "d2", "rank 0")])
def test_a_power_cut(cluster, measured, name, mate, what):
    before, starts = cluster.runs(), cluster.starts()
    event = time.time()
    cluster.lab("kill", name)
    time.sleep(1)
    cluster.lab("boot", name)
    measured(f"power cut of {what}", cluster.served_after(event, 90, anew={"d1", "d2"}))
    after = cluster.starts()
    assert anew(before, cluster.runs()) == {"d1", "d2"}
    # One more than needed where they met too early.
    assert after[name] <= 2
    assert after[mate] - starts[mate] <= 2


def test_a_stop_by_order_is_not_fought(cluster):
    """What somebody stops stays stopped, and takes nobody along in a hurry."""
    before = cluster.runs()
    cluster.hosts["d2"].run("systemctl stop sglang-decode")
    time.sleep(5)
    assert cluster.runs() == {**before, "d2": ""}
    assert cluster.told("d2")["phase"] == "stopped"
    event = time.time()
    cluster.hosts["d2"].run("systemctl start sglang-decode")
    cluster.served_after(event, 60, anew={"d1", "d2"})


def test_a_rank_that_keeps_dying(cluster, measured):
    """Slower and slower; and once it can, it serves."""
    starts = cluster.starts()
    hosts.set_knobs(cluster.hosts["d2"], {**KNOBS, "crash_at": "load"})
    event = time.time()
    cluster.kill("d2")
    time.sleep(25)
    after = cluster.starts()
    tried = {name: after[name] - starts[name] for name in after}
    # Without back-off it would be a start every 7 s, and as many of rank 0.
    assert 2 <= tried["d2"] <= 4
    assert 1 <= tried["d1"] <= 4
    assert (tried["p1"], tried["p2"]) == (0, 0)
    hosts.set_knobs(cluster.hosts["d2"], KNOBS)
    measured("after 25 s of dying", cluster.served_after(event, 150, anew={"d1", "d2"}))
    assert cluster.told("d1")["restarts"] >= 2


def test_a_stop_is_bounded_and_takes_every_process_along(cluster):
    """An engine that never finishes draining, with a child deaf to SIGTERM that holds its port; others' stay."""
    prefill = cluster.hosts["p2"]
    hosts.set_knobs(prefill, {**KNOBS, "drain_stuck": True, "leave_child": True})
    prefill.run("systemctl restart sglang-prefill; systemd-run --unit=notes python3 -m http.server 9999")
    port = next(one["ports"]["http"] for one in cluster.services if one["host"] == "p2")
    ask = f"import urllib.request as u; u.urlopen('http://{prefill.data}:{port}/health')"
    prefill.run(f'export no_proxy="*"; until python3 -c "{ask}" 2>/dev/null; do sleep 1; done; sleep 1')
    group = "cat /sys/fs/cgroup/system.slice/sglang-prefill.service/cgroup.procs 2>/dev/null | wc -l"
    assert int(prefill.run(group)) > 1
    began = time.monotonic()
    playbooks.run("stop", cluster.inventory, "--limit", "p2").passed()
    assert time.monotonic() - began < 60
    shown = "systemctl show --value --property=ActiveState,Result sglang-prefill sglang-prefill-guard"
    assert set(prefill.run(shown).split()) == {"inactive", "success"}
    assert int(prefill.run(group)) == 0
    listening = prefill.run("ss --listening --tcp --numeric --no-header | awk '{print $4}'").split()
    assert [each for each in listening if each.startswith(prefill.data)] == []
    assert any(each.endswith(":9999") for each in listening)
