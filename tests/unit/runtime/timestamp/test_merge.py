"""A merge for one reader or several, which read whenever they like and get one sequence each; and its ready rows against their
definition."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.native.scalegate import ScaleGate
from actorstream.plan.channels import IDLE_WORD
from actorstream.runtime.inbox import Step
from actorstream.runtime.timestamp.merge import MergeReader
from actorstream.runtime.timestamp.merged_runs import RUNS
from actorstream.runtime.unit import Status
from actorstream.topology.builder import Topology
from actorstream.transports.base import FrameKind
from tests.conformance.frames import data, mark
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import PooledTicks, Ticks
from tests.unit.runtime.timestamp.merged import Late, Merged
from tests.unit.runtime.timestamp.timed_worker import Sent, TimedWorker

READERS = 3
ALONE = 1
"""A gate of its own."""
HOW_MANY = pytest.mark.parametrize("readers", [ALONE, READERS])


class Gated(TimedWorker):
    """first, second -> readers, which all get all rows -> out, a replica each."""

    def __init__(self, readers: int = READERS, **deploy: Any) -> None:
        topology = Topology("gated")
        first, second = (topology.source(Ticks, name=name, count=0) for name in ("first", "second"))
        read, other = (each.broadcast().ordered("timestamp") for each in (first, second))
        merged = read.through(PooledTicks, other, name="reader", replicas=readers)
        merged.forward().into(Collect, name="out", replicas=readers)
        super().__init__(topology, **{"merge": "gate", **deploy})
        self.readers = [self.unit("reader", number) for number in range(readers)]
        rows = self.readers[0].inbox.rows
        assert isinstance(rows, MergeReader)
        self.merge = rows.merge

    def got(self, number: int) -> list[Sent]:
        """Takes what waits behind a reader."""
        return self.taken(self.unit("out", number))


def sequences(seed: int, count: int) -> tuple[dict[str, list[Sent]], list[Sent]]:
    """Rows of each source, with many ties, and of both in order."""
    dice = Random(seed)
    given = {
        name: sorted((dice.randrange(count // 4), number) for number in range(count))
        for name in ("first", "second")
    }
    expected = sorted((t, name, n) for name, rows in given.items() for t, n in rows)
    return given, [(t, n) for t, _, n in expected]


@HOW_MANY
def test_all_readers_get_what_is_ready_and_the_same_batches(readers: int) -> None:
    worker = Gated(readers)
    worker.give("first", (1, 0), (5, 1))
    worker.give("second", (2, 2), (7, 3))
    for number in range(readers):
        worker.run("reader", number)
        assert worker.got(number) == [(1, 0), (2, 2), (5, 1)]
    worker.promise(8, "first")
    for number in range(readers):
        worker.run("reader", number)
        assert worker.got(number) == [(7, 3)]
    assert worker.merge.runs._made.keys() <= {2}, "nobody needs any more what was made for the first"


def test_the_slowest_reader_holds_the_sources_back_and_nobody_else_does() -> None:
    worker = Gated(batch_size=1, edge_bytes=1)
    worker.promise(100, "second")
    worker.give("first", (1, 0))
    worker.give("first", (2, 1))
    assert worker.unit("first").blocked
    for number in (0, 1):
        worker.run("reader", number)
        assert worker.got(number) == [(1, 0)]
    assert not worker.unit("first").unblock()
    worker.run("reader", 2)
    assert worker.unit("first").unblock()


@HOW_MANY
def test_a_reader_whose_output_is_full_promises_the_time_of_its_last_row_once_all_sources_have_ended(
    readers: int,
) -> None:
    """Another lane of its consumer may wait for that promise (invariant T4 of docs/ordering.md)."""
    worker = Gated(readers, batch_size=4, edge_bytes=300)
    worker.mark(FrameKind.END, 0, "second")
    worker.give("first", *((time, 0) for time in range(4)))
    for number in range(readers):
        worker.run("reader", number)
    worker.give("first", *((time, 0) for time in range(4, 8)))
    worker.mark(FrameKind.END, 0, "first")
    assert not worker.unit("first").blocked
    for unit in worker.readers:
        assert unit.step() is Status.BLOCKED
        assert unit.inbox.rows.frontier == 7


@HOW_MANY
def test_tied_rows_leave_their_channel_beyond_what_the_gate_has_room_for(readers: int) -> None:
    worker = Gated(readers, batch_size=1, edge_bytes=1)
    worker.give("first", (1, 0))
    worker.promise(3, "first")
    rows = [(3, number) for number in range(2 * RUNS)]
    for each in rows:
        worker.give("second", each)
        worker.run("reader")
        assert worker.unit("second").unblock()
    source = worker.merge.lanes[1]
    assert (source.lane.channel.waiting(), worker.merge.runs.inside(1)) == (0, RUNS)
    assert len(source.runs) == 2 * RUNS, "what the gate has no room for waits before it"
    worker.promise(4, "first")
    worker.promise(4, "second")
    found: list[list[Sent]] = [[] for _ in range(readers)]
    while min(map(len, found)) < 1 + len(rows):
        for number, own in enumerate(found):
            worker.run("reader", number)
            own += worker.got(number)
    assert found == [[(1, 0), *rows]] * readers


@pytest.mark.parametrize("edge_bytes", [1, 4 << 20])
@pytest.mark.parametrize("seed", range(3))
@HOW_MANY
def test_turns_whenever_they_come_give_every_reader_one_sequence(
    readers: int, seed: int, edge_bytes: int
) -> None:
    worker, dice = Gated(readers, edge_bytes=edge_bytes), Random(seed)
    left, expected = sequences(seed, 60)
    found: list[list[Sent]] = [[] for _ in range(readers)]
    while any(len(own) < len(expected) for own in found):
        name = dice.choice(["first", "second"])
        if worker.unit(name).unblock():
            rows, left[name] = left[name][:5], left[name][5:]
            if rows:
                worker.give(name, *rows)
            else:
                worker.promise(1000, name)
        number = dice.randrange(readers)
        worker.run("reader", number)
        if dice.random() < 0.5:
            found[number] += worker.got(number)
    assert found == [expected] * readers


def test_a_barrier_lets_nothing_in_until_all_readers_have_passed_it() -> None:
    worker = Gated()
    for source in ("first", "second"):
        worker.give(source, (1, 0), (4, 1))
        worker.promise(4, source)
        worker.mark(FrameKind.BARRIER, 1, source)
        worker.give(source, (6, 2))
    saved = []
    for number, unit in enumerate(worker.readers):
        while not unit.barrier:
            assert unit.step() is not Status.DONE
        before = worker.got(number)
        assert before == [(1, 0), (1, 0), (4, 1)], "the other row at 4 waits for what may come at its time"
        (lane,) = worker.unit("out", number).in_lanes
        assert lane.channel.peek().kind == FrameKind.BARRIER
        lane.channel.consume()
        if number < READERS - 1:
            saved.append(worker.merge.snapshot())
            assert worker.merge.passing == set(range(number + 1, READERS))
            worker.run("reader", number)
            assert worker.got(number) == []
    assert all(each == saved[0] for each in saved)
    assert [(name, replica, len(rows)) for name, replica, rows in saved[0]] == [
        ("first", 0, 0),
        ("second", 0, 1),
    ]
    for source in ("first", "second"):
        worker.promise(9, source)
    for number in range(READERS):
        worker.run("reader", number)
        assert worker.got(number) == [(4, 1), (6, 2), (6, 2)]


SCRIPT: list[tuple[str, list[Sent]]] = [
    ("first", [(1, 0), (3, 1)]),
    ("second", [(2, 2), (3, 3)]),
    ("second", [(3, 4), (5, 5)]),
    ("first", [(3, 6), (4, 7), (9, 8)]),
    ("second", [(9, 9)]),
    ("first", [(9, 10), (12, 11)]),
    ("second", [(11, 12)]),
]


@HOW_MANY
@pytest.mark.parametrize("cut", range(len(SCRIPT) + 1))
def test_a_barrier_at_any_step_cuts_what_was_given_and_leaves_the_sequence_as_it_is(
    cut: int, readers: int
) -> None:
    worker = Gated(readers)
    found: list[list[Sent]] = [[] for _ in range(readers)]
    kept: list[list[Sent]] = [[] for _ in range(readers)]

    def turns() -> None:
        for number, own in enumerate(found):
            worker.run("reader", number)
            own += worker.got(number)
            (lane,) = worker.unit("out", number).in_lanes
            if (frame := lane.channel.peek()) is not None and frame.kind == FrameKind.BARRIER:
                lane.channel.consume()
                kept[number] = sorted(own)

    for step, (source, rows) in enumerate(SCRIPT):
        if step == cut:
            for name in ("second", "first"):
                worker.mark(FrameKind.BARRIER, 1, name)
            turns()
        worker.give(source, *rows)
        turns()
    for name in ("first", "second"):
        worker.promise(100, name)
    turns()
    turns()
    given = [(t, name, n) for name, rows in SCRIPT for t, n in rows]
    assert found == [[(t, n) for t, _, n in sorted(given)]] * readers
    before = sorted(row for _, rows in SCRIPT[:cut] for row in rows)
    if cut < len(SCRIPT):
        assert [unit.barrier for unit in worker.readers] == [1] * readers
        assert all(set(own) <= set(before) for own in kept)


@given(
    sizes=st.lists(st.integers(0, 12), min_size=2, max_size=5),
    times=st.lists(st.integers(0, 6), min_size=1, max_size=20),
    ranks=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    steps=st.lists(
        st.tuples(st.sampled_from(["arrive", "promise", "drain"]), st.integers(0, 4), st.integers(1, 5)),
        max_size=80,
    ),
)
def test_whatever_the_interleaving_the_ready_rows_are_those_of_the_definition(
    sizes: list[int], times: list[int], ranks: list[int], steps: list[tuple[str, int, int]]
) -> None:
    lanes, number = [], 0
    for lane, size in enumerate(sizes):
        own = sorted(times[(number + n) % len(times)] for n in range(size))
        lanes.append([(time, ranks[lane], number + n, lane) for n, time in enumerate(own)])
        number += size
    merged = Merged(lanes, ranks[: len(lanes)])
    expected = sorted(row for rows in lanes for row in rows)
    for step, at, rows in steps:
        if step == "arrive":
            merged.arrive(at % len(lanes), rows)
        elif step == "promise":
            merged.promise(at % len(lanes))
        else:
            merged.drain()
            assert merged.out == merged.ready()
            reached, rest = merged.reader.reached(), expected[len(merged.out) :]
            assert not rest or reached <= rest[0][0]
    for lane in range(len(lanes)):
        while not merged.ended[lane]:
            merged.arrive(lane, 3)
    assert merged.drain() is Step.END
    assert merged.out == expected
    assert not any(channel.frames for channel in merged.channels), "all room went back to the senders"


def test_times_that_descend_on_a_lane_are_refused() -> None:
    merged = Merged([[], []], [0, 1])
    merged.channels[0].frames += [data((5, 0)), data((4, 1))]
    with pytest.raises(ValueError, match="from 4 on"):
        merged.drain()


def test_a_lane_that_waits_for_a_barrier_promises_what_it_had_promised_before() -> None:
    merged = Merged([[], [(4, 0, 0, 1), (9, 0, 1, 1)]], [0, 0])
    merged.channels[0].words[0] = 5
    merged.drain()
    merged.channels[0].frames.append(mark(FrameKind.BARRIER, 1))
    merged.drain()
    merged.channels[0].words[0] = 100
    for _ in range(2):
        merged.arrive(1, 1)
        merged.drain()
    assert [row[0] for row in merged.out] == [4]
    assert not merged.channels[1].frames, "what comes before the barrier is taken in on the other lanes"


def test_rows_later_than_what_is_waited_on_stay_in_their_channel() -> None:
    merged = Merged([[(time, 0, time, 0) for time in (5, 6, 7)], []], [1, 0])
    for _ in range(3):
        merged.arrive(0, 1)
    merged.drain()
    assert (merged.out, len(merged.channels[0].frames)) == ([], 3)


def test_rows_that_are_tied_with_what_is_waited_on_leave_their_channel() -> None:
    merged = Merged([[(5, 1, number, 0) for number in range(3)], []], [1, 0])
    for _ in range(3):
        merged.arrive(0, 1)
    merged.drain()
    assert (merged.out, len(merged.channels[0].frames)) == ([], 0)


def test_the_gate_is_looked_at_if_something_has_come_and_not_else(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    look = ScaleGate.look
    monkeypatch.setattr(ScaleGate, "look", lambda gate: looks.append(1) or look(gate))
    merged = Merged([[(time, 0, time, 0) for time in (5, 7)], [(6, 1, 6, 1)]], [0, 1])

    def looked(*arrive: int) -> bool:
        before = len(looks)
        for lane in arrive:
            merged.arrive(lane, 1)
        merged.drain()
        return len(looks) > before

    assert looked()
    assert not looked()
    assert looked(0)
    assert not looked()
    merged.promise(1)
    assert looked()
    assert (not looked(), [row[0] for row in merged.out]) == (True, [5])
    assert looked(1, 0)
    assert (not looked(), [row[0] for row in merged.out]) == (True, [5, 6])
    assert looked(1, 0)  # the ends
    assert [row[0] for row in merged.out] == [5, 6, 7]


def test_what_an_idle_lane_brings_too_late_is_late_in_the_run_that_goes_on_as_well() -> None:
    first = Merged([[(90, 0, 0, 0), (100, 0, 1, 0)], []], [0, 1], Late())
    first.channels[1].words[IDLE_WORD] = 1
    first.arrive(0, 2)
    first.promise(0)
    first.drain()
    assert [number for _, _, number, _ in first.out] == [0, 1]

    late = Late()
    again = Merged([[(110, 0, 2, 0)], [(50, 1, 3, 1), (105, 1, 4, 1)]], [0, 1], late)
    again.inbox.restore(first.inbox.snapshot())
    again.arrive(1, 2)
    again.arrive(0, 1)
    for lane in (0, 1):
        again.arrive(lane, 1)  # its end
    again.drain()
    assert late.numbers == [3]
    assert [number for _, _, number, _ in again.out] == [4, 2]
