# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only the hosts know to be wrong ends a deployment before anything on any host has changed.

Each message says what is wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from deploy.three_hosts import Lab
from on_hosts import playbooks, state

# Things that are right on p1 only; p2 has no CANN, and on d1 somebody has a port.
PREPARE = {
    "p1": """
mkdir -p /opt/only/bin
ln -s /usr/bin/python3 /opt/only/bin/python3
cp -r /models/deepseek-r1 /models/only
""",
    "p2": "mv /usr/local/Ascend /usr/local/Elsewhere",
    "d1": """
mkdir -p /opt/only/bin /opt/only/sglang-0.5.23.dist-info
printf 'Metadata-Version: 2.1\\nName: sglang\\nVersion: 0.5.23\\n' >/opt/only/sglang-0.5.23.dist-info/METADATA
printf '#!/bin/sh\\nPYTHONPATH=/opt/only exec /usr/bin/python3 "$@"\\n' >/opt/only/bin/python3
chmod 755 /opt/only/bin/python3
systemd-run --quiet --unit=squatter python3 -m http.server 8001
until ss -Htln sport = :8001 | grep -q .; do sleep 0.05; done
""",
}
CLEAN_UP = {
    "p1": "rm -r /opt/only /models/only",
    "p2": "mv /usr/local/Elsewhere /usr/local/Ascend",
    "d1": "rm -r /opt/only; systemctl stop squatter",
}


@dataclass(frozen=True)
class Wrong:
    """A deployment with something wrong on each host: its settings, and by what is wrong the words that say so.

    {pid} is the squatter's.
    """

    said: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


WRONG = (
    Wrong(
        {
            "a host that does not answer": (
                "host d1: it does not answer, so nothing was changed on any host",
                "198.51.100.253",
                "Mend the connection, or take the host out of the inventory",
            ),
            "no model on one host": (
                "host p2: there is no directory /models/only",
                "Copy or mount the weights there, or correct sglang_model_path",
            ),
            "no CANN on one host": (
                "host p2, /usr/local/Ascend/ascend-toolkit/set_env.sh: The CANN toolkit was not found",
                "Install it, or set cann_toolkit",
            ),
        },
        {"sglang_model_path": "/models/only"},
        {"d1": {"ansible_host": "198.51.100.253"}},
    ),
    Wrong(
        {
            "an address that the host has not": (
                "host d1: the data address 203.0.113.77 is not on this host",
                "eth1 (203.0.113.189",
                "Correct sglang_data_address, or configure the address",
            ),
            "an interface that does not exist": (
                "host p1, sglang_interface: there is no interface eth9",
                "eth1 (203.0.113.187",
                "Name one of them, or leave it out",
            ),
            "an interface with another address": (
                "host p2, sglang_interface: the data address 203.0.113.188 is on eth1, not on eth0",
                "Set it to eth1 or leave it out",
            ),
        },
        own={
            "d1": {"sglang_data_address": "203.0.113.77"},
            "p1": {"sglang_interface": "eth9"},
            "p2": {"sglang_interface": "eth0"},
        },
    ),
    Wrong(
        {
            "no Python on one host": (
                "host p2: there is no Python interpreter /opt/only/bin/python3",
                "Install it, or set sglang_python to the one that has SGLang",
            ),
            "another SGLang on one host": (
                "host d1: sglang is 0.5.23 there, and the plan is spelled for 0.5.13.post1",
                "or set sglang_engine to the hosts' version",
            ),
            "a port that somebody has": (
                "host d1: sglang-decode needs port 8001 (http), and process {pid} (",
                "-m http.server 8001, unit squatter) has it",
                "End that process, or give the service another port",
            ),
            "a kernel value that no host takes": (
                "host p1: vm.swappiness is 900; it must be a whole number from 0 to 200",
                "Correct the variable; ansible-doc -t role ascend.sglang.host_tuning",
            ),
            "a kernel value that this host cannot have, where that is strict": (
                "host p2: host_tuning is strict, and this host cannot have all that was asked for",
                "vm.nothing_of_this_name",
            ),
        },
        {"sglang_python": "/opt/only/bin/python3"},
        {
            "p1": {"host_tuning_swappiness": 900},
            "p2": {"host_tuning_strict": True, "host_tuning_sysctl": {"vm.nothing_of_this_name": 1}},
        },
    ),
)
BY_WHAT = {what: wrong for wrong in WRONG for what in wrong.said}


# The preflight's throw-away listeners of a run that found nobody close by themselves, after 20 s.
UNTIL_ALONE = """
for _ in $(seq 300); do grep -q '@ascend-sglang-preflight' /proc/net/unix || exit 0; sleep 0.1; done
echo 'throw-away listeners do not close' >&2; exit 1
"""


@dataclass(frozen=True)
class Outcome:
    """What each said, and the hosts before and after all of them."""

    runs: Sequence[playbooks.Run]
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
    runs = [playbooks.run("deploy", lab.inventory(one.own, **one.variables)) for one in WRONG]
    lab.everywhere(UNTIL_ALONE)
    yield Outcome(runs, squatter, before, lab.exact())
    for name, commands in CLEAN_UP.items():
        lab[name].run(commands)


@pytest.mark.parametrize("what", BY_WHAT)
def test_it_is_refused_in_words(outcome, what):
    wrong = BY_WHAT[what]
    run = outcome.runs[WRONG.index(wrong)].refused()
    run.said(*(part.format(pid=outcome.squatter) for part in wrong.said[what]))
    assert run.count("changed") == 0


def test_nothing_was_changed_on_any_host(outcome):
    assert state.differences(outcome.before, outcome.after) == []
