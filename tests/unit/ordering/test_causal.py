"""Hand-overs of workers that hear of each other: whatever comes in while the gate looks, causes go before what they cause."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.dgs.message_bytes import Clock
from actorstream.ordering.causal import CausalOrder


@dataclass
class HandOver:
    serial: int
    seen: tuple[int, ...]
    """Of each worker, how many of its hand-overs are causes of this one."""


@dataclass
class Lane:
    """A lane at whose every look some more of what was handed over has become visible, in the order of the hand-overs."""

    index: int
    input: str
    world: World | None = None
    ended: bool = False
    held: bool = False
    waiting: deque[HandOver] = field(default_factory=deque)

    def head(self) -> HandOver | None:
        if self.world is not None:
            self.world.go_on()
        return self.waiting[0] if self.waiting else None


class World:
    """Workers 0 to n - 1 hand over and tell each other about it: steps are (worker, None) for a hand-over, (one, other)
    for a state that goes from one to the other."""

    def __init__(self, workers: int, steps: list[tuple[int, int | None]], pace: list[int]) -> None:
        self.lanes = [Lane(number, "program", self) for number in range(workers)]
        self.clocks = [Clock() for _ in range(workers)]
        self.known = [[0] * workers for _ in range(workers)]
        self.steps, self.pace = deque(steps), deque(pace)

    def go_on(self) -> None:
        for _ in range(self.pace.popleft() if self.pace else 0):
            self.step()

    def step(self) -> None:
        if not self.steps:
            return
        one, other = self.steps.popleft()
        if other is None:
            self.lanes[one].waiting.append(HandOver(self.clocks[one].now, tuple(self.known[one])))
            self.known[one][one] += 1
        elif other != one:
            self.clocks[other].heard(self.clocks[one].now)
            self.known[other] = [max(each) for each in zip(self.known[one], self.known[other])]


def made(chance: random.Random) -> World:
    workers = chance.randint(2, 5)
    steps = [(chance.randrange(workers), chance.choice([None, chance.randrange(workers)])) for _ in range(80)]
    return World(workers, steps, [chance.choice([0, 0, 1, 3, 6]) for _ in range(200)])


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 1 << 32))
def test_nothing_goes_before_what_caused_it(seed: int) -> None:
    world = made(random.Random(seed))
    gate = CausalOrder(list(world.lanes), [range(len(world.lanes))])
    taken = [0] * len(world.lanes)
    total = sum(other is None for _, other in world.steps)
    while sum(taken) < total:
        lane = gate.next()
        if lane is None:
            world.step()
            continue
        found = lane.waiting.popleft()
        assert all(has >= needs for has, needs in zip(taken, found.seen))
        taken[lane.index] += 1


def lane(index: int, name: str, *times: int) -> Any:
    return Lane(index, name, waiting=deque(HandOver(time, ()) for time in times))


def drained(gate: CausalOrder) -> list[tuple[int, int]]:
    found = []
    while (each := gate.next()) is not None:
        found.append((each.index, each.waiting.popleft().serial))
    return found


def test_lanes_of_other_producers_take_turns_with_those_of_a_program() -> None:
    gate = CausalOrder([lane(0, "p", 5, 9), lane(1, "p", 4, 7), lane(2, "other", 0, 0)], [[0, 1]])
    found = drained(gate)
    assert [each for each in found if each[0] != 2] == [(1, 4), (0, 5), (1, 7), (0, 9)]
    assert {each[0] for each in found[:2]} == {1, 2}


def test_lanes_that_are_held_or_have_ended_do_not_go() -> None:
    lanes = [lane(0, "p", 1), lane(1, "p", 2), lane(2, "p", 3)]
    lanes[0].held = lanes[1].ended = True
    gate = CausalOrder(lanes, [[0, 1, 2]])
    assert drained(gate) == [(2, 3)]
    lanes[0].held = False
    assert drained(gate) == [(0, 1)]


def test_groups_of_lanes_do_not_wait_for_each_other() -> None:
    gate = CausalOrder([lane(0, "p", 5), lane(1, "p", 9), lane(2, "p", 4), lane(3, "p", 8)], [[0, 2], [1, 3]])
    assert drained(gate) == [(3, 8), (2, 4), (1, 9), (0, 5)]
