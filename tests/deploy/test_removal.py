# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop, remove and restore: what their check mode tells is what they do, and in the end nothing of ours is left."""

from __future__ import annotations

import pytest
from on_hosts import playbooks, state


@pytest.fixture(scope="module")
def stopped(deployed):
    """What stop would do, what it did, and the hosts' states before, between and after."""
    return _checked_then_done("stop", deployed)


@pytest.fixture(scope="module")
def removed(deployed, stopped):
    """The same of remove. One service runs again by then, the others do not."""
    deployed.lab["d1"].run("systemctl start sglang-decode")
    return _checked_then_done("remove", deployed)


@pytest.fixture(scope="module")
def restored(deployed, removed):
    """The same of restore."""
    return _checked_then_done("restore", deployed)


def _checked_then_done(name, deployed):
    states = [deployed.lab.exact()]
    runs = []
    for options in (["--check", "--diff"], []):
        runs.append(playbooks.run(name, deployed.inventory, *options).passed())
        states.append(deployed.lab.exact())
    return runs, states


@pytest.mark.parametrize("done", ["stopped", "removed", "restored"])
def test_check_mode_tells_the_truth_and_changes_nothing(request, done):
    (check, real), (before, between, after) = request.getfixturevalue(done)
    assert state.differences(before, between) == []
    assert state.differences(between, after) != []
    assert real.count("changed") > 0
    changed = [{host: counts["changed"] for host, counts in run.recap.items()} for run in (check, real)]
    assert changed[0] == changed[1]


@pytest.mark.parametrize(
    ("done", "says"),
    [
        ("stopped", ["stop sglang-router", "stop sglang-decode", "do not start sglang-prefill at boot"]),
        ("removed", ["stop sglang-decode", "remove /etc/systemd/system/sglang-prefill.service"]),
    ],
)
def test_what_is_done_is_said_before_and_after(request, done, says):
    runs, _states = request.getfixturevalue(done)
    for run in runs:
        run.said(*says)


def test_stopped_services_neither_run_nor_start_at_boot_and_stay_installed(deployed, stopped):
    _runs, (_before, _between, after) = stopped
    for service in deployed.plan["services"]:
        unit, lines = service["unit"], [" ".join(line.split()) for line in after[service["host"]]]
        assert f"{unit}.service disabled enabled" in lines
        assert not [line for line in lines if line.startswith(f"{unit}.service loaded active")]
        assert [line for line in lines if line.startswith(f"/etc/ascend-sglang/{unit}/launch.sh f 755")]


def test_nothing_of_ours_is_left(deployed, fresh, restored):
    assert state.differences(fresh, deployed.lab.lasting()) == []


def test_no_process_of_ours_is_left(deployed, restored):
    for name, text in deployed.lab.everywhere("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '").items():
        assert text.count("sglang.launch_server") == 1, f"{name}: only that of others may be there"
        assert "sglang_router" not in text, name


def test_what_is_not_ours_survives(deployed, restored):
    for name, text in deployed.lab.everywhere(
        "systemctl is-active sglang-notes; cat /etc/ascend-sglang/notes.txt"
    ).items():
        assert text == "active\nmine\n", name
    for name, text in deployed.lab.everywhere("systemctl show --value --property=NRestarts sglang-notes").items():
        assert text == "0\n", name


# Remove begins with a stop.
@pytest.mark.parametrize("name", ["remove", "restore"])
def test_where_nothing_is_left_there_is_nothing_to_do(deployed, restored, name):
    assert playbooks.run(name, deployed.inventory).passed().count("changed") == 0
