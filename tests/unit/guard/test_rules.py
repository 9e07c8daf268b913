"""Each rule by itself: one look, and what comes of it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils.guard import rules
from ansible_collections.ascend.sglang.plugins.module_utils.guard.rules import (
    ENDING,
    RUNNING,
    STARTING,
    STOPPED,
    WAITING,
    Duty,
    Look,
    Memory,
    Unit,
    step,
)

RANK = Duty(rules.HEAD, 60.0)
HEAD = Duty(rules.STORE, 60.0)
ALONE = Duty(None, 60.0)
OWN = Unit(RUNNING, "x1", 100.0)
A = Look(Unit(RUNNING, "a", 120.0))
B = Look(Unit(RUNNING, "b", 1.0))
UNREACHABLE = Look()
SETTLED = Memory("x1", "a", seen="a", seen_at=999.0)


def look(memory: Memory, own: Unit, followed: Look | None, ranks=None, duty: Duty = RANK, now: float = 1000.0):
    return step(duty, memory, now, own, followed, ranks or {})


def after(memory: Memory, *looks: tuple[float, Unit, Look | None], duty: Duty = RANK):
    """Memory and what was done after several looks."""
    acts = []
    for now, own, followed in looks:
        memory, act = step(duty, memory, now, own, followed, {})
        acts.append(act)
    return memory, acts


def test_nothing_happens_while_all_is_well():
    memory, act = look(SETTLED, OWN, A)
    assert act is None
    assert (memory.invocation, memory.following) == ("x1", "a")


@pytest.mark.parametrize("phase", [STARTING, RUNNING, ENDING])
def test_a_rank_follows_rank_0_to_another_run_at_once(phase):
    memory, act = look(SETTLED, OWN, Look(Unit(phase, "b", 1.0)))
    assert act == rules.Act("rank 0 of its instance started anew", drains=False)
    assert memory.asked == "x1"


def test_a_rank_whose_rank_0_died_waits_for_the_next_one():
    _memory, act = look(SETTLED, OWN, Look(Unit(WAITING, "a")))
    assert act == rules.Act("rank 0 of its instance died", drains=False)


@pytest.mark.parametrize("phase", [STOPPED, WAITING, STARTING, ENDING])
def test_a_unit_that_does_not_run_is_left_alone(phase):
    """Whoever stopped it, or is stopping it, wanted that."""
    for followed in (B, UNREACHABLE, Look(Unit(WAITING, "a"))):
        assert look(SETTLED, replace(OWN, phase=phase), followed)[1] is None


def test_it_is_asked_once_for_a_run_and_again_only_when_nothing_came_of_it():
    seconds = [1000.0, 1001.0, 1029.0, 1030.0]
    _memory, acts = after(SETTLED, *[(now, OWN, B) for now in seconds])
    assert [act is not None for act in acts] == [True, False, False, True]


def test_the_next_run_follows_the_new_one_and_is_left_alone():
    memory, _acts = after(SETTLED, (1000.0, OWN, B))
    memory, acts = after(
        memory,
        (1001.0, Unit(ENDING, "x1", 101.0), B),
        (1002.0, Unit(STARTING, "x2"), B),
        (1003.0, Unit(RUNNING, "x2", 0.5), B),
        (1100.0, Unit(RUNNING, "x2", 97.5), B),
    )
    assert acts == [None] * 4
    assert (memory.invocation, memory.following, memory.left) == ("x2", "b", ("a",))


def test_who_starts_first_waits_and_takes_whoever_comes():
    memory, acts = after(
        Memory(),
        (1000.0, Unit(RUNNING, "x1", 1.0), UNREACHABLE),
        (1200.0, Unit(RUNNING, "x1", 201.0), Look(Unit(STOPPED))),
        (1201.0, Unit(RUNNING, "x1", 202.0), Look(Unit(STARTING, "a"))),
        (1202.0, Unit(RUNNING, "x1", 203.0), Look(Unit(RUNNING, "a", 0.5))),
    )
    assert acts == [None] * 4
    assert memory.following == "a"


def test_a_process_that_started_beside_a_ruin_may_hang_on_it():
    """Rank 0 was seen just before, and for long enough it may have been there still; then it is another one."""
    memory = Memory(seen="a", seen_at=994.0)
    memory, act = look(memory, Unit(RUNNING, "x2", 5.9), Look(Unit(RUNNING, "b", 0.2)))
    assert memory.following == "a"
    assert act is not None


def test_an_instance_that_is_started_anew_as_a_whole_is_left_alone():
    """Nobody looked while all of it was down, and rank 0 began after its rank: too soon to have met one of before."""
    memory = Memory("x1", "a", seen="a", seen_at=999.0)
    memory, acts = after(
        memory,
        (1001.0, Unit(RUNNING, "x2", 0.5), Look(Unit(RUNNING, "a", 900.0))),
        (1002.0, Unit(RUNNING, "x2", 1.5), Look(Unit(RUNNING, "b", 0.9))),
        (1060.0, Unit(RUNNING, "x2", 59.5), Look(Unit(RUNNING, "b", 58.9))),
    )
    assert memory.following == "b"
    assert acts == [None, None, None]


def test_an_instance_of_which_rank_0_is_seen_about_to_start_is_left_alone():
    """Its run is there before its process is."""
    memory = Memory("x1", "a", seen="a", seen_at=999.5)
    memory, acts = after(
        memory,
        (1001.0, Unit(RUNNING, "x2", 0.5), Look(Unit(STARTING, "b"))),
        (1002.0, Unit(RUNNING, "x2", 1.5), Look(Unit(RUNNING, "b", 0.8))),
    )
    assert memory.following == "b"
    assert acts == [None, None]


def test_a_group_whose_store_starts_after_its_members_is_left_alone():
    memory = Memory("x1", "a", seen="a", seen_at=999.5)
    memory, acts = after(memory, (1001.0, Unit(RUNNING, "x2", 1.0), Look(Unit(RUNNING, "b", 0.4))), duty=HEAD)
    assert memory.following == "b"
    assert acts == [None]


def test_a_process_that_started_after_the_new_rank_0_has_met_no_other():
    memory = Memory(seen="a", seen_at=999.0)
    memory, act = look(memory, Unit(RUNNING, "x2", 0.5), Look(Unit(RUNNING, "b", 0.7)))
    assert memory.following == "b"
    assert act is None


def test_out_of_sight_for_less_than_the_limit_is_nothing():
    memory, acts = after(
        SETTLED,
        (1000.0, OWN, UNREACHABLE),
        (1059.0, OWN, UNREACHABLE),
        (1059.5, OWN, A),
        (1061.0, OWN, UNREACHABLE),
        (1120.0, OWN, UNREACHABLE),
    )
    assert acts == [None] * 5
    memory, acts = after(memory, (1121.0, OWN, UNREACHABLE))
    assert acts == [rules.Act("rank 0 of its instance has been gone for 60 s", drains=False)]


def test_a_guard_that_does_not_answer_is_no_loss_while_the_engine_accepts():
    _memory, acts = after(SETTLED, *[(1000.0 + n, OWN, Look(None, accepts=True)) for n in range(0, 600, 10)])
    assert acts == [None] * 60


def test_a_rank_0_that_was_stopped_by_order_is_gone_after_the_limit_and_once():
    stopped = Look(Unit(STOPPED, "a"))
    memory, acts = after(SETTLED, (1000.0, OWN, stopped), (1061.0, OWN, stopped))
    assert [act is not None for act in acts] == [False, True]
    own = Unit(RUNNING, "x2", 1.0)
    _memory, acts = after(memory, *[(1062.0 + n, replace(own, age=1.0 + n), stopped) for n in range(300)])
    assert acts == [None] * 300


def test_a_rank_keeps_no_pace_of_its_own():
    """Rank 0 sets it; a follower that came later would meet one and be restarted for another."""
    memory = SETTLED
    for number in range(20):
        now, own = 1000.0 + 10 * number, Unit(RUNNING, f"x{number + 1}", 7.0)
        memory, act = step(RANK, memory, now, own, Look(Unit(RUNNING, f"b{number}", 1.0)), {})
        assert act is not None
        memory, act = step(RANK, memory, now + 1, Unit(STARTING, f"x{number + 2}"), A, {})
        memory = replace(memory, seen=f"b{number}", seen_at=now + 5)
        memory, act = step(
            RANK, memory, now + 5, Unit(RUNNING, f"x{number + 2}", 0.1), Look(Unit(RUNNING, f"b{number}", 6.0)), {}
        )
        assert act is None


# Rank 0


def rank(run: str, following: str = "x1", phase: str = RUNNING, left: tuple[str, ...] = ()) -> dict[int, Look]:
    return {1: Look(Unit(phase, run, 50.0, following, left))}


def paired() -> Memory:
    memory, act = look(Memory("x1"), OWN, None, rank("r1"), ALONE)
    assert act is None
    assert memory.pairs == {1: "r1"}
    return memory


def test_rank_0_restarts_when_a_rank_died():
    waiting = rank("r1", "", WAITING, ("x1",))
    _memory, act = look(paired(), OWN, None, waiting, ALONE, 1001.0)
    assert act == rules.Act("rank 1 of its instance ended and starts again", drains=False)


def test_rank_0_restarts_when_another_run_of_a_rank_comes():
    """Its host lost power: nothing is left of what it met."""
    _memory, act = look(paired(), OWN, None, rank("r2"), ALONE, 1001.0)
    assert act is not None


def test_rank_0_takes_a_rank_that_has_not_met_it_for_what_it_is():
    memory, act = look(Memory("x1"), OWN, None, rank("r1", "an older one"), ALONE)
    assert act is None
    assert memory.pairs == {}


@pytest.mark.parametrize("phase", [STOPPED, ENDING])
def test_a_rank_that_somebody_stops_is_no_reason(phase):
    _memory, act = look(paired(), OWN, None, rank("r1", "", phase, ("x1",)), ALONE, 1001.0)
    assert act is None


def test_rank_0_paces_the_instance():
    """5 s, 10 s ... 300 s between two restarts, and from the beginning after a long run."""
    memory, now, at = Memory(), 0.0, []
    for _unused in range(4000):
        run = f"x{len(at) + 1}"
        memory, act = step(ALONE, memory, now, Unit(RUNNING, run, 1.0), None, rank("r", "", STARTING, (run,)))
        if act:
            at.append(now)
        now += 1.0
    gaps = [later - sooner for sooner, later in itertools.pairwise(at)]
    assert gaps == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, *[300.0] * (len(gaps) - 6)]
    assert len(gaps) > 12
    memory, _act = step(ALONE, memory, now, Unit(RUNNING, "y", rules.STABLE_SECONDS), None, {})
    assert (memory.restarts, memory.not_before) == (0, 0.0)


# The store


def test_the_store_of_another_run_lets_requests_be_finished():
    _memory, act = look(SETTLED, OWN, B, duty=HEAD)
    assert act == rules.Act("the store of its PD group is another one", drains=True)


@pytest.mark.parametrize("there", [UNREACHABLE, Look(Unit(STOPPED, "a")), Look(Unit(WAITING, "a"))])
def test_a_store_that_is_away_is_no_reason(there):
    _memory, acts = after(SETTLED, *[(1000.0 + n, OWN, there) for n in range(0, 1000, 10)], duty=HEAD)
    assert acts == [None] * 100


def test_a_lost_rank_counts_before_a_new_store():
    """There is nothing to drain then."""
    memory = replace(SETTLED, pairs={1: "r1"})
    _memory, act = look(memory, OWN, B, rank("r2"), HEAD)
    assert act is not None
    assert not act.drains


def test_what_is_left_behind_is_told_and_bounded():
    memory = SETTLED
    for number in range(30):
        memory = replace(memory, invocation=f"x{number}", following=f"a{number}")
        memory, _act = look(memory, Unit(STOPPED, f"x{number}"), UNREACHABLE)
    assert memory.left == tuple(f"a{number}" for number in range(29, 21, -1))
    assert rules.told(memory, OWN).left == memory.left
