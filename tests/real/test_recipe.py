# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A documented recipe on CPUs: overrides alone, its own transfer backend, and a memfabric that moves the cache."""

from __future__ import annotations

import re

import pytest
from real.cluster import R1, r1_on_cpu, within

ROLES = ("prefill", "decode")


@pytest.fixture(scope="module", autouse=True)
def deployed(cluster, expected):
    cluster.deploy(R1)


def overrides(role):
    """Names of flags and variables that the overrides change, as they are spelled, with what becomes of them."""
    told = r1_on_cpu()
    flags = {("arg", f"--{name}"): value for name, value in told[f"sglang_{role}_args"].items()}
    return flags | {("env", name): value for name, value in told[f"sglang_{role}_env"].items()}


@pytest.mark.parametrize("role", ROLES)
def test_every_override_is_told_as_a_deviation_from_the_page(cluster, role):
    told = {
        (one["kind"], one["name"]): one
        for one in cluster.plan["deviations"]
        if one["role"] == role and one["reason"] == "override"
    }
    assert told.keys() == overrides(role).keys()
    for (kind, name), value in overrides(role).items():
        rendered = told[kind, name]["rendered"]
        if value is None or value is False:
            assert rendered is None, name
            assert told[kind, name]["page"] is not None, name
        elif value is True:
            assert rendered == [], name
        else:
            assert rendered == ([str(value)] if kind == "arg" else str(value)), name


@pytest.mark.parametrize("role", ROLES)
def test_what_is_not_overridden_is_the_recipes(cluster, role):
    (service,) = [one for one in cluster.services if one["role"] == role]
    words = service["argv"]
    assert words[words.index("--disaggregation-transfer-backend") + 1] == "ascend"
    assert service["env"]["ASCEND_MF_STORE_URL"] == f"tcp://{cluster['h1'].data}:24670"
    assert service["source"]
    assert "--disable-shared-experts-fusion" in words


def test_it_answers_as_one_server_does(cluster, expected):
    assert cluster.answers() == expected


def test_the_cache_went_through_memfabric(cluster):
    for host, role in (("h1", "Prefill"), ("h2", "Decode")):
        log = cluster.log(host, f"sglang-{role.lower()}")
        assert f"memfabric over TCP: {role} {cluster[host].data}:" in log
        assert f"has joined tcp://{cluster['h1'].data}:24670" in log
        # Prefill writes, decode is written to.
        taken = [int(number) for number in re.findall(r"memfabric over TCP: (\d+) bytes were written here", log)]
        assert sum(taken) > 0 if role == "Decode" else not taken, role


def test_a_second_deployment_changes_nothing(cluster):
    before = cluster.runs()
    assert cluster.deploy().count("changed") == 0
    assert cluster.runs() == before


def test_a_reboot_of_both_hosts(cluster, expected, measured):
    """In order, while prefill's drain hangs: the hosts wait no longer than for a stop, and decode for the store."""
    cluster.hang_drain("prefill")
    before = cluster.runs()
    seconds = cluster.reboot("h1", "h2")
    measured(f"both hosts rebooted while a drain hangs, with a limit of 15 s: ssh again after {seconds} s")
    # systemd's own limit would be 90 s.
    assert 15 <= seconds < 60
    served = within(300, lambda: cluster.ask(limit=60, prompts=["Hello"]).get("failure"), 2)
    measured(f"and served {served} s later")
    assert not before.items() & cluster.runs().items()
    assert cluster.answers() == expected
    assert cluster.deploy().count("changed") == 0


def test_the_holder_of_the_store_is_killed(cluster, expected, measured):
    """Decode's guard starts it anew with the new store."""
    before = cluster.runs()
    cluster.kill("h1", "sglang-prefill")

    def look():
        same = before.items() & cluster.runs().items() - {("h1 sglang-router", before["h1 sglang-router"])}
        return sorted(same) or cluster.ask(limit=60, prompts=["Hello"]).get("failure")

    seconds = within(240, look)
    measured(f"the holder of the store killed: prefill and decode anew, serving after {seconds} s")
    assert cluster.answers() == expected


def test_nothing_is_left_behind(cluster):
    cluster.run("remove").passed()
    # The recipe tunes its hosts.
    cluster.run("restore").passed()
    for host in ("h1", "h2"):
        found = cluster[host].run("ls -d /etc/ascend-sglang /etc/systemd/system/sglang-* 2>/dev/null || true")
        assert found == ""
        assert "sglang" not in cluster[host].run("ps -e -o args | grep -v 'ps -e'")
