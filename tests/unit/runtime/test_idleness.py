"""Idle lanes are left out of the least promise, and what comes by them afterwards is known to be behind."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.plan.channels import IDLE_WORD
from actorstream.runtime.idleness import Idleness
from actorstream.runtime.lanes import InLane
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Channel, Frame
from actorstream.transports.local import LocalSendChannel, local_channel


class Row(Event):
    __event_time__: ClassVar[str] = "time"

    time: int


class Bell:
    def ring(self, bit: int) -> None:
        """Nobody sleeps here."""


class Told:
    """What a unit is told to tell its consumers."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def tell_idle(self, count: int) -> None:
        self.counts.append(count)


class Bench:
    """The lanes of a unit, and their other ends."""

    def __init__(self, lanes: int) -> None:
        self.ends: list[LocalSendChannel] = []
        self.lanes: list[InLane] = []
        self.told = Told()
        for number in range(lanes):
            channel = Channel(number, 0, 0, send_bit=0, receive_bit=1, frontiers=IDLE_WORD + 1)
            send, receive = local_channel(channel, Bell(), Bell())
            self.ends.append(send)
            self.lanes.append(InLane(number, "rows", receive, lambda frame: frame.payload, idles=True))
        ports: Any = self.told
        self.idleness = Idleness(self.lanes, ports)

    def promise(self, *promises: int) -> None:
        for end, promise in zip(self.ends, promises):
            end.advance(0, promise)

    def idle(self, *counts: int) -> None:
        for end, count in zip(self.ends, counts):
            end.advance(IDLE_WORD, count)

    def reach(self, reached: int = FRONTIER_MIN) -> int:
        frontier = self.idleness.frontier(reached)
        self.idleness.reach(frontier)
        return frontier

    def taken(self, lane: int, times: list[int], **system: Any) -> Any:
        """The watermarks of rows with these times that come by a lane; None: they have none."""
        batch = Batch.of_columns(Row, {"time": np.array(times, np.int64)})
        if system:
            batch = batch.with_system(**{name: np.array(values, np.int64) for name, values in system.items()})
        self.ends[lane].send_nowait(Frame.data(batch, batch.rows, 0, 0, 0, 0, 0, 0))
        frame = self.lanes[lane].head()
        assert frame is not None
        found = self.idleness.took(self.lanes[lane], self.lanes[lane].decode(frame)).system.get("_watermark")
        self.lanes[lane].consume()
        return None if found is None else found.data.tolist()


def test_the_least_promise_is_that_of_the_lanes_that_are_not_idle() -> None:
    bench = Bench(3)
    bench.promise(50, 10, 70)
    assert bench.reach() == 10
    bench.idle(0, 1, 0)
    assert bench.reach() == 50
    bench.idle(0, 2, 0)
    assert bench.idleness.frontier(50) == 10, (
        "so the unit's frontier does not rise until this lane has caught up"
    )


def test_if_all_lanes_are_idle_nothing_goes_beyond_what_all_have_promised() -> None:
    bench = Bench(2)
    bench.promise(50, 10)
    bench.idle(1, 1)
    assert bench.reach() == 10


def test_what_ended_counts_with_its_last_promise_once_all_others_are_idle() -> None:
    """Not with the end of time, or all that the others ever send would be late."""
    bench = Bench(2)
    bench.promise(50, 10)
    bench.lanes[0].ended = True
    assert bench.reach() == 10
    bench.idle(0, 1)
    assert bench.reach() == 50
    bench.lanes[1].ended = True
    assert bench.reach(50) == FRONTIER_END


def test_the_last_promise_before_the_end_of_all_lanes_is_made_first() -> None:
    bench = Bench(2)
    bench.promise(50, 70)
    for lane in bench.lanes:
        lane.ended = True
    assert (bench.reach(10), bench.reach(70)) == (70, FRONTIER_END)


def test_rows_below_what_was_reached_without_their_lane_carry_it() -> None:
    bench = Bench(2)
    bench.promise(50, 10)
    assert bench.taken(1, [11, 60]) is None
    bench.idle(0, 1)
    bench.reach()
    bench.idle(0, 2)
    assert bench.taken(0, [51]) is None, "the busy lane's rows stay as they are"
    assert bench.taken(1, [11, 60]) == [50, FRONTIER_MIN]
    assert bench.taken(1, [50, 60]) is None
    assert bench.taken(1, [11, 12, 60], _watermark=[FRONTIER_MIN, 55, 61]) == [50, 55, 61]


def test_once_the_lane_has_caught_up_its_rows_are_as_they_were() -> None:
    bench = Bench(2)
    bench.promise(50, 10)
    bench.idle(0, 1)
    bench.reach()
    bench.idle(0, 2)
    bench.promise(80, 60)
    assert bench.reach() == 60
    assert bench.taken(1, [11]) is None, "that it is out of order is its source's to say"


def test_a_unit_is_idle_when_all_its_lanes_are_and_their_rows_were_taken() -> None:
    bench = Bench(2)
    bench.idle(1, 0)
    bench.idleness.rest()
    assert bench.told.counts == []
    bench.idle(1, 1)
    bench.ends[0].send_nowait(Frame.data(None, 1, 0, 0, 0, 0, 0, 0))
    bench.idleness.rest()
    assert bench.told.counts == [], "a row waits"
    bench.lanes[0].consume()
    bench.idleness.rest()
    bench.idleness.rest()
    assert bench.told.counts == [1]


@pytest.mark.parametrize("by_row", [False, True])
def test_a_unit_wakes_with_the_first_of_its_lanes_and_before_its_rows(by_row: bool) -> None:
    bench = Bench(2)
    bench.idle(1, 1)
    bench.idleness.rest()
    bench.idle(1, 2)
    if by_row:
        bench.taken(1, [5])
    else:
        bench.reach()
    assert bench.told.counts == [1, 2]
    bench.reach()
    assert bench.told.counts == [1, 2]


def test_a_unit_whose_lanes_have_ended_is_not_idle() -> None:
    bench = Bench(2)
    bench.lanes[0].ended = bench.lanes[1].ended = True
    bench.idleness.rest()
    assert bench.told.counts == []
    bench.lanes[1].ended = False
    bench.idle(0, 1)
    bench.idleness.rest()
    assert bench.told.counts == [1], "what has ended holds nobody up"
