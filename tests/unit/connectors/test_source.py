"""Sources that users write: plain and live events, batches, limits, positions, the class of the rows."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from time import time_ns
from typing import Any, ClassVar

import pytest

from actorstream.connectors.event_reader import TAKEN_BYTES
from actorstream.connectors.position import Position
from actorstream.connectors.source import Source
from actorstream.errors import ConfigurationError, SchemaError
from actorstream.events.batch import Batch
from actorstream.events.event import Event, EventTime
from actorstream.events.schema import Schema


class Number(Event):
    value: int


class Other(Event):
    ts: int


class Happened(Event):
    at: EventTime


class Clocked(Source):
    """Event times are those of the wall clock."""

    clocked = True

    async def events(self) -> AsyncIterator[Happened]:
        yield Happened(0)


class Plain(Source):
    def __init__(self, numbers: int = 10) -> None:
        self.numbers = numbers

    def events(self) -> Iterator[Number]:
        for value in range(self.numbers):
            yield Number(value)


class WithCommonKeys(Source):
    def events(self) -> Iterator[Number]:
        yield from (Number(value) for value in range(10))


class Table(Source):
    outputs: ClassVar[dict[str, Any]] = {"default": Number, "other": Other}

    def read(self, max_rows: int) -> Batch | None:
        return None


class Live(Source):
    """Gives what is put into `queue`, until None."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[int | None] = asyncio.Queue()
        self.ended = False

    async def events(self) -> AsyncIterator[Number]:
        try:
            while (value := await self.queue.get()) is not None:
                yield Number(value)
        finally:
            self.ended = True


def drain(source: Source, max_rows: int = 3) -> list[int]:
    found: list[int] = []
    while (batch := source.read(max_rows)) is not None:
        assert isinstance(batch, Batch)
        assert source.row + batch.rows == sum(source.position().values())
        found += batch.column("value").tolist()
    return found


def test_a_source_is_as_short_as_its_events() -> None:
    source = Plain()
    source.open(source.partitions())
    assert drain(source) == list(range(10))
    assert source.position() == {"0": 10}
    assert source.read(5) is None


def test_a_replica_without_the_partition_gives_nothing() -> None:
    source = Plain()
    source.open([])
    assert source.read(5) is None
    assert source.position() == {}


def test_count_and_repeat_hold_for_events_too() -> None:
    for keys, expected in (
        ({"count": 4}, list(range(4))),
        ({"repeat": 2}, list(range(10)) * 2),
        ({"repeat": 0, "count": 25}, (list(range(10)) * 3)[:25]),
        ({"count": 0}, []),
    ):
        source = WithCommonKeys(**keys)
        source.open(source.partitions())
        assert drain(source) == expected


def test_a_source_without_events_that_repeats_for_ever_ends() -> None:
    class Empty(Source):
        def events(self) -> Iterator[Number]:
            yield from ()

    source = Empty(repeat=0)
    source.open(source.partitions())
    assert source.read(5) is None


@pytest.mark.parametrize("position", [0, 1, 9, 10])
def test_seek_starts_again_and_passes_over_what_was_read(position: int) -> None:
    source = WithCommonKeys(repeat=2, count=15)
    source.open(source.partitions())
    source.seek({"0": position})
    assert drain(source) == (list(range(10)) * 2)[position:15]
    assert source.position() == {"0": 15}


def test_the_class_of_the_rows_is_that_of_the_annotation_or_declared() -> None:
    assert Plain.output_types({}, []) == {"default": Number}
    assert Live.output_types({}, []) == {"default": Number}
    assert Table.output_types({}, []) == {"default": Number, "other": Other}
    assert WithCommonKeys.output_types({"event": Other}, []) == {"default": Schema.of(Other)}
    timed = WithCommonKeys.output_types({"event_time": "value", "time_unit": "s"}, [])["default"]
    assert isinstance(timed, Schema) and (timed.event_time, timed.time_unit) == ("value", "s")
    with pytest.raises(ConfigurationError, match="event time of Number is 'nothing'"):
        WithCommonKeys.output_types({"event_time": "nothing"}, [])


def test_the_annotation_of_read_says_the_class_where_it_names_one() -> None:
    class Reader(Source):
        def read(self, max_rows: int) -> Batch | None:
            return None

    assert "default" not in Reader.output_types({}, [])


def test_an_event_class_is_found_by_name() -> None:
    name = f"{__name__}:Number"
    import sys

    sys.modules[__name__] = sys.modules.get(__name__) or inspect.getmodule(Number)  # type: ignore[assignment]
    if sys.modules.get(__name__) is not None:
        assert WithCommonKeys.output_types({"event": name}, []) == {"default": Schema.of(Number)}
    with pytest.raises(ConfigurationError, match="did you mean 'JSONDecoder'"):
        WithCommonKeys.output_types({"event": "json:JSONDecodr"}, [])


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ({"rate": -1.0}, "rate"),
        ({"repeat": -1}, "repeat"),
        ({"time_unit": "h"}, "time_unit"),
        ({"max_out_of_orderness": timedelta(seconds=-1)}, "max_out_of_orderness"),
        ({"idle_timeout": timedelta(seconds=-1)}, "idle_timeout"),
        ({"schema": {"a": "int"}, "event_time": "b"}, "event_time"),
        ({"schema": {"a": "str"}, "stream": "aa"}, "stream"),
    ],
)
def test_wrong_common_keys_are_problems(keys: dict[str, Any], where: str, tmp_path: Any) -> None:
    assert [each.where for each in WithCommonKeys.check(keys, [], tmp_path)] == [where]


def test_only_a_live_source_reads_asynchronously() -> None:
    assert inspect.iscoroutinefunction(Live().read)
    assert not inspect.iscoroutinefunction(Plain().read)


async def test_a_live_source_gives_what_is_there_and_waits_for_more() -> None:
    source = Live()
    source.open(source.partitions())
    for value in range(5):
        source.queue.put_nowait(value)
    first = await source.read(3)
    assert first is not None and first.column("value").tolist() == [0, 1, 2]
    second = await source.read(3)
    assert second is not None and second.column("value").tolist() == [3, 4]
    waiting = asyncio.ensure_future(source.read(3))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    source.queue.put_nowait(5)
    third = await waiting
    assert third is not None and third.column("value").tolist() == [5]
    assert source.position() == {"0": 6} and source.row == 5
    source.queue.put_nowait(None)
    assert await source.read(3) is None
    assert source.ended


async def test_what_a_cancelled_read_waited_for_is_not_lost() -> None:
    source = Live()
    source.open(source.partitions())
    waiting = asyncio.ensure_future(source.read(3))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    source.queue.put_nowait(7)
    batch = await source.read(3)
    assert batch is not None and batch.column("value").tolist() == [7]
    source.on_stop()


async def test_an_error_of_a_live_source_comes_after_its_events() -> None:
    class Failing(Source):
        async def events(self) -> AsyncIterator[Number]:
            yield Number(1)
            raise OSError("connection lost")

    source = Failing()
    source.open(source.partitions())
    batch = await source.read(3)
    assert batch is not None and batch.column("value").tolist() == [1]
    with pytest.raises(OSError, match="connection lost"):
        await source.read(3)


async def test_a_live_source_that_goes_back_passes_over_what_was_read() -> None:
    source = Live()
    source.open(source.partitions())
    source.seek({"0": 2})
    for value in (0, 1, 2, 3, None):
        source.queue.put_nowait(value)
    batch = await source.read(10)
    assert batch is not None and batch.column("value").tolist() == [2, 3]
    assert source.position() == {"0": 4}


async def test_a_live_source_that_stops_is_closed() -> None:
    source = Live()
    source.open(source.partitions())
    source.queue.put_nowait(1)
    assert await source.read(3) is not None
    source.on_stop()
    for _ in range(5):
        await asyncio.sleep(0)
    assert source.ended


async def test_a_live_source_does_not_run_ahead_without_bound() -> None:
    class Endless(Source):
        made = 0

        async def events(self) -> AsyncIterator[Number]:
            while True:
                self.made += 1
                yield Number(self.made)

    source = Endless()
    source.open(source.partitions())
    assert await source.read(1) is not None
    for _ in range(10):
        await asyncio.sleep(0)
    assert source.made <= 4097
    source.on_stop()


@pytest.mark.parametrize(("unit", "expected"), [("s", 99), ("ms", 99_749), ("us", 99_749_999)])
def test_a_clocked_source_promises_the_clock_less_what_rows_may_take(unit: str, expected: int) -> None:
    source = Clocked(time_unit=unit, event_time="at", max_out_of_orderness=timedelta(milliseconds=250))
    assert source.lower_bound(99_999_999_999) == expected


async def test_a_clocked_source_does_not_promise_past_rows_that_came_and_were_not_read() -> None:
    class Three(Clocked):
        async def events(self) -> AsyncIterator[Happened]:
            for at in range(3):
                yield Happened(at)

    begun = time_ns()
    source = Three(max_out_of_orderness=timedelta(0), time_unit="ns")
    source.open(source.partitions())
    assert await source.read(1) is not None
    later = time_ns() + 10**12
    waits = source.lower_bound(later)
    assert waits is not None
    assert begun <= waits <= time_ns(), "two rows wait, as they would while the output is full"
    assert await source.read(9) is not None
    assert source.lower_bound(later) == later


def test_a_clocked_source_must_say_how_long_rows_take() -> None:
    assert Clocked.check({"max_out_of_orderness": timedelta(0)}, [], Path()) == []
    (problem,) = Clocked.check({}, [], Path())
    assert problem.where == "max_out_of_orderness"
    assert "promises the clock" in problem.message


def test_a_source_that_is_not_clocked_promises_nothing_by_itself() -> None:
    assert WithCommonKeys(max_out_of_orderness=timedelta(0)).lower_bound(99_999_999_999) is None


class Wide(Event):
    text: str


class Pages(Source):
    """Rows 10 n to 10 n + 9 lie on page n; its position is the page that it reads."""

    def __init__(self) -> None:
        super().__init__(count=45)
        self.page = 0

    def position(self) -> dict[str, int]:
        return {"0": self.page}

    def seek(self, positions: dict[str, int]) -> None:
        self.page = positions["0"]

    def events(self) -> Iterator[Number]:
        while True:
            yield from (Number(10 * self.page + row) for row in range(10))
            self.page += 1


def test_rows_between_two_places_of_a_source_are_counted_and_passed_over() -> None:
    for rows in range(46):
        before, after = Pages(), Pages()
        for source in (before, after):
            source.open(source.partitions())
        found: list[int] = []
        while len(found) < rows:
            batch = before.read(min(4, rows - len(found)))
            assert isinstance(batch, Batch)
            found += batch.column("value").tolist()
        kept = before.kept_position()
        after.take_back(kept)
        assert after.kept_position() == kept  # also before anything was read
        while isinstance(batch := after.read(7), Batch):
            assert after.row == len(found)
            found += batch.column("value").tolist()
        assert found == list(range(45))


def test_a_source_that_went_back_and_has_read_nothing_is_still_where_it_was() -> None:
    source = Plain()
    source.open(source.partitions())
    source.seek({"0": 4})
    assert source.position() == {"0": 4}


async def test_a_position_of_a_source_that_cannot_go_back_to_it_is_an_error() -> None:
    class Unasked(Source):
        def events(self) -> Iterator[Number | Position]:
            yield Number(1)
            yield Position(1)

    class Unsaid(Source):
        outputs: ClassVar[dict[str, Any]] = {"default": Number}

        def seek(self, positions: dict[str, int]) -> None:
            pass

        async def events(self) -> AsyncIterator[Any]:
            yield Position(1)

    for source in (Unasked(), Unsaid()):
        source.open(source.partitions())
        with pytest.raises(SchemaError, match=r"Position\(positions=1\); allowed: rows .* override seek"):
            await found if inspect.isawaitable(found := source.read(5)) else None


def test_what_is_read_at_once_is_bounded_in_bytes() -> None:
    class Texts(Source):
        made = 0

        def events(self) -> Iterator[Wide]:
            while True:
                self.made += 1
                yield Wide("x" * (100 << (self.made % 12)))

    source = Texts()
    source.open(source.partitions())
    for _ in range(50):
        before = source.made
        batch = source.read(4096)
        assert isinstance(batch, Batch)
        assert sum(map(len, batch.column("text").tolist())) < TAKEN_BYTES + (100 << 12)
        assert source.made - before == batch.rows
    assert source.made > 50 * 10


async def test_a_live_source_runs_ahead_by_a_bounded_number_of_bytes() -> None:
    class Texts(Source):
        made = 0

        async def events(self) -> AsyncIterator[Wide]:
            while True:
                self.made += 1
                yield Wide("x" * (1200 << 10))

    source = Texts()
    source.open(source.partitions())
    for _ in range(5):
        batch = await source.read(4096)
        assert batch is not None and batch.rows <= 4
        for _ in range(10):
            await asyncio.sleep(0)
    assert source.made <= 5 * 4 + 4
    source.on_stop()
