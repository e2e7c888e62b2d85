"""The source of benchmarks: however few rows it is first asked for, its batches are long, and no row is left out."""

from __future__ import annotations

from itertools import islice
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream import Batch, Event
from benchmarks.repeat import LEAST_ROWS, Repeat


class Number(Event):
    number: int


class Numbers(Repeat):
    outputs: ClassVar = {"default": Number}

    def make(self, shard: int, rows: int) -> list[dict[str, Any]]:
        return [{"number": np.arange(first, first + rows)} for first in (0, rows)]


def batches(source: Numbers, asked: list[int]) -> list[Batch]:
    source.open(source.partitions())
    found = [source.read(rows) for rows in asked]
    return [batch for batch in found if batch is not None]


@pytest.mark.parametrize("rate", [None, 1000.0])
def test_rows_come_in_their_order_whatever_it_is_asked_for_first(rate: float | None) -> None:
    asked = [1, 8, 100, 5000, *[100_000] * 5]
    found = batches(Numbers(seconds=60, rate=rate), asked)
    assert all(0 < batch.rows <= rows for batch, rows in zip(found, asked))
    numbers = [event.number for batch in found for event in batch.events()]
    assert numbers == [at % (2 * LEAST_ROWS) for at in range(len(numbers))]


def test_batches_are_long_once_it_is_asked_for_more() -> None:
    found = batches(Numbers(seconds=60), [1, *[16_384] * 4])
    assert [batch.rows for batch in islice(found, 1, None)] == [LEAST_ROWS - 1, *[LEAST_ROWS] * 3]


def test_it_ends_when_its_time_is_over() -> None:
    assert batches(Numbers(seconds=0.0), [1]) == []
