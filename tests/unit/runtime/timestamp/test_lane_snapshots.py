"""Rows that wait in a gate when a barrier comes: a gate that takes them back goes on with the same sequence."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.saved import saved_rows
from actorstream.events.schema import Schema
from actorstream.ordering.timestamp import TimestampGate
from actorstream.runtime.lanes import InLane
from actorstream.runtime.timestamp.lane_rows import LaneRows, RowOrder, times_of
from actorstream.runtime.timestamp.lane_snapshots import restore_lanes, snapshot_lanes
from actorstream.runtime.timestamp.spill import Spill
from actorstream.transports.base import Channel as Ends
from actorstream.transports.base import Frame, FrameKind, ReceiveChannel


class At(Event):
    __event_time__: ClassVar[str] = "t"

    t: int
    lane: int
    n: int


class Channel(ReceiveChannel):
    """The receiving end of a channel whose frames have all arrived, up to `limit`."""

    channel = Ends(0, 0, 0, 0, 0)

    def __init__(self, batches: list[Batch]) -> None:
        self.frames = deque(
            Frame(FrameKind.DATA, rows=batch.rows, nbytes=batch.nbytes, payload=batch) for batch in batches
        )
        self.bound = -(2**63)

    def peek(self, ahead: int = 0) -> Frame | None:
        return self.frames[ahead] if len(self.frames) > ahead else None

    def consume(self) -> None:
        self.frames.popleft()

    def frontier(self, word: int = 0) -> int:
        return self.bound

    def waiting(self) -> int:
        return len(self.frames)

    def statistics(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        """Nothing is open."""


def lanes_of(channels: list[Channel]) -> list[LaneRows]:
    return [
        LaneRows(
            InLane(index, "rows", channel, lambda frame: frame.payload),
            RowOrder(rank=index % 2, replica=index, columns=("_position",)),
            Spill("rows"),
        )
        for index, channel in enumerate(channels)
    ]


def gate_of(lanes: list[LaneRows]) -> TimestampGate:
    return TimestampGate(lanes, [lane.order.rank for lane in lanes], 1)


def take_in(lanes: list[LaneRows], gate: TimestampGate, most: int) -> None:
    """Takes in up to so many frames of each lane, whether the gate asks for them or not."""
    for lane in lanes:
        for _ in range(most):
            if lane.head() is not None:
                batch = lane.take_in()
                gate.put(lane.index, times_of(batch), lane.order.ties(batch, 1))


def go(lanes: list[LaneRows], gate: TimestampGate, limit: int) -> list[int]:
    """Lets up to so many rows go: the lane of each."""
    rows, only, tags = gate.ready(limit)
    for lane in lanes:
        if rows and lane.runs and not gate.left(lane.index):
            lane.release()
    return [only] * rows if only is not None else tags.tolist()


def spills(kept: list[Any], most_tied: int) -> bool:
    """Whether not all batches of a lane that were kept wait in memory."""
    sizes = [saved_rows(Schema.of(At), each).nbytes for each in kept]
    return any(sum(sizes[:count]) > most_tied for count in range(1, len(sizes)))


def rows_of(batches: list[Batch]) -> list[tuple[int, ...]]:
    return [row for batch in batches for row in zip(*(batch[name].tolist() for name in ("t", "lane", "n")))]


@given(
    times=st.lists(
        st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=5), max_size=4), min_size=2, max_size=4
    ),
    taken=st.integers(0, 3),
    limits=st.lists(st.integers(1, 7), max_size=4),
    most_tied=st.sampled_from([0, 100, 1 << 20]),
)
def test_a_gate_that_takes_back_what_waited_goes_on_with_the_same_sequence(
    times: list[list[list[int]]], taken: int, limits: list[int], most_tied: int
) -> None:
    channels = []
    for lane, frames in enumerate(times):
        ordered = sorted(time for frame in frames for time in frame)
        made, first = [], 0
        for frame in frames:
            end = first + len(frame)
            columns = {
                "t": ordered[first:end],
                "lane": [lane] * len(frame),
                "n": list(range(first, end)),
            }
            places = np.arange(first, end) * 4 + lane  # no two rows of one rank share one
            made.append(Batch.of_columns(At, columns).with_system(_position=places))
            first = end
        channels.append(Channel(made))
    whole = [rows_of([frame.payload for frame in channel.frames]) for channel in channels]
    lanes = lanes_of(channels)
    gate = gate_of(lanes)
    take_in(lanes, gate, taken)
    for channel in channels:
        channel.bound = 3
    gone: list[int] = []
    for limit in limits:
        gate.refresh()
        gone += go(lanes, gate, limit)

    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot_lanes(lanes, gate)))
    waited = [
        sum(len(frame) for frame in frames[:taken]) - gone.count(lane) for lane, frames in enumerate(times)
    ]
    fresh = lanes_of([Channel([frame.payload for frame in channel.frames]) for channel in channels])
    for lane, old in zip(fresh, lanes):
        # frames whose rows wait may still be in the channel; a producer does not send them again
        lane.lane.consume_run(old.open)
    again = gate_of(fresh)
    restore_lanes(fresh, again, {"rows": Schema.of(At)}, most_tied, kept)
    assert snapshot_lanes(fresh, again) == snapshot_lanes(lanes, gate)
    assert any(lane.spill for lane in fresh) == any(spills(rows, most_tied) for _, _, rows in kept)
    for lane, rows in zip(fresh, whole):
        first = gone.count(lane.index)
        here = [
            *(run.batch for run in lane.runs),
            *(saved_rows(Schema.of(At), each) for each in lane.spill.saved()),
        ]
        assert rows_of(here) == rows[first : first + waited[lane.index]]
    while any(lane.head() is not None for lane in fresh) or any(lane.runs for lane in fresh):
        for lane in fresh:
            if not lane.runs or not lane.spill:  # what comes behind spilled rows stays in its channel
                take_in([lane], again, 1)
            lane.lane.ended = lane.head() is None and not lane.spill
        gone += go(fresh, again, 3)
    cursors = [iter(rows) for rows in whole]
    order = [next(cursors[lane]) for lane in gone]
    expected = sorted(
        (row for rows in whole for row in rows), key=lambda row: (row[0], row[1] % 2, row[2] * 4 + row[1])
    )
    assert order == expected
