"""Rows that wait for a consumer: batched naturally, never reordered, never overtaken by marks or promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.plan.edge_schemas import EdgeSchemas
from actorstream.runtime.framing import Framing
from actorstream.runtime.output import RoutedEdge
from actorstream.runtime.send_lane import SendLane
from actorstream.transports.base import Channel, FrameKind
from actorstream.transports.local import local_channel


class Row(Event):
    value: int
    text: str


@dataclass
class Bell:
    rung: list[int] = field(default_factory=list)

    def ring(self, bit: int) -> None:
        self.rung.append(bit)


class Bench:
    """A lane with its channel, and the other end of it."""

    def __init__(self, *, batch_size: int = 100, budget: int = 1 << 20, slots: int = 64) -> None:
        self.sender_bell, self.receiver_bell = Bell(), Bell()
        channel = Channel(0, 0, 0, send_bit=1, receive_bit=2, slots=slots, budget=budget)
        send, self.receive = local_channel(channel, self.sender_bell, self.receiver_bell)
        self.blocked: list[SendLane] = []
        self.lane = SendLane(
            send,
            Framing(
                None,
                encodes=False,
                schemas=EdgeSchemas(Schema.of(Row)),
                plan=0,
                producer=7,
                unfit=lambda error: OperatorError("op", 0, str(error)),
            ),
            batch_size=batch_size,
            on_blocked=self.blocked.append,
        )

    def taken(self, most: int = 1 << 30) -> list[Any]:
        """What the consumer takes: lists of values, and kinds of marks with their barrier."""
        found: list[Any] = []
        while len(found) < most and (frame := self.receive.peek()) is not None:
            if frame.kind == FrameKind.DATA:
                assert frame.payload.rows == frame.rows
                found.append(frame.payload["value"].tolist())
            else:
                found.append((FrameKind(frame.kind).name, frame.barrier))
            self.receive.consume()
        return found


def rows(first: int, count: int) -> Batch:
    values = np.arange(first, first + count)
    return Batch.of_columns(Row, {"value": values, "text": [f"text {value}" for value in values.tolist()]})


def test_a_consumer_that_has_nothing_to_do_gets_rows_at_once() -> None:
    bench = Bench()
    bench.lane.push(rows(0, 3))
    assert bench.taken() == [[0, 1, 2]]
    assert bench.receiver_bell.rung == [2]


def test_while_the_consumer_is_busy_rows_gather_up_to_the_batch_size() -> None:
    bench = Bench(batch_size=10)
    for first in range(0, 36, 4):
        bench.lane.push(rows(first, 4))
    assert bench.receive.waiting() > 1
    bench.lane.flush()
    taken = bench.taken()
    assert [value for part in taken for value in part] == list(range(36))
    assert taken[0] == [0, 1, 2, 3]
    assert all(len(part) <= 10 for part in taken)
    assert len(taken) < 9


def test_a_batch_larger_than_the_batch_size_is_cut() -> None:
    bench = Bench(batch_size=10)
    bench.lane.push(rows(0, 35))
    assert [len(part) for part in bench.taken()] == [10, 10, 10, 5]


@pytest.mark.parametrize(("count", "pieces"), [(1000, 1), (1400, 1), (2000, 2), (3000, 3)])
def test_a_batch_is_cut_into_equal_pieces_of_about_a_quarter_of_the_budget(count: int, pieces: int) -> None:
    bench = Bench(batch_size=100_000, budget=64 << 10)
    values = np.arange(count)
    bench.lane.push(Batch.of_columns(Row, {"value": values, "text": ["four"] * count}))  # 16 bytes each
    sizes = []
    while bench.receive.peek() is not None:
        sizes += [len(part) for part in bench.taken(1)]
        bench.lane.flush()
    assert (len(sizes), sum(sizes)) == (pieces, count)
    assert max(sizes) - min(sizes) < pieces


def test_a_jumbo_tuple_is_about_a_quarter_of_the_budget() -> None:
    bench = Bench(batch_size=100_000, budget=64 << 10)
    bench.lane.push(rows(0, 5000))
    sizes = []
    while bench.receive.peek() is not None:
        sizes.extend(bench.taken(1))
        bench.lane.flush()
    assert [value for part in sizes for value in part] == list(range(5000))
    assert len(sizes) >= 4


def test_a_full_channel_blocks_and_credit_rings() -> None:
    bench = Bench(batch_size=1, slots=2)
    for first in range(5):
        bench.lane.push(rows(first, 1))
    assert bench.blocked == [bench.lane]
    assert bench.lane.blocked
    assert bench.receive.waiting() == 2
    assert bench.taken(1) == [[0]]
    assert bench.sender_bell.rung == [1]
    assert not bench.lane.flush(), "two more than there is room for"
    assert bench.taken() == [[1], [2]]
    assert bench.lane.flush()
    assert not bench.lane.blocked
    assert bench.taken() == [[3], [4]]


def test_marks_stay_behind_the_rows_before_them_and_ahead_of_those_after() -> None:
    bench = Bench(batch_size=3, slots=1)
    bench.lane.push(rows(0, 2))
    bench.lane.control(FrameKind.BARRIER, 9)
    bench.lane.push(rows(2, 2))
    bench.lane.control(FrameKind.END, 0)
    found: list[Any] = []
    while (some := bench.taken(1)) or bench.lane.pending or bench.lane.blocked:
        found += some
        bench.lane.flush()
    assert found == [[0, 1], ("BARRIER", 9), [2, 3], ("END", 0)]


def test_a_promise_waits_for_the_rows_before_it() -> None:
    bench = Bench(batch_size=1, slots=1)
    bench.lane.push(rows(0, 1))
    bench.lane.push(rows(1, 1))
    bench.lane.advance(50)
    assert bench.receive.frontier(0) == -(2**63)
    bench.taken()
    assert bench.lane.flush()
    assert bench.receive.frontier(0) == 50
    assert bench.taken() == [[1]]


def test_a_promise_without_rows_is_made_at_once_and_rings() -> None:
    bench = Bench()
    bench.lane.advance(7)
    assert bench.receive.frontier(0) == 7
    assert bench.receiver_bell.rung == [2]


def test_frames_are_numbered_and_keep_entry_times() -> None:
    bench = Bench(batch_size=10)
    sequences = []
    for first in range(6):
        batch = rows(first, 4)
        batch.entry_min, batch.entry_max = 100 + first, 200 + first
        bench.lane.push(batch)
    bench.lane.flush()
    entries = []
    while (frame := bench.receive.peek()) is not None:
        sequences.append(frame.sequence)
        entries.append((frame.min_entry, frame.max_entry))
        assert frame.producer == 7
        assert frame.schema == Schema.of(Row).fingerprint
        bench.receive.consume()
    assert sequences == list(range(len(sequences)))
    assert entries[0] == (100, 200)
    assert entries[1] == (101, 202), "oldest and latest of what was gathered"


def test_rows_that_do_not_fit_are_an_error_of_who_emitted_them() -> None:
    bench = Bench(batch_size=10)
    bench.lane.push(rows(0, 1))
    bench.lane.push(Batch.of_events(Row, ["no event"]))  # type: ignore[list-item]
    bench.lane.push(rows(0, 1))
    with pytest.raises(OperatorError, match="operator 'op'"):
        bench.lane.flush()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(1, 40)),
        st.tuples(st.just("barrier"), st.integers(1, 9)),
        st.tuples(st.just("take"), st.integers(1, 4)),
        st.tuples(st.just("flush"), st.just(0)),
        st.tuples(st.just("advance"), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS, st.integers(1, 50), st.sampled_from([1, 300, 1 << 20]), st.sampled_from([1, 2, 64]))
def test_whatever_happens_everything_arrives_once_and_in_order(
    steps: list[tuple[str, int]], batch_size: int, budget: int, slots: int
) -> None:
    bench = Bench(batch_size=batch_size, budget=budget, slots=slots)
    sent: list[Any] = []
    found: list[Any] = []
    promised = 0
    total = 0

    def take(most: int) -> None:
        for part in bench.taken(most):
            found.extend(part if isinstance(part, list) else [part])
        arrived = sum(not isinstance(each, tuple) for each in found)
        waiting = sum(frame.rows for frame in list(bench.receive._frames))
        assert bench.receive.frontier(0) <= arrived + waiting, "a promise overtook a row"

    for step, number in steps:
        if step == "push":
            bench.lane.push(rows(total, number))
            sent.extend(range(total, total + number))
            total += number
        elif step == "barrier":
            bench.lane.control(FrameKind.BARRIER, number)
            sent.append(("BARRIER", number))
        elif step == "take":
            take(number)
        elif step == "advance":
            promised = total
            bench.lane.advance(promised)
        elif not bench.lane.blocked:
            bench.lane.flush()
    bench.lane.control(FrameKind.END, 0)
    sent.append(("END", 0))
    for _ in range(10_000):
        take(1 << 30)
        if found == sent:
            break
        assert bench.lane.flush() or bench.receive.waiting()
    assert found == sent
    if promised:
        assert bench.receive.frontier(0) == promised


def test_a_full_lane_of_an_edge_keeps_nothing_back_on_the_others() -> None:
    open_lane, full = Bench(batch_size=10), Bench(batch_size=1, slots=1)
    edge = RoutedEdge(lambda batch: [(0, batch), (1, batch)], [open_lane.lane, full.lane])
    for first in range(3):
        edge.push(rows(first, 1))
    assert full.lane.blocked
    assert open_lane.lane.flush()
    assert [value for part in open_lane.taken() for value in part] == [0, 1, 2]
    assert full.taken() == [[0]]
    for bench in (open_lane, full):
        bench.lane.control(FrameKind.END, 0)
    edge.advance(5)
    assert open_lane.taken() == [("END", 0)]
    assert open_lane.receive.frontier(0) == 5
    assert full.receive.frontier(0) == -(2**63)


def test_a_lane_of_runs_hands_over_every_row_by_itself_and_encodes_them_together() -> None:
    bench = Bench(batch_size=1, slots=1000)
    bench.lane.runs = True
    bench.lane.push(rows(0, 1))
    bench.lane.push(rows(1, 300))
    bench.lane.control(FrameKind.BARRIER, 5)
    frames = []
    while (frame := bench.receive.peek()) is not None:
        frames.append(frame)
        bench.receive.consume()
    assert [frame.rows for frame in frames] == [1] * 301 + [0]
    assert [frame.sequence for frame in frames] == list(range(302))
    assert [frame.first for frame in frames[:301]] == list(range(301))
    assert len({id(frame.payload) for frame in frames[:301]}) == 1
    assert frames[1].payload["value"].tolist() == list(range(301))
    assert frames[-1].barrier == 5


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 8), st.integers(1, 5), st.booleans())
def test_runs_lose_and_reorder_nothing_however_little_the_channel_takes(
    sizes: list[int], slots: int, batch_size: int, tight: bool
) -> None:
    """The consumer takes whole runs; a promise comes behind the rows before it."""
    bench = Bench(batch_size=batch_size, slots=slots, budget=100 if tight else 1 << 20)
    lane, receive = bench.lane, bench.receive
    lane.runs = True
    first, found = 0, []

    def take() -> None:
        while (frame := receive.peek()) is not None and frame.kind == FrameKind.DATA:
            assert frame.rows <= batch_size
            count, several = receive.run(3)
            found.extend(frame.payload["value"].tolist()[frame.first : frame.first + several])
            receive.consume_run(count)

    for size in sizes:
        lane.push(rows(first, size))
        first += size
        lane.advance(first)
        if size % 2:
            lane.flush()
        while lane.blocked:
            assert receive.frontier() < first
            take()
            lane.flush()
    lane.flush()
    lane.control(FrameKind.END, 0)
    while lane.blocked:
        take()
        lane.flush()
    take()
    assert found == list(range(first))
    assert (frame := receive.peek()) is not None and frame.kind == FrameKind.END
    assert not first or receive.frontier() == first
