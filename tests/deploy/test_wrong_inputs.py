# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only the hosts know to be wrong ends a deployment before anything on any host has changed.

Each message says what is wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from deploy.three_hosts import Lab
from on_hosts import playbooks, state

# Things that are right on p1 only; p2 has no CANN, and on d1 somebody has a port.
PREPARE = {
    "p1": """
mkdir -p /opt/newer/bin /opt/only/bin
ln -s /usr/bin/python3 /opt/newer/bin/python3
ln -s /usr/bin/python3 /opt/only/bin/python3
cp -r /models/deepseek-r1 /models/only
""",
    "p2": "mv /usr/local/Ascend /usr/local/Elsewhere",
    "d1": """
mkdir -p /opt/newer/bin /opt/newer/sglang-0.5.23.dist-info
printf 'Metadata-Version: 2.1\\nName: sglang\\nVersion: 0.5.23\\n' >/opt/newer/sglang-0.5.23.dist-info/METADATA
printf '#!/bin/sh\\nPYTHONPATH=/opt/newer exec /usr/bin/python3 "$@"\\n' >/opt/newer/bin/python3
chmod 755 /opt/newer/bin/python3
systemd-run --quiet --unit=squatter python3 -m http.server 8001
until ss -Htln sport = :8001 | grep -q .; do sleep 0.05; done
""",
}
CLEAN_UP = {
    "p1": "rm -r /opt/newer /opt/only /models/only",
    "p2": "mv /usr/local/Elsewhere /usr/local/Ascend",
    "d1": "rm -r /opt/newer; systemctl stop squatter",
}


@dataclass(frozen=True)
class Wrong:
    """What is set for all and for one host, and what must be said; {pid} is the squatter's."""

    said: tuple[str, ...]
    variables: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prefill: tuple[str, ...] = ("p1",)


WRONG = {
    "a host that does not answer": Wrong(
        ("host d1: it does not answer, so nothing was changed on any host", "198.51.100.253", "Mend the connection"),
        own={"d1": {"ansible_host": "198.51.100.253"}},
    ),
    "several things at once": Wrong(
        ("host d1: it does not answer", "host p2: there is no directory /models/only", "host p2", "CANN toolkit"),
        {"sglang_model_path": "/models/only"},
        {"d1": {"ansible_host": "198.51.100.253"}},
        ("p1", "p2"),
    ),
    "an address that the host has not": Wrong(
        (
            "host d1: the data address 203.0.113.77 is not on this host",
            "eth1 (203.0.113.189",
            "Correct sglang_data_address",
        ),
        own={"d1": {"sglang_data_address": "203.0.113.77"}},
    ),
    "two hosts' addresses the wrong way round": Wrong(
        ("host p1: the data address 203.0.113.189 is not on", "host d1: the data address 203.0.113.187 is not on"),
        own={"p1": {"sglang_data_address": "203.0.113.189"}, "d1": {"sglang_data_address": "203.0.113.187"}},
    ),
    "an interface that does not exist": Wrong(
        ("host p1, sglang_interface: there is no interface eth9", "eth1 (203.0.113.187", "Name one of them"),
        own={"p1": {"sglang_interface": "eth9"}},
    ),
    "an interface that has another address": Wrong(
        ("host d1, sglang_interface: the data address 203.0.113.189 is on eth1, not on eth0", "Set it to eth1"),
        own={"d1": {"sglang_interface": "eth0"}},
    ),
    "no model on one host": Wrong(
        ("host d1: there is no directory /models/only", "Copy or mount the weights", "sglang_model_path"),
        {"sglang_model_path": "/models/only"},
    ),
    "a port that somebody has": Wrong(
        (
            "sglang-decode needs port 8001 (http)",
            "{pid}",
            "-m http.server 8001",
            "End that process",
        ),
    ),
    "no CANN on one host": Wrong(
        ("host p2", "The CANN toolkit was not found", "/usr/local/Ascend/ascend-toolkit/set_env.sh", "cann_toolkit"),
        prefill=("p1", "p2"),
    ),
    "no Python on one host": Wrong(
        ("host d1: there is no Python interpreter /opt/only/bin/python3", "Install it, or set sglang_python"),
        {"sglang_python": "/opt/only/bin/python3"},
    ),
    "another SGLang on one host": Wrong(
        ("host d1: sglang is 0.5.23 there, and the plan is spelled for 0.5.13.post1", "sglang_engine"),
        {"sglang_python": "/opt/newer/bin/python3"},
    ),
}


# The preflight's throw-away listeners of a run that found nobody close by themselves, after 20 s.
UNTIL_ALONE = """
for _ in $(seq 300); do grep -q '@ascend-sglang-preflight' /proc/net/unix || exit 0; sleep 0.1; done
echo 'throw-away listeners do not close' >&2; exit 1
"""


@dataclass(frozen=True)
class Outcome:
    """What all of them said, and the hosts before and after."""

    runs: Mapping[str, playbooks.Run]
    squatter: str
    before: Mapping[str, list[str]]
    after: Mapping[str, list[str]]


@pytest.fixture(scope="module")
def outcome(lab: Lab) -> Iterator[Outcome]:
    """All of them, one after another on the same hosts, since they must not change a thing."""
    for name, commands in PREPARE.items():
        lab[name].run(commands)
    squatter = lab["d1"].run("systemctl show --value --property=MainPID squatter").strip()
    before = lab.exact()
    runs = {}
    for what, wrong in WRONG.items():
        runs[what] = playbooks.run("deploy", lab.inventory(wrong.own, wrong.prefill, **wrong.variables))
    lab.everywhere(UNTIL_ALONE)
    yield Outcome(runs, squatter, before, lab.exact())
    for name, commands in CLEAN_UP.items():
        lab[name].run(commands)


@pytest.mark.parametrize("what", WRONG)
def test_it_is_refused_in_words(outcome, what):
    run = outcome.runs[what].refused()
    run.said(*(part.format(pid=f"process {outcome.squatter} ") for part in WRONG[what].said))
    assert run.count("changed") == 0


def test_nothing_was_changed_on_any_host(outcome):
    assert state.differences(outcome.before, outcome.after) == []
