"""Rows that follow from their numbers: the same for any size of batches and after a restart, and promised in time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream import Event, EventTime, NumberedSource
from actorstream.connectors.source import NO_MORE


class Closing(Event):
    at: EventTime
    number: int


class Closings(NumberedSource):
    outputs: ClassVar = {"default": Closing}

    def time(self, number: int) -> int:
        return (number + 1) * 10

    def columns(self, first: int, last: int) -> dict[str, Any]:
        return {"at": np.arange(first + 1, last + 1) * 10, "number": np.arange(first, last)}


def opened(count: int | None, partitions: list[str] | None = None) -> Closings:
    source = Closings(count=count)
    source.open(source.partitions() if partitions is None else partitions)
    return source


def rows(source: Closings, max_rows: int) -> list[tuple[int, int]]:
    found = []
    while (batch := source.read(max_rows)) is not None:
        assert source.row == batch.events()[0].number
        found += [(event.at, event.number) for event in batch.events()]
    return found


@pytest.mark.parametrize("max_rows", [1, 4, 100])
@pytest.mark.parametrize("count", [0, 1, 9])
def test_rows_are_those_of_their_numbers(count: int, max_rows: int) -> None:
    assert rows(opened(count), max_rows) == [((number + 1) * 10, number) for number in range(count)]


def test_it_promises_the_time_of_its_next_row_and_the_end() -> None:
    source = opened(3)
    promised = []
    while True:
        promised.append(source.lower_bound(0))
        if source.read(1) is None:
            break
    assert promised == [10, 20, 30, NO_MORE]


def test_it_goes_on_where_it_was() -> None:
    first = opened(9)
    first.read(4)
    again = opened(9)
    again.seek(first.position())
    assert [number for _, number in rows(again, 2)] == [4, 5, 6, 7, 8]


def test_a_replica_without_the_partition_reads_nothing() -> None:
    assert opened(5, []).read(10) is None


def test_a_class_that_does_not_say_when_or_what_is_refused() -> None:
    class Nothing(NumberedSource):
        outputs: ClassVar = {"default": Closing}

    source = Nothing()
    source.open(["0"])
    with pytest.raises(NotImplementedError, match=r"Nothing does not define columns\(\)"):
        source.read(1)
    with pytest.raises(NotImplementedError, match=r"Nothing does not define time\(\)"):
        source.lower_bound(0)
