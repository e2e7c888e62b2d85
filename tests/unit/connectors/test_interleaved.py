"""Streams made by rule: the same rows for any size of batches, shares of partitions and restart."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream import Batch, Event, EventTime, InterleavedSource
from actorstream.connectors.source import NO_MORE


class Reading(Event):
    stream: str
    at: EventTime
    value: int


class Readings(InterleavedSource):
    outputs: ClassVar = {"default": Reading}
    kept: ClassVar = 10

    def columns(self, stream: int, name: str) -> dict[str, Any]:
        return {"stream": [name] * self.kept, "value": 100 * stream + np.arange(self.kept)}


def opened(count: int | None, shards: int, partitions: list[str] | None = None) -> Readings:
    source = Readings(count=count, shards=shards)
    source.open(source.partitions() if partitions is None else partitions)
    return source


def rows(source: Readings, max_rows: int) -> list[tuple[int, int, str, int, int]]:
    """(origin, row, stream, time, value) of all that is left."""
    found = []
    while (batch := source.read(max_rows)) is not None:
        assert 1 <= batch.rows <= max_rows
        for number, event in enumerate(batch.events()):
            found.append((source.origin, source.row + number, event.stream, event.at, event.value))
    return found


def expected(count: int, shards: int) -> list[tuple[int, int, str, int, int]]:
    return sorted(
        (
            time % shards,
            time // shards,
            f"s{time % shards}",
            time,
            100 * (time % shards) + time // shards % 10,
        )
        for time in range(count)
    )


@pytest.mark.parametrize("max_rows", [1, 3, 10, 64])
@pytest.mark.parametrize(("count", "shards"), [(0, 2), (1, 3), (7, 3), (64, 2), (65, 4)])
def test_row_i_of_stream_k_has_time_i_times_shards_plus_k_whatever_the_batches(
    count: int, shards: int, max_rows: int
) -> None:
    assert sorted(rows(opened(count, shards), max_rows)) == expected(count, shards)


class Mark(Event):
    stream: str
    value: int


class Marks(InterleavedSource):
    outputs: ClassVar = {"default": Mark}
    kept: ClassVar = 10

    def columns(self, stream: int, name: str) -> dict[str, Any]:
        return {"stream": [name] * self.kept, "value": 100 * stream + np.arange(self.kept)}


def test_rows_without_an_event_time_come_again_and_again_too() -> None:
    source = Marks(count=25, shards=2)
    source.open(source.partitions())
    found: dict[str, list[int]] = {"s0": [], "s1": []}
    while (batch := source.read(4)) is not None:
        for event in batch.events():
            found[event.stream].append(event.value)
    assert found == {"s0": [*range(10), 0, 1, 2], "s1": [*range(100, 110), 100, 101]}


def test_replicas_that_share_the_streams_make_the_rows_of_one() -> None:
    shared = [row for names in (["s0", "s2"], ["s1"], []) for row in rows(opened(50, 3, names), 7)]
    assert sorted(shared) == expected(50, 3)


def test_no_row_comes_below_what_was_promised_and_the_promise_ends_with_the_rows() -> None:
    source = opened(40, 3)
    before = source.lower_bound(0)
    while (batch := source.read(4)) is not None:
        assert min(event.at for event in batch.events()) >= before
        assert source.lower_bound(0) >= before
        before = source.lower_bound(0)
    assert before == NO_MORE


def test_it_goes_on_where_it_was() -> None:
    first = opened(45, 2)
    begun: list[Batch] = [batch for _ in range(5) if (batch := first.read(3)) is not None]
    again = opened(45, 2)
    again.seek(first.position())
    read = [(event.stream, event.at, event.value) for batch in begun for event in batch.events()]
    assert sorted(read + [row[2:] for row in rows(again, 8)]) == sorted(row[2:] for row in expected(45, 2))


def test_a_class_that_does_not_say_its_columns_is_refused() -> None:
    class Nothing(InterleavedSource):
        outputs: ClassVar = {"default": Reading}

    source = Nothing()
    with pytest.raises(NotImplementedError, match=r"Nothing does not define columns\(\)"):
        source.open(["s0"])
