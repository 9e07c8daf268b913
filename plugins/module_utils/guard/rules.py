# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a guard restarts its unit. Decides; does nothing.

Only rank 0 decides for an instance. A rank above 0 follows rank 0 wherever it goes, at once: each run of rank 0 makes
it restart once at most. Rank 0 restarts when a rank has left it, with a back-off; it is the one that paces an instance.
That a follower restarts because of the one that it follows is no reason for that one, so that there are no circles.

Words: a *run* is one invocation of a unit. A process *meets* the run that it follows when it joins it: at the
rendezvous of an instance, or at the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

STOPPED, WAITING, STARTING, RUNNING, ENDING = "stopped", "waiting", "starting", "running", "ending"
"""Phases of a unit: stopped, also for good after a failure; dead and waiting to be tried again; about to start its
process; with a process; with a process that is being ended."""

HEAD, STORE = "head", "store"
"""What is followed: rank 0 of the own instance, or the holder of the PD group's store."""

SHORTLY_SECONDS = 3.0
"""How long before a process started a run may have been seen last to count as the one that was there. Looks are a
second apart."""

MEETING_SECONDS = 5.0
"""How long two processes must have been up together before they can have met. An engine needs twice as long from its
start to the rendezvous, for its imports alone; a guard needs three seconds at the most to see another's new run."""

FIRST_BACK_OFF, LONGEST_BACK_OFF = 5.0, 300.0
STABLE_SECONDS = 600.0
"""A run that lasted so long begins the back-off anew: twice the longest pause, in which it could have died again."""

RETRY_SECONDS = 30.0
"""After this long a restart that systemd did not do is asked for again."""

_LEFT_KEPT = 8


@dataclass(frozen=True)
class Unit:
    """A unit as its own guard tells of it.

    age: seconds since its process started; following: the run that its process may have met; left: runs that earlier
    processes of this unit met, the last one first.
    """

    phase: str = STOPPED
    invocation: str = ""
    age: float = 0.0
    following: str = ""
    left: tuple[str, ...] = ()

    @property
    def has_process(self) -> bool:
        return self.phase in (RUNNING, ENDING)


@dataclass(frozen=True)
class Look:
    """What was seen of another unit. unit: None where its guard did not answer; accepts: whether, then, one of the
    unit's own ports accepted a connection, so that its process is there and only the guard is not."""

    unit: Unit | None = None
    accepts: bool = False

    @property
    def is_there(self) -> bool:
        return self.accepts if self.unit is None else self.unit.phase in (STARTING, RUNNING, ENDING)


@dataclass(frozen=True)
class Duty:
    """follows: what is followed, if anything; gone_seconds: how long a member of the instance may be out of sight."""

    follows: str | None
    gone_seconds: float


@dataclass(frozen=True)
class Memory:
    """What a guard remembers from look to look, and beyond its own restart.

    invocation: the run of the own unit that the rest is about; following: the run that was there when it started;
    also: another one that it may have met since; left: see Unit; pairs: rank -> the run that met ours; seen: the last
    run that the followed unit was seen with (empty: none), and when; missing: who is out of sight, since when; asked:
    the own run for which a restart was asked, and when; restarts: in a row.
    """

    invocation: str = ""
    following: str = ""
    also: str = ""
    left: tuple[str, ...] = ()
    pairs: Mapping[int, str] = field(default_factory=dict)
    seen: str | None = None
    seen_at: float = 0.0
    missing: Mapping[str, float] = field(default_factory=dict)
    asked: str = ""
    asked_at: float = 0.0
    restarts: int = 0
    not_before: float = 0.0


@dataclass(frozen=True)
class Act:
    """Restart the own unit. why: completes "restart UNIT because ..."; drains: whether its process may finish its
    requests first. One whose instance is lost has none that it could finish, and can hang for ever: it is killed, and
    so is gone before systemd starts the lost rank again (RestartSec=5), which then meets no ruin."""

    why: str
    drains: bool


@dataclass(frozen=True)
class _Reason:
    why: str
    drains: bool = False
    paced: bool = False


def step(
    duty: Duty, memory: Memory, now: float, own: Unit, followed: Look | None, ranks: Mapping[int, Look]
) -> tuple[Memory, Act | None]:
    """One look.

    :param now: seconds of a clock that only goes on.
    :param own: the guard's own unit.
    :param followed: the unit that it follows; None where it follows none.
    :param ranks: the other ranks; for a rank 0 only.
    """
    memory = _current_run(memory, now, own, followed)
    memory = _observed(duty, memory, now, own, followed, ranks)
    if own.phase != RUNNING:
        # Who stopped it, or is stopping it, wanted that; and what is about to start will meet the right one.
        return memory, None
    reason = _reason(duty, memory, now, own, followed, ranks)
    if reason is None:
        if memory.restarts and own.age >= STABLE_SECONDS:
            memory = replace(memory, restarts=0, not_before=0.0)
        return memory, None
    if memory.asked == own.invocation and now < memory.asked_at + RETRY_SECONDS:
        return memory, None
    if reason.paced and now < memory.not_before:
        return memory, None
    if reason.paced:
        pause = min(FIRST_BACK_OFF * 2**memory.restarts, LONGEST_BACK_OFF)
        memory = replace(memory, restarts=memory.restarts + 1, not_before=now + pause)
    return replace(memory, asked=own.invocation, asked_at=now), Act(reason.why, reason.drains)


def told(memory: Memory, own: Unit) -> Unit:
    """The own unit as other guards are told of it."""
    return replace(own, following=memory.following, left=memory.left)


def _current_run(memory: Memory, now: float, own: Unit, followed: Look | None) -> Memory:
    """Notice the end of a run and the start of the next."""
    if memory.invocation and (own.invocation != memory.invocation or not own.has_process):
        met = [run for run in (memory.also, memory.following, *memory.left) if run]
        left = tuple(dict.fromkeys(met))[:_LEFT_KEPT]
        memory = replace(memory, invocation="", following="", also="", left=left, pairs={}, missing={})
    if not memory.invocation and own.phase == RUNNING:
        began = now - own.age
        memory = replace(memory, invocation=own.invocation, following=_there_at(began, memory, followed))
    return memory


def _there_at(began: float, memory: Memory, followed: Look | None) -> str:
    """The run of the followed unit that was seen last before our process started; empty where none was."""
    if memory.seen and began - memory.seen_at <= SHORTLY_SECONDS:
        return memory.seen
    other = followed.unit if followed else None
    return other.invocation if other is not None and other.has_process else ""


def _observed(
    duty: Duty, memory: Memory, now: float, own: Unit, followed: Look | None, ranks: Mapping[int, Look]
) -> Memory:
    """Take down what is seen of the others."""
    other = followed.unit if followed else None
    if other is not None:
        memory = replace(memory, seen=other.invocation if other.has_process else "", seen_at=now)
        if memory.invocation and not memory.following and other.has_process:
            # It waits at the meeting place: the first to appear is the one that it meets.
            memory = replace(memory, following=other.invocation)
        elif own.phase == RUNNING and memory.invocation and _cannot_have_met_an_earlier(own, other):
            # A whole instance or group was started anew, and nobody looked while all of it was down.
            memory = replace(memory, following=other.invocation)
        elif own.phase == RUNNING and memory.asked != own.invocation and _is_next(memory, own, other):
            memory = replace(memory, also=other.invocation)
    pairs = dict(memory.pairs)
    for rank, look in ranks.items():
        if look.unit and look.unit.phase == RUNNING and look.unit.following == memory.invocation != "":
            pairs.setdefault(rank, look.unit.invocation)
    watched = {f"rank {rank}": ranks[rank] for rank in pairs if rank in ranks}
    if duty.follows == HEAD and memory.following and followed is not None:
        watched["rank 0"] = followed
    missing = {name: memory.missing.get(name, now) for name, look in watched.items() if not look.is_there}
    return replace(memory, pairs=pairs, missing=missing)


def _cannot_have_met_an_earlier(own: Unit, other: Unit) -> bool:
    """Whether the followed unit's run begins so soon after ours, or began before it, that ours met none of before:
    that one had ended by then. One that is about to have a process is of age 0."""
    return other.phase in (STARTING, RUNNING, ENDING) and own.age - other.age < MEETING_SECONDS


def _is_next(memory: Memory, own: Unit, other: Unit) -> bool:
    """Whether our process may have met this one after the one that was there at its start."""
    together = min(own.age, other.age)
    return other.has_process and other.invocation != memory.following and together >= MEETING_SECONDS


def _reason(
    duty: Duty, memory: Memory, now: float, own: Unit, followed: Look | None, ranks: Mapping[int, Look]
) -> _Reason | None:
    other = followed.unit if followed else None
    for rank, look in sorted(ranks.items()):
        if look.unit and look.unit.phase in (WAITING, STARTING, RUNNING):
            pair = memory.pairs.get(rank)
            anew = pair is not None and look.unit.invocation != pair
            if anew or own.invocation in look.unit.left:
                return _Reason(f"rank {rank} of its instance ended and starts again", paced=True)
    if duty.follows == HEAD and memory.following and other is not None and other.phase == WAITING:
        return _Reason("rank 0 of its instance died")
    if duty.follows == HEAD and _is_another(memory, other):
        return _Reason("rank 0 of its instance started anew")
    for name, since in sorted(memory.missing.items()):
        if now - since >= duty.gone_seconds:
            return _Reason(f"{name} of its instance has been gone for {now - since:.0f} s", paced=True)
    # A store out of reach is no reason: what runs may go on without it, and what starts would wait for it.
    if duty.follows == STORE and _is_another(memory, other):
        return _Reason("the store of its PD group is another one", drains=True)
    return None


def _is_another(memory: Memory, other: Unit | None) -> bool:
    """Whether the followed unit runs, or is about to, and not in the run that ours met."""
    if not memory.following or other is None or other.phase not in (STARTING, RUNNING, ENDING):
        return False
    return other.invocation != memory.following
