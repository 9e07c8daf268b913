# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts with units, processes, guards and cables, in simulated time, around the real rules.

Processes come together as an engine's do: rank 0 gathers, the others knock; who knocks at a rank 0 that is complete
waits for an answer that never comes. When a member of an instance ends, the others end by themselves or hang for ever,
as the case may be. systemd starts again what died. Guards see each other once a second, at moments of their own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from ansible_collections.ascend.sglang.plugins.module_utils.guard import rules
from ansible_collections.ascend.sglang.plugins.module_utils.guard.rules import ENDING, RUNNING, STOPPED, WAITING

TICK = 0.25
RESTART_SECONDS = 5.0
PEER_DEATH_SECONDS = 5.5
NAMES = ("p1", "d1", "d2", "d3")


@dataclass(frozen=True)
class Manners:
    """How engines behave. hang: a process that has lost a member stays for ever (else it ends after a few seconds);
    stubborn: such a process also ignores SIGTERM; start_seconds: from the start of a process to the rendezvous;
    drain_seconds: how long a healthy process takes to end."""

    hang: bool
    stubborn: bool
    start_seconds: float
    drain_seconds: float


@dataclass
class Process:
    """One run of a unit."""

    run: str
    began: float
    joined: frozenset[str] = frozenset()
    knocks_at: str = ""
    store: str = ""
    broken_at: float | None = None
    term_at: float | None = None


@dataclass
class Host:
    """A host with one unit and its guard."""

    name: str
    duty: rules.Duty
    phase: float
    follows: str = ""
    ranks: dict[int, str] = field(default_factory=dict)
    power: bool = True
    plugged: bool = True
    wanted: bool = True
    process: Process | None = None
    start_at: float | None = 0.0
    memory: rules.Memory = field(default_factory=rules.Memory)
    told: rules.Unit | None = None
    seen: dict[str, tuple[float, rules.Look]] = field(default_factory=dict)
    guard_at: float = 0.0
    last_run: str = ""


class World:
    """A holder of the store, and an instance of `nodes` nodes that uses it."""

    def __init__(self, manners: Manners, nodes: int = 2, phases: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)) -> None:
        self.manners = manners
        self.now = 0.0
        self._numbers = itertools.count(1)
        members = NAMES[1 : nodes + 1]
        head, others = members[0], members[1:]
        self.hosts = {
            "p1": Host("p1", rules.Duty(None, 60.0), phases[0]),
            head: Host(head, rules.Duty(rules.STORE, 60.0), phases[1], "p1", dict(enumerate(others, 1))),
            **{
                name: Host(name, rules.Duty(rules.HEAD, 60.0), phases[2 + number % 2], head)
                for number, name in enumerate(others)
            },
        }
        self.members = members
        self.guard_restarts: dict[str, int] = dict.fromkeys(self.hosts, 0)
        self.starts: dict[str, int] = dict.fromkeys(self.hosts, 0)
        self.log: list[str] = []

    # What happens to the world

    def kill(self, name: str) -> None:
        """SIGKILL of the engine."""
        if self.hosts[name].process:
            self._say(f"{name} is killed")
            self._end(self.hosts[name])

    def power_off(self, name: str) -> None:
        host = self.hosts[name]
        self._say(f"{name} loses power")
        host.power, host.process, host.start_at, host.told = False, None, None, None
        host.memory, host.seen = rules.Memory(), {}

    def power_on(self, name: str) -> None:
        host = self.hosts[name]
        if not host.power:
            self._say(f"{name} has power")
            host.power, host.start_at, host.guard_at = True, self.now + 3.0 if host.wanted else None, self.now + 2.0

    def pull(self, name: str) -> None:
        self._say(f"{name} is unplugged")
        self.hosts[name].plugged = False

    def plug(self, name: str) -> None:
        self._say(f"{name} is plugged")
        self.hosts[name].plugged = True

    def stop_guard(self, name: str) -> None:
        """The guard is away for a while and comes back with its memory."""
        host = self.hosts[name]
        self._say(f"the guard of {name} is away")
        host.guard_at, host.told, host.seen = self.now + 4.0, None, {}
        host.memory = replace(host.memory, missing={})

    def stop(self, name: str) -> None:
        """systemctl stop"""
        host = self.hosts[name]
        host.wanted, host.start_at = False, None
        if host.process:
            self._term(host)

    def start(self, name: str) -> None:
        """systemctl start"""
        host = self.hosts[name]
        host.wanted = True
        if host.power and not host.process and host.start_at is None:
            host.start_at = self.now

    # Time

    def run(self, seconds: float) -> None:
        for _unused in range(round(seconds / TICK)):
            self.now += TICK
            for host in self.hosts.values():
                self._unit(host)
            for host in self.hosts.values():
                self._engine(host)
            for host in self.hosts.values():
                if host.power and self.now >= host.guard_at and (self.now - host.phase) % 1.0 < TICK / 2:
                    self._guard(host)

    def serves(self) -> bool:
        """Whether the instance is whole, and uses the store that there is."""
        store = self.hosts["p1"].process
        processes = [self.hosts[name].process for name in self.members]
        if store is None or not all(processes):
            return False
        runs = frozenset(one.run for one in processes)
        return all(one.joined == runs and one.broken_at is None for one in processes) and (
            processes[0].store == store.run
        )

    def _say(self, text: str) -> None:
        self.log.append(f"{self.now:8.2f} {text}")

    def _unit(self, host: Host) -> None:
        if host.power and host.wanted and not host.process and host.start_at is not None and self.now >= host.start_at:
            host.start_at = None
            host.process = Process(f"{host.name}-{next(self._numbers)}", self.now)
            host.last_run = host.process.run
            self.starts[host.name] += 1
            self._say(f"{host.process.run} starts")

    def _term(self, host: Host) -> None:
        process = host.process
        if process and process.term_at is None:
            process.term_at = self.now

    def _end(self, host: Host, pause: float = RESTART_SECONDS) -> None:
        self._say(f"{host.process.run} ends")
        host.process = None
        if host.wanted:
            host.start_at = self.now + pause

    def _engine(self, host: Host) -> None:
        process, manners = host.process, self.manners
        if process is None:
            return
        if process.joined and process.broken_at is None and not self._is_whole(process):
            process.broken_at = self.now
        if process.knocks_at and self._run_of(host.follows) != process.knocks_at:
            # Whom it waited for is gone: it ends, or never knows.
            process.knocks_at = ""
            process.broken_at = self.now
        is_broken = process.broken_at is not None
        if is_broken and not manners.hang and self.now - process.broken_at >= PEER_DEATH_SECONDS:
            self._end(host)
            return
        if process.term_at is not None:
            patience = 90.0 if is_broken and manners.stubborn else 0.0 if is_broken else manners.drain_seconds
            if self.now - process.term_at >= patience:
                self._end(host, 0.0)
            return
        if self.now - process.began >= manners.start_seconds and not process.joined and not is_broken:
            self._meet(host, process)

    def _is_whole(self, process: Process) -> bool:
        return process.joined <= {one.process.run for one in self.hosts.values() if one.process}

    def _run_of(self, name: str) -> str:
        process = self.hosts[name].process
        return process.run if process else ""

    def _reaches(self, one: Host, other: Host) -> bool:
        return one is other or (one.power and other.power and one.plugged and other.plugged)

    def _meet(self, host: Host, process: Process) -> None:
        if host.name == "p1":
            process.joined = frozenset([process.run])
        elif host.name == self.members[0]:
            self._gather(host, process)
        elif not process.knocks_at:
            head = self.hosts[host.follows]
            there = head.process
            if there and self._reaches(host, head) and self.now - there.began >= self.manners.start_seconds:
                process.knocks_at = there.run

    def _gather(self, host: Host, process: Process) -> None:
        store = self.hosts["p1"]
        others = [self.hosts[name] for name in self.members[1:]]
        if not store.process or not self._reaches(host, store):
            return
        if all(one.process and one.process.knocks_at == process.run and self._reaches(host, one) for one in others):
            process.store = store.process.run
            group = frozenset([process.run, *(one.process.run for one in others)])
            process.joined = group
            for one in others:
                one.process.joined, one.process.knocks_at = group, ""
            self._say(f"together: {', '.join(sorted(group))}")

    # Guards

    def _own(self, host: Host) -> rules.Unit:
        process = host.process
        if process is None:
            return rules.Unit(WAITING if host.wanted and host.start_at is not None else STOPPED, host.last_run)
        return rules.Unit(ENDING if process.term_at is not None else RUNNING, process.run, self.now - process.began)

    def _see(self, host: Host, name: str) -> rules.Look:
        other = self.hosts[name]
        if not self._reaches(host, other):
            return rules.Look()
        if other.told is None:
            return rules.Look(None, other.process is not None)
        return rules.Look(other.told)

    def _guard(self, host: Host) -> None:
        # What is seen of others is as old as their last look at themselves.
        followed = self._see(host, host.follows) if host.follows else None
        ranks = {rank: self._see(host, name) for rank, name in host.ranks.items()}
        own = self._own(host)
        host.memory, act = rules.step(host.duty, host.memory, self.now, own, followed, ranks)
        host.told = rules.told(host.memory, own)
        if act is None:
            return
        self._say(f"guard: restart {own.invocation} because {act.why}")
        self.guard_restarts[host.name] += 1
        if act.drains:
            self._term(host)
        else:
            self._end(host, 0.0)
