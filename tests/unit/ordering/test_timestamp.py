"""The gate of timestamp order: random streams with ties, idle and ending lanes, in random interleavings, against a model
that knows all rows; and the ready set against its definition."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.ordering.timestamp import TimestampGate

END = 2**63 - 1
NOTHING = -(2**63)
Row = tuple[int, int, int, int]  # time, rank, tie, lane


@dataclass
class ModelLane:
    """A channel that brings runs of rows; `promised` what its producer has said, which never passes what it sends."""

    index: int
    rank: int
    runs: deque[list[Row]] = field(default_factory=deque)
    arrived: deque[list[Row]] = field(default_factory=deque)
    promised: int = NOTHING
    ended: bool = False
    held: bool = False
    is_idle: bool = False

    def head(self) -> Any | None:
        return self.arrived[0] if self.arrived else None

    def frontier(self) -> int:
        return END if self.is_idle or self.ended else self.promised


class Reader:
    """Whoever owns the lanes: takes in what the gate wants, and takes what is ready."""

    def __init__(self, lanes: list[ModelLane], limit: int) -> None:
        self.lanes, self.limit = lanes, limit
        self.gate = TimestampGate(lanes, [lane.rank for lane in lanes], ties=1)
        self.rows: list[deque[Row]] = [deque() for _ in lanes]
        self.out: list[Row] = []

    def drain(self) -> None:
        while True:
            lane = self.gate.next()
            if lane is not None:
                run = lane.arrived.popleft()
                self.rows[lane.index].extend(run)
                times, ties = (np.array([row[at] for row in run], np.int64) for at in (0, 2))
                self.gate.put(lane.index, times, [ties])
                continue
            rows, only, tags = self.gate.ready(self.limit)
            for at in [only] * rows if only is not None else tags.tolist():
                self.out.append(self.rows[at].popleft())
            if not rows and self.gate.next() is None:
                return


def streams(sizes: list[int], times: list[int], ranks: list[int], cuts: list[int]) -> list[ModelLane]:
    """Lanes of sorted rows cut into runs; ties within an input are told apart by a number."""
    found, at = [], 0
    for index, (size, rank) in enumerate(zip(sizes, ranks)):
        own = sorted(times[(at + n) % len(times)] for n in range(size)) if times else []
        rows = [(time, rank, number * 10 + index, index) for number, time in enumerate(own)]
        lane = ModelLane(index, rank)
        while rows:
            cut = 1 + cuts[(at + len(rows)) % len(cuts)]
            lane.runs.append(rows[:cut])
            rows = rows[cut:]
        at += size
        found.append(lane)
    return found


def sorted_ties(lanes: list[ModelLane]) -> None:
    """Ties must ascend where times are equal: numbers do."""
    for lane in lanes:
        rows = [row for run in lane.runs for row in run]
        assert rows == sorted(rows)


LANES = st.integers(1, 5)
STEPS = st.lists(
    st.tuples(st.sampled_from(["arrive", "promise", "end", "drain"]), st.integers(0, 4)), max_size=80
)


def promise_of(lane: ModelLane) -> int:
    """The most that a producer can promise: the time of the row it sends next."""
    return lane.runs[0][0][0] if lane.runs else END


def ready_rows(lanes: list[ModelLane], given: list[Row], came: list[Row]) -> list[Row]:
    """DESIGN's definition: rows, in order, for which every lane of lower or equal rank has promised nothing more at their
    time, and every one of higher rank nothing more below it."""
    found = []
    for row in sorted(came):
        for lane in lanes:
            own = [each for each in came if each[3] == lane.index]
            follows = END if lane.ended else max([lane.frontier(), *(each[0] for each in own)])
            later = [each for each in own if each > row]
            if (
                lane.index == row[3]
                or later
                or follows > row[0]
                or (follows == row[0] and lane.rank > row[1])
            ):
                continue
            return found
        found.append(row)
    assert found[: len(given)] == given
    return found


@given(
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=5),
    times=st.lists(st.integers(0, 6), min_size=1, max_size=20),
    ranks=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    cuts=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    steps=STEPS,
    limit=st.integers(1, 9),
)
def test_whatever_the_interleaving_the_ready_rows_are_those_of_the_definition(
    sizes: list[int],
    times: list[int],
    ranks: list[int],
    cuts: list[int],
    steps: list[tuple[str, int]],
    limit: int,
) -> None:
    lanes = streams(sizes, times, ranks, cuts)
    sorted_ties(lanes)
    expected = sorted(row for lane in lanes for run in lane.runs for row in run)
    reader, came = Reader(lanes, limit), list[Row]()
    for step, number in steps:
        lane = lanes[number % len(lanes)]
        if step == "arrive" and lane.runs:
            came += lane.runs[0]
            lane.arrived.append(lane.runs.popleft())
        elif step == "promise":
            lane.promised = max(lane.promised, promise_of(lane))
        elif step == "end" and not lane.runs and not lane.arrived:
            lane.ended = True
        elif step == "drain":
            reader.drain()
            assert reader.out == ready_rows(lanes, reader.out, came)
            least = [row[0] for row in expected[len(reader.out) :]]
            assert not least or reader.gate.reached() <= least[0]
    for lane in lanes:
        while lane.runs:
            lane.arrived.append(lane.runs.popleft())
    reader.drain()
    for lane in lanes:
        assert not lane.arrived or not lane.ended
        lane.ended = not lane.arrived
    for _ in lanes:
        reader.drain()
        for lane in lanes:
            lane.ended = not lane.arrived
    reader.drain()
    assert reader.out == expected
    assert reader.gate.reached() == END
    assert reader.gate.rows() == 0


def test_an_idle_lane_is_not_waited_for_and_is_again_when_it_wakes() -> None:
    lanes = streams([2, 2], [1, 2], [0, 1], [0])
    reader = Reader(lanes, 8)
    lanes[1].arrived.append(lanes[1].runs.popleft())
    reader.drain()
    assert reader.out == []
    lanes[0].is_idle = True
    reader.drain()
    assert [row[0] for row in reader.out] == [1]
    lanes[0].is_idle = False
    lanes[1].arrived.append(lanes[1].runs.popleft())
    reader.drain()
    assert len(reader.out) == 1


def test_a_lane_that_was_idle_is_waited_for_once_its_first_rows_have_gone() -> None:
    woken = ModelLane(0, 0, deque([[(3, 0, 0, 0)], [(5, 0, 1, 0)]]))
    other = ModelLane(1, 0, deque([[(time, 0, 2, 1) for time in (2, 4, 6)]]))
    reader = Reader([woken, other], 8)
    woken.is_idle = True
    reader.drain()
    woken.is_idle = False
    for lane in (other, woken):
        lane.arrived.append(lane.runs.popleft())
    reader.drain()
    assert [row[0] for row in reader.out] == [2, 3]
    woken.arrived.append(woken.runs.popleft())
    reader.drain()
    assert [row[0] for row in reader.out] == [2, 3, 4, 5]


def test_a_lane_whose_later_rows_have_left_its_channel_already_is_not_asked_for_more() -> None:
    lane = ModelLane(0, 0, deque([[(5, 0, 0, 0)], [(5, 0, 1, 0)], [(6, 0, 2, 0)]]))
    reader = Reader([lane, ModelLane(1, 0)], 8)
    lane.arrived.append(lane.runs.popleft())
    reader.drain()
    assert reader.gate.crowded() == [0]
    reader.gate.passed(0, 5)  # its second run waits elsewhere, tied as well
    assert reader.gate.crowded() == [0]
    reader.gate.passed(0, 6)
    assert reader.gate.crowded() == []


def test_rows_that_are_tied_with_what_is_waited_on_are_wanted_from_behind_their_channel() -> None:
    lanes = streams([3, 1], [5], [1, 0], [0])
    reader = Reader(lanes, 8)
    lanes[0].arrived.extend(lanes[0].runs)
    reader.drain()
    assert reader.out == []
    assert not lanes[0].arrived
    assert reader.gate.crowded() == [0]
    assert reader.gate.rows() == 3


def test_rows_later_than_what_is_waited_on_stay_in_their_channel() -> None:
    lane = ModelLane(0, 0, deque([[(5, 0, 0, 0)], [(6, 0, 1, 0)], [(7, 0, 2, 0)]]))
    other = ModelLane(1, 0)
    reader = Reader([lane, other], 8)
    lane.arrived.extend(lane.runs)
    reader.drain()
    assert [run[0][0] for run in lane.arrived] == [7]
    assert reader.gate.crowded() == []


def test_a_lane_that_waits_for_a_barrier_promises_what_it_had_promised_before() -> None:
    lanes = streams([0, 2], [4, 9], [0, 0], [0])
    reader = Reader(lanes, 8)
    lanes[0].promised = 5
    reader.drain()
    lanes[0].held, lanes[0].promised = True, 100
    lanes[1].arrived.extend(lanes[1].runs)
    reader.drain()
    assert [row[0] for row in reader.out] == [4]
    assert not lanes[1].arrived, "what comes before the barrier is taken in on the other lanes"


def test_times_that_descend_on_a_lane_are_refused() -> None:
    gate = TimestampGate(streams([0], [0], [0], [0]))
    gate.put(0, np.array([5], np.int64))
    with pytest.raises(ValueError, match="lane 0 brings time 4 behind 5"):
        gate.put(0, np.array([4], np.int64))
