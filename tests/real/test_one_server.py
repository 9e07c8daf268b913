# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One real server on one host: it answers, stops in time, and is not taken for another one."""

from __future__ import annotations

import time

import pytest
from real.cluster import MIXED, PROMPTS, TOKENS, within

UNIT = "sglang-mixed"
READY = "The server is fired up and ready to roll!"
GROUP = f"cat /sys/fs/cgroup/system.slice/{UNIT}.service/cgroup.procs 2>/dev/null | wc -l"
ENDED = f"systemctl show --value --property=ActiveState,Result {UNIT}"


@pytest.fixture(scope="module", autouse=True)
def deployed(cluster, expected):
    if cluster.shape is not MIXED:
        cluster.deploy(MIXED)


def stopped(cluster):
    """How long stop.yml takes, and what is left."""
    began = time.monotonic()
    cluster.run("stop").passed()
    seconds = time.monotonic() - began
    assert set(cluster["h1"].run(ENDED).split()) == {"inactive", "success"}
    assert int(cluster["h1"].run(GROUP)) == 0
    return round(seconds, 1)


def test_it_says_the_same_in_every_way(expected):
    """A text is a text, streamed or not, and depends on all of the prompt."""
    for prompt in PROMPTS:
        said = expected[prompt]
        assert len({said[way] for way in said if "chat" not in way}) == 1, said
        assert len({said[way] for way in said if "chat" in way}) == 1, said
        assert {len(text) for text in said.values()} == {TOKENS}
    assert len({text for said in expected.values() for text in said.values()}) == 2 * len(PROMPTS)


def test_a_second_deployment_changes_nothing(cluster):
    before = cluster.runs()
    assert cluster.deploy().count("changed") == 0
    assert cluster.runs() == before
    told = cluster.status_when_ready()
    assert not told["differs"]
    assert told["services"][0]["version"]["reported"] == "0.5.13.post1"


def test_a_stop_ends_at_once_and_as_a_success(cluster, measured):
    """SIGTERM ends this engine with 137, a clean end included; the limit of 15 s is not needed."""
    since = cluster["h1"].run("date +%s").strip()
    seconds = stopped(cluster)
    measured(f"stop.yml with nothing to finish: {seconds} s")
    said = cluster["h1"].run(f"journalctl --no-pager --output=cat --unit={UNIT} --since=@{since}")
    assert "Remaining number of requests 0." in said
    assert "timed out" not in said
    assert cluster.run("stop").passed().count("changed") == 0
    assert cluster.state(cluster.status(), "h1", "mixed").startswith("stopped")


def test_a_stop_is_bounded_when_the_drain_hangs(cluster, expected, measured):
    """A request that the tokenizer refuses is one that this engine waits for for ever."""
    cluster.deploy()
    assert cluster.answers() == expected
    cluster.hang_drain("mixed")
    seconds = stopped(cluster)
    measured(f"stop.yml while the drain hangs, with a limit of 15 s: {seconds} s")
    assert 15 <= seconds < 60
    assert int(cluster["h1"].run(f"journalctl --no-pager --unit={UNIT} | grep -c remaining_rids")) > 1


@pytest.fixture
def notes(cluster):
    """Something else has the server's port."""
    cluster["h1"].run(f"systemctl stop {UNIT}", limit=90)
    cluster["h1"].run(f"systemd-run --unit=notes python3 -m http.server --bind {cluster['h1'].data} 8000")
    within(10, lambda: "8000" not in cluster["h1"].run("ss -Htln sport = :8000") and "the listener is not there")
    yield "notes"
    cluster["h1"].run("systemctl stop notes")


def test_a_port_that_is_taken_is_seen_before_anything_is_started(cluster, notes):
    cluster.run("deploy").refused().said("port-busy", "8000", notes)
    assert set(cluster["h1"].run(ENDED).split()) == {"inactive", "success"}


@pytest.fixture
def other(cluster):
    """Starts the same server as another unit; gone afterwards."""
    launch = f"/etc/ascend-sglang/{UNIT}/launch.sh"
    yield lambda: cluster["h1"].run(f"systemd-run --unit=other --property=SuccessExitStatus=SIGKILL {launch}")
    cluster["h1"].run(f"systemctl stop {UNIT} other", limit=90)


def test_another_servers_readiness_is_not_its_own(cluster, other, measured):
    """It warms up against whoever has its port, says that it is ready, and dies."""
    cluster["h1"].run(f"systemctl stop {UNIT}", limit=90)
    other()
    url = cluster.plan["entrances"][0]["url"]
    healthy = f"curl --noproxy '*' -s -m 3 -o /dev/null -w '%{{http_code}}' {url}/health || true"
    within(120, lambda: cluster["h1"].run(healthy) != "200" and "the other server does not come up")
    # Whatever is left out: nothing is started beside it.
    run = cluster.run("deploy", sglang_preflight_skip=["port-busy"]).refused()
    run.said("needs port 8000 (http), which is held by", "unit other")
    # As if both had been started at the same time.
    cluster["h1"].run(f"systemctl start {UNIT}")
    run = f"$(systemctl show --value --property=InvocationID {UNIT})"
    lines = f"journalctl --no-pager --output=cat _SYSTEMD_INVOCATION_ID={run}"
    seconds = within(120, lambda: READY not in cluster["h1"].run(lines) and "it does not say that it is ready", 0.2)
    measured(f"a server whose port is taken says after {seconds} s that it is ready")
    told = cluster.status()
    assert not told["ready"]
    # It lives for a second or two more; by then it may have died, of 3 or of 137.
    state = cluster.state(told, "h1", "mixed")
    assert state.startswith("port 8000 is held by ") or ("Port taken" in state and "8000" in state), state


def test_it_serves_again_when_the_port_is_free(cluster, expected):
    cluster.deploy()
    assert cluster.answers() == expected
