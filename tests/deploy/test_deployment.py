# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a deployment waits for and for how long, what it keeps secret, and what a later one leaves alone."""

from __future__ import annotations

import time

import pytest
from deploy.three_hosts import KEY
from on_hosts import playbooks, state
from on_hosts.places import PLACES

# A service with another value starts anew, whatever was deployed before.
OTHER = {"max-running-requests": 8}
OUT_OF_MEMORY = "RuntimeError: NPU out of memory. Tried to allocate 1.50 GiB (NPU 0; 60.96 GiB total capacity)"


def test_a_death_ends_the_wait_at_once_on_all_hosts(lab, fresh):
    lab.set_knobs(p1={"load_seconds": 300}, d1={"crash_at": "load", "crash_line": OUT_OF_MEMORY})
    inventory = lab.inventory(sglang_prefill_args=OTHER, sglang_decode_args=OTHER, sglang_ready_timeout=250)
    began = time.monotonic()
    run = playbooks.run("deploy", inventory).refused()
    assert time.monotonic() - began < 120
    run.said(
        "sglang-decode on d1 died",
        "HBM exhausted",
        OUT_OF_MEMORY,
        "Last lines of its log",
        "journalctl -u sglang-decode",
    )
    run.said("stopped waiting for sglang-prefill", "because sglang-decode on d1 died")
    # The router is not started for servers that are not there.
    assert lab["p1"].run("systemctl is-enabled sglang-router 2>/dev/null || :").strip() == ""


def test_a_limit_that_passes_says_so_and_leaves_the_service_running(lab, fresh):
    lab.set_knobs(p1={"load_seconds": 300})
    another = {"max-running-requests": 9}
    run = playbooks.run("deploy", lab.inventory(sglang_prefill_args=another, sglang_ready_timeout=2)).refused()
    run.said("sglang-prefill on p1 is not ready after 2 s: loading", "left running", "sglang_ready_timeout, now 2 s")
    assert lab["p1"].run("systemctl is-active sglang-prefill").strip() == "active"


def test_no_port_of_the_plan_is_given_to_an_outgoing_connection(deployed):
    for one in deployed.plan["services"]:
        text = deployed.lab[one["host"]].run("cat /proc/sys/net/ipv4/ip_local_reserved_ports")
        spans = [tuple(map(int, part.split("-"))) for part in text.strip().split(",")]
        kept = {port for span in spans for port in range(span[0], span[-1] + 1)}
        ranges = [range(first, last + 1) for first, last in one["port_ranges"].values()]
        assert {*one["ports"].values(), *(port for span in ranges for port in span)} <= kept


def test_the_entrance_wants_the_key(deployed):
    assert deployed.ask(KEY) == 200
    assert deployed.ask("another") == 401


@pytest.mark.parametrize("place", PLACES)
def test_the_key_is_not_in(deployed, place):
    for name, text in deployed.lab.everywhere(PLACES[place]).items():
        assert len(text) > 1000, name
        assert KEY not in text, name


def test_the_key_is_not_in_what_was_said_nor_in_the_plan(deployed):
    assert KEY not in deployed.run.output
    files = sorted(deployed.plan_folder.iterdir())
    assert {"plan.json", "plan.md"} <= {path.name for path in files}
    assert not [path for path in files if KEY in path.read_text()]


# Looks into every file that was written since the host was made.
FIND_KEY = """
cat >/run/key
find / /run /dev/shm -xdev -type f -newer /root/.ssh/authorized_keys ! -path /run/key -exec grep -lF -f /run/key {} + |
  xargs -r stat -c '%n %a %U'
rm /run/key
"""


def test_the_key_is_in_no_file_but_the_secrets(deployed):
    for name, host in deployed.lab.hosts.items():
        units = [one["unit"] for one in deployed.plan["services"] if one["host"] == name]
        found = host.run(FIND_KEY, f"{KEY}\n").splitlines()
        assert sorted(found) == sorted(f"/etc/ascend-sglang/{unit}/secrets.env 600 root" for unit in units)


def test_a_second_deployment_touches_nothing(deployed):
    before, running = deployed.lab.exact(), deployed.show("InvocationID,MainPID,NRestarts")
    run = playbooks.run("deploy", deployed.inventory).passed()
    assert run.count("changed") == 0
    assert state.differences(before, deployed.lab.exact()) == []
    assert deployed.show("InvocationID,MainPID,NRestarts") == running


EDIT = "sed -i 's/^exec /export EDITED_BY_HAND=1\\nexec /' /etc/ascend-sglang/sglang-decode/launch.sh"
ENVIRONMENT = "tr \\\\0 \\\\n </proc/$(systemctl show --value --property=MainPID sglang-decode)/environ"


@pytest.mark.parametrize("restarted", [False, True])
def test_a_launch_script_that_somebody_edited_is_put_back(deployed, restarted):
    """And what was started with it is, too."""
    host = deployed.lab["d1"]
    script = host.run("cat /etc/ascend-sglang/sglang-decode/launch.sh")
    host.run(EDIT)
    if restarted:
        host.run("systemctl restart sglang-decode")
        # systemd is content with the shell that becomes it.
        host.run(f"timeout 20 sh -c 'until {{ {ENVIRONMENT}; }} | grep -q EDITED; do sleep 0.1; done'")
    running = deployed.show("InvocationID")
    run = playbooks.run("deploy", deployed.inventory).passed()
    assert run.count("changed") > 0
    if restarted:
        run.said("restart sglang-decode because it was started with launch.sh as somebody had changed it")
        assert "EDITED_BY_HAND" not in host.run(ENVIRONMENT)
    else:
        assert deployed.show("InvocationID") == running
    assert host.run("cat /etc/ascend-sglang/sglang-decode/launch.sh") == script
    assert playbooks.run("deploy", deployed.inventory).passed().count("changed") == 0


def test_the_key_changes_goes_and_comes_back(deployed):
    """Nobody waits for an answer that cannot come while the router has the old one."""
    for key, settings in (("another-key", {"sglang_api_key": "another-key"}), ("", {}), (KEY, {"sglang_api_key": KEY})):
        began = time.monotonic()
        run = playbooks.run("deploy", deployed.lab.inventory(**settings)).passed()
        assert time.monotonic() - began < 120
        assert deployed.ask(key) == 200
        if key:
            run.said("INTERRUPTION: the API key changes")
            assert deployed.ask("other") == 401
    assert playbooks.run("deploy", deployed.inventory).passed().count("changed") == 0


def test_a_limit_that_parts_what_restarts_together_is_refused(deployed):
    before = deployed.lab.exact()
    inventory = deployed.lab.inventory(sglang_api_key=KEY, sglang_prefill_args=OTHER)
    playbooks.run("deploy", inventory, "--limit", "p1").refused().said("sglang-prefill on p1", "p2, d1", "--limit")
    assert state.differences(before, deployed.lab.exact()) == []


def test_a_limit_applies_to_its_hosts_only_and_moves_nothing(deployed):
    units = {one["host"]: one["unit"] for one in deployed.plan["services"] if one["host"] != "p1"}
    read = {host: f"cat /etc/ascend-sglang/{unit}/launch.sh" for host, unit in units.items()}
    before = deployed.lab.exact()
    scripts = {host: deployed.lab[host].run(command).splitlines() for host, command in read.items()}
    inventory = deployed.lab.inventory(sglang_api_key=KEY, sglang_decode_args=OTHER, sglang_prefill_args=OTHER)
    run = playbooks.run("deploy", inventory, "--limit", "d1,p2").passed()
    assert sorted(run.recap) == ["d1", "p2"]
    assert {line.partition(":")[0] for line in state.differences(before, deployed.lab.exact())} == {"d1", "p2"}
    # Their ranks, ports and URLs are those that they had among all hosts: p2 is the second prefill still.
    changed = state.differences(
        scripts, {host: deployed.lab[host].run(command).splitlines() for host, command in read.items()}
    )
    assert len(changed) == 4
    assert all("--max-running-requests" in line for line in changed)
