# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever happens, the instance comes together again, with hardly more restarts than things that happened."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .simulator import NAMES, Manners, World

SETTLED_SECONDS = 400.0
HANGING = Manners(hang=True, stubborn=True, start_seconds=8.0, drain_seconds=4.0)

manners = st.builds(
    Manners,
    hang=st.booleans(),
    stubborn=st.booleans(),
    start_seconds=st.sampled_from([8.0, 12.0, 25.0]),
    drain_seconds=st.sampled_from([0.0, 4.0, 20.0]),
)
phases = st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 0.75])] * 4)
pauses = st.sampled_from([0.25, 1.0, 2.0, 4.0, 6.0, 10.0, 20.0, 60.0])
events = st.tuples(
    st.sampled_from(["kill", "power", "cut", "guard", "restart"]),
    st.sampled_from(NAMES),
    st.sampled_from([0.25, 1.0, 5.0, 10.0, 30.0, 100.0]),
    pauses,
)


def happens(world: World, event: tuple[str, str, float, float]) -> None:
    """An event of some length, and a pause after it."""
    kind, name, seconds, pause = event
    if name in world.hosts:
        if kind == "kill":
            world.kill(name)
        elif kind == "guard":
            world.stop_guard(name)
        else:
            begin, end = {
                "power": (world.power_off, world.power_on),
                "cut": (world.pull, world.plug),
                "restart": (world.stop, world.start),
            }[kind]
            begin(name)
            world.run(seconds)
            end(name)
            # What processes do in a second in which no guard can look, no guard knows.
            world.run(2.0)
    world.run(pause)


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(manners, st.integers(1, 3), phases, st.lists(events, max_size=6))
def test_it_comes_together_again_and_then_stays(manners, nodes, phases, what):
    world = World(manners, nodes, phases)
    world.run(60)
    assert world.serves()
    for event in what:
        happens(world, event)
    world.run(SETTLED_SECONDS)
    story = "\n".join(world.log)
    assert world.serves(), story
    # Each event makes each unit restart a few times at the most: by systemd, with its instance, and with the store.
    assert max(world.guard_restarts.values()) <= 1 + 2 * len(what), story
    assert max(world.starts.values()) <= 1 + 4 * len(what), story
    before = dict(world.starts)
    world.run(700)
    assert world.starts == before, story


@settings(deadline=None, max_examples=40)
@given(manners, st.integers(1, 3), phases, st.sampled_from(NAMES), st.sampled_from([1.0, 10.0, 30.0, 50.0]))
def test_a_short_cut_of_the_network_restarts_nothing(manners, nodes, phases, name, seconds):
    world = World(manners, nodes, phases)
    world.run(60)
    before = dict(world.starts)
    happens(world, ("cut", name, seconds, 120.0))
    assert world.starts == before
    assert world.serves()


@settings(deadline=None, max_examples=40)
@given(manners, st.integers(1, 3), phases, st.sampled_from(NAMES), st.sampled_from([1.0, 100.0]))
def test_a_guard_that_is_away_restarts_nothing(manners, nodes, phases, name, pause):
    world = World(manners, nodes, phases)
    world.run(60)
    before = dict(world.starts)
    happens(world, ("guard", name, 0.0, pause))
    world.run(30)
    assert world.starts == before


@pytest.mark.parametrize(
    ("name", "restarts"),
    [
        ("d1", {"p1": 0, "d1": 0, "d2": 1, "d3": 1}),
        ("d2", {"p1": 0, "d1": 1, "d2": 0, "d3": 1}),
        ("p1", {"p1": 0, "d1": 1, "d2": 1, "d3": 1}),
    ],
)
def test_one_death_is_one_restart_of_each_other(name, restarts):
    world = World(HANGING, 3)
    world.run(60)
    world.kill(name)
    world.run(60)
    assert world.serves()
    assert world.guard_restarts == restarts
    assert world.starts == {each: 2 if each == name or restarts[each] else 1 for each in restarts}


def test_without_guards_it_hangs(monkeypatch):
    """The world is as bad as it is said to be: it is the guards that heal."""
    monkeypatch.setattr(World, "_guard", lambda self, host: None)
    world = World(HANGING, 2)
    world.run(60)
    assert world.serves()
    world.kill("d2")
    world.run(3600)
    assert not world.serves()


@pytest.mark.parametrize("name", ["d1", "d2", "d3", "p1"])
def test_a_host_that_boots_first_is_waited_for_by_none_and_waits_for_all(name):
    world = World(HANGING, 3)
    for each in world.hosts:
        world.power_off(each)
    world.power_on(name)
    world.run(120)
    for each in world.hosts:
        world.power_on(each)
    world.run(60)
    assert world.serves()
    assert sum(world.guard_restarts.values()) == 0


def test_the_pauses_grow(monkeypatch):
    """A rank that dies a second after each start: rank 0 starts anew less and less often."""
    world = World(HANGING, 2)
    restarts: list[float] = []
    before = 0
    for _unused in range(4 * 1200):
        rank: Any = world.hosts["d2"].process
        if rank and world.now - rank.began >= 1:
            world.kill("d2")
        world.run(0.25)
        if world.guard_restarts["d1"] > before:
            before = world.guard_restarts["d1"]
            restarts.append(world.now)
    gaps = [later - sooner for sooner, later in itertools.pairwise(restarts)]
    assert gaps == sorted(gaps)
    assert gaps[0] < 10
    assert gaps[-1] >= 150
