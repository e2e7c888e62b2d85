"""The sequential reference: one order of all events, and what the program puts out in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec
import pytest

from actorstream import Batch, Event, EventTime
from actorstream.dgs import Program, Tag, Tick, every
from actorstream.dgs.outputs import Output
from actorstream.dgs.sequential import InputStream, SequentialRun, event_time, merged, run_sequentially
from actorstream.errors import DataError, SchemaError
from actorstream.events.event import EventDatetime
from tests.unit.dgs.test_program import KeyedCounters, Operation, Read


class Value(Event, event_time="ts", time_unit="s"):
    ts: int
    value: int


class Sum(Event):
    ts: int
    sum: int


class Sums(Program):
    """The sum of the values since the last tick, at each tick and at the end."""

    class State(msgspec.Struct):
        sum: int = 0
        last: int = 0
        batches: int = 0

    outputs: ClassVar = {"default": Sum, "last": Sum}
    tags: ClassVar = {"values": "value", "others": "value", "tick": every("10s")}

    def update(self, state: State, event: Value | Tick, tag: Tag) -> Sum | None:
        if isinstance(event, Tick):
            found = Sum(event.time, state.sum)
            state.sum = 0
            return found
        state.sum += event.value
        state.last = event.ts
        return None

    def update_batch(self, state: State, batch: Batch, tag: Tag) -> Any:
        state.sum += int(batch["value"].sum())
        state.last = int(batch["ts"][-1])
        state.batches += 1

    def end(self, state: State) -> None:
        self.emit(Sum(state.last, state.sum), to="last")


def values(*times: int) -> list[Value]:
    return [Value(ts, 1) for ts in times]


def test_the_papers_example_gives_what_the_paper_says() -> None:
    events = [Operation(ts, op, 1) for ts, op in enumerate("iirir")]
    found = list(run_sequentially(KeyedCounters(), [InputStream("events", events)]))
    assert found == [Output("default", Read(1, 2, 2)), Output("default", Read(1, 4, 1))]


def test_events_are_ordered_by_time_then_stream_then_position() -> None:
    streams = [InputStream("values", values(5, 5, 7)), InputStream("others", values(4, 5, 7))]
    found = [(each.time, each.rank, each.position) for each in merged(Sums(), streams)]
    assert found == [(4, 1, 0), (5, 0, 0), (5, 0, 1), (5, 1, 1), (7, 0, 2), (7, 1, 2)]


def test_ticks_lie_between_the_first_and_the_last_row_also_where_no_stream_has_any() -> None:
    streams = [InputStream("values", values(5, 7)), InputStream("others", values(25, 30))]
    ticks = [each.time for each in merged(Sums(), streams) if each.rank < 0]
    assert ticks == [10, 20, 30]


def test_ticks_come_once_from_whichever_streams_and_before_what_is_at_their_time() -> None:
    streams = [InputStream("values", values(5, 20)), InputStream("others", values(11, 31))]
    found = list(run_sequentially(Sums(), streams))
    assert found == [
        Output("default", Sum(10, 1)),
        Output("default", Sum(20, 1)),
        Output("default", Sum(30, 1)),
        Output("last", Sum(31, 1)),
    ]


def test_no_event_and_no_tick_lies_in_an_empty_input() -> None:
    assert merged(Sums(), [InputStream("values"), InputStream("others", values(5))])[0].time == 5
    assert list(run_sequentially(Sums(), [InputStream("values")])) == [Output("last", Sum(0, 0))]


def test_batches_give_the_same() -> None:
    streams = [InputStream("values", values(5, 6, 20)), InputStream("others", values(11, 31))]
    assert list(run_sequentially(Sums(), streams, batches=True)) == list(run_sequentially(Sums(), streams))
    run = SequentialRun(Sums())
    assert run.update_batch(values(1, 2, 3), Tag("value")) == []
    assert run.state == Sums.State(3, 3, 1)


def test_a_stream_whose_times_decrease_names_the_two_rows() -> None:
    with pytest.raises(DataError, match="'values': row 2 has time 6, row 1 7"):
        merged(Sums(), [InputStream("values", values(5, 7, 6))])


def test_a_datetime_is_a_time_in_microseconds() -> None:
    class At(Event):
        at: EventDatetime

    class Timed(Event):
        ts: EventTime

    assert event_time(At(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))) == 1_000_000
    assert event_time(Timed(7)) == 7
    with pytest.raises(DataError, match="Sum has no event time"):
        event_time(Sum(1, 2))


def test_a_state_that_is_returned_is_an_error() -> None:
    class Returning(KeyedCounters):
        def update(self, state: Any, event: Operation, tag: Tag) -> Any:
            return state

    with pytest.raises(SchemaError, match="changed in place"):
        SequentialRun(Returning()).update(Operation(1, "i", 1), Tag("increment", 1))


def test_an_output_that_the_program_does_not_declare_is_refused_as_in_a_run() -> None:
    class Strays(Sums):
        def end(self, state: Any) -> None:
            self.emit(Sum(0, 0), to="lost")

    run = SequentialRun(Strays())
    with pytest.raises(
        SchemaError, match=r"Strays emitted to output 'lost', .* are 'default', 'last'.*declare it"
    ):
        run.end()
