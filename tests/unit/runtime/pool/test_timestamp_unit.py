"""A unit with timestamp input on threads of a pool: one sequence, whichever replica is worked on first."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from actorstream.runtime.pool.timestamp_unit import PooledGateUnit, PooledTimestampUnit
from actorstream.runtime.timestamp.lane import TimestampInLane
from actorstream.topology.builder import Topology
from actorstream.transports.base import FrameKind
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import PooledTicks, Ticks
from tests.unit.runtime.pool.pooled_worker import EVERYTHING
from tests.unit.runtime.pool.timed_worker import Sent, TimedWorker


class Merging(TimedWorker):
    """first, second -> merged, in timestamp order, of so many replicas by key -> out."""

    def __init__(self, replicas: int = 1, kind: Any = PooledTicks, **deploy: Any) -> None:
        topology = Topology("merging")
        first, second = (topology.source(Ticks, name=name, count=0) for name in ("first", "second"))
        merged = first.by("key").through(kind, second.by("key"), name="merged", replicas=replicas)
        merged.to_one().ordered("timestamp").into(Collect, name="out")
        super().__init__(topology, **deploy)
        assert isinstance(self.unit("merged"), PooledTimestampUnit)

        assert isinstance(self.unit("merged"), PooledGateUnit) == (deploy["merge"] == "gate")

    def lane(self, number: int) -> TimestampInLane:
        """A channel that is merged."""
        unit = self.unit("merged")
        gated = isinstance(unit, PooledGateUnit)
        lanes: list[TimestampInLane] = unit.reader.gate.lanes if gated else unit.lanes_in_order
        return lanes[number]

    def got(self) -> list[Sent]:
        """Takes what waits for the sink."""
        return self.taken(self.unit("out"))


@pytest.fixture(params=["shared", "gate"], ids=["channels", "gate"])
def merge(request: pytest.FixtureRequest) -> str:
    """Who merges rows by key: their reader's channels, or a gate."""
    return str(request.param)


def test_rows_wait_until_everybody_who_may_have_earlier_ones_has_said_so(merge: str) -> None:
    worker = Merging(merge=merge)
    worker.give("first", (1, 0), (5, 1))
    worker.run("merged")
    assert worker.got() == []
    worker.give("second", (2, 2), (7, 3))
    worker.run("merged")
    assert worker.got() == [(1, 0), (2, 2), (5, 1)], "of rank 1 something at 7 may still come"
    worker.promise(8, "first")
    worker.run("merged")
    assert worker.got() == [(7, 3)]


def test_what_is_behind_hears_the_time_of_the_next_row(merge: str) -> None:
    worker = Merging(merge=merge)
    worker.give("first", (1, 0))
    worker.promise(4, "second")
    worker.promise(9, "first")
    worker.run("merged")
    (lane,) = worker.unit("out").in_lanes
    assert (worker.got(), lane.channel.frontier(0)) == ([(1, 0)], 4)


def test_a_full_output_does_not_keep_tied_rows_in_their_channel(merge: str) -> None:
    worker = Merging(merge=merge, edge_bytes=1)
    unit = worker.unit("merged")
    worker.give("first", (1, 0))
    worker.give("second", (1, 1))
    worker.promise(3, "first")
    worker.promise(3, "second")
    worker.run("merged")
    assert unit.blocked, "the sink takes nothing"
    second = worker.lane(1)
    for number in (2, 3, 4):
        worker.give("second", (3, number))
        worker.run("merged")
        worker.unit("second").unblock()
        assert second.channel.waiting() <= 1
    worker.promise(4, "first")
    worker.promise(4, "second")
    found: list[Sent] = []
    while len(found) < 5:
        found += worker.got()
        worker.unit("second").unblock()
        worker.run("merged")
    assert found == [(1, 0), (1, 1), (3, 2), (3, 3), (3, 4)]


@pytest.mark.parametrize("kind", [FrameKind.BARRIER, FrameKind.END])
def test_a_control_mark_is_left_to_the_loop_and_what_is_before_it_is_not(kind: FrameKind, merge: str) -> None:
    worker = Merging(merge=merge)
    unit = worker.unit("merged")
    for source in ("first", "second"):
        worker.give(source, (1, 0))
        worker.promise(2, source)
        worker.mark(kind, 1, source)
    assert worker.run("merged")[0] <= 2
    assert unit.on_loop
    assert not unit.is_available()
    assert unit.turn(EVERYTHING) == (0, 0)
    while not unit.barrier and unit.task is None and kind is FrameKind.BARRIER:
        unit.step()
        worker.run("merged")
    if kind is FrameKind.BARRIER:
        assert worker.got() == [(1, 0)], "the other one is not ready before the barrier: it is kept with it"
        assert (unit.barrier, unit.on_loop) == (1, False)


@pytest.mark.parametrize("edge_bytes", [1, 4 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_turns_whenever_they_come_give_one_sequence(seed: int, edge_bytes: int, merge: str) -> None:
    worker, dice = Merging(merge=merge, edge_bytes=edge_bytes), Random(seed)
    names = ("first", "second")
    left = {name: sorted((dice.randrange(20), number) for number in range(40)) for name in names}
    expected = [(t, n) for t, _, n in sorted((t, name, n) for name in names for t, n in left[name])]
    found: list[Sent] = []
    while len(found) < len(expected):
        name = dice.choice(names)
        if worker.unit(name).unblock():
            rows, left[name] = left[name][:5], left[name][5:]
            if rows:
                worker.give(name, *rows)
            else:
                worker.promise(20, name)
        if dice.random() < 0.5:
            worker.run("merged")
        if dice.random() < 0.3:
            found += worker.got()
    assert found == expected
