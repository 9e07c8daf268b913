# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each host is itself, answers as root, and has the time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import (
    Problem,
    Situation,
    check,
    error,
    unknown,
    warning,
)

_CLOCK_SECONDS = 5.0


@check(
    "become",
    explains="Units, NPU device files and other users' sockets are root's business on every host.",
    remedy="Connect as root, or set ansible_become: true and a become password where sudo asks for one.",
)
def become(situation: Situation) -> Iterator[Problem]:
    """The tasks run as root."""
    for host in situation.hosts:
        uid = situation.answers[host].get("uid", 0)
        if uid != 0:
            yield error(host, f"tasks run there as user number {uid}, not as root")


@check(
    "host-identity",
    explains="Two names of the inventory that lead to one machine would start two services in each other's place.",
    remedy="Correct ansible_host; a machine that was cloned needs a machine id of its own (systemd-machine-id-setup).",
)
def identity(situation: Situation) -> Iterator[Problem]:
    """Machine ids differ, host names too."""
    yield from situation.alone(situation.planned)
    for key, named, level in (("machine_id", "machine id", error), ("hostname", "host name", warning)):
        for value, hosts in _sharing(situation, key):
            alike = f" ({value})" if key == "hostname" else ""
            yield level(hosts, f"they have the same {named}{alike}")


def _sharing(situation: Situation, key: str) -> Iterator[tuple[Any, list[str]]]:
    owners: dict[Any, list[str]] = {}
    for host in situation.hosts:
        owners.setdefault(situation.answers[host].get(key), []).append(host)
    yield from ((value, hosts) for value, hosts in owners.items() if value and len(hosts) > 1)


@check(
    "clock",
    explains="Where clocks differ, logs of several hosts cannot be read together, and certificates may be refused.",
    remedy="Run a time service (chrony, systemd-timesyncd) on all hosts.",
)
def clock(situation: Situation) -> Iterator[Problem]:
    """Clocks differ by less than five seconds, as far as the way to the hosts lets one tell."""
    known = {host: situation.clocks[host] for host in situation.hosts if host in situation.clocks}
    yield from (unknown(host, "its clock was not read") for host in situation.hosts if host not in known)
    if len(known) < 2:
        # Of one host that answered, or of one among several whose clock was read.
        if len(situation.hosts) > 1:
            yield from (unknown(host, "no other host's clock was read") for host in known)
        elif known:
            yield from situation.alone(situation.planned)
        return
    middles = sorted((low + high) / 2 for low, high in known.values())
    usual = middles[len(middles) // 2]
    for host, (low, high) in known.items():
        # Certainly off: even the nearest time that it may have is too far from what most hosts have.
        if low - usual > _CLOCK_SECONDS or usual - high > _CLOCK_SECONDS:
            off = (low + high) / 2 - usual
            way = "ahead of" if off > 0 else "behind"
            yield warning(host, f"its clock is about {abs(off):.0f} s {way} the other hosts'")


_UNTUNABLE = "Mend that on the host, or do not ask for it; sglang_host_tuning: false leaves all tuning out"


def _tuned(situation: Situation) -> tuple[str, ...]:
    return tuple(host for host in situation.hosts if situation.answers[host].get("tuning"))


@check(
    "host-tuning",
    explains="Deploy sets kernel values and the governor before anything starts, as the profile and the host's own "
    "host_tuning_* variables say.",
    remedy="Correct the variable; ansible-doc -t role ascend.sglang.host_tuning lists them.",
    scope=_tuned,
)
def tuning(situation: Situation) -> Iterator[Problem]:
    """The host takes the values that are asked for."""
    for host in _tuned(situation):
        told = situation.answers[host]["tuning"]
        if told["error"]:
            yield error(host, str(told["error"]), "" if told["variable"] else _UNTUNABLE)
