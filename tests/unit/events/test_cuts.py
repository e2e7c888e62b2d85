"""Cuts: batches are bounded in rows and in bytes, and together they have all rows in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorstream.events.batch import Batch
from actorstream.events.cuts import MOST_BYTES, MOST_ROWS, cuts, parts, sizes_of
from actorstream.events.event import Event


class Texts(Event):
    number: int
    text: str


def texts(lengths: list[int]) -> Batch:
    return Batch.of_columns(Texts, {"number": np.arange(len(lengths)), "text": ["x" * n for n in lengths]})


def test_rows_of_fixed_width_are_cut_by_their_number_and_their_bytes() -> None:
    assert [*cuts(MOST_ROWS + 1, 8)] == [(0, MOST_ROWS), (MOST_ROWS, 1)]
    assert [*cuts(5, MOST_BYTES // 2)] == [(0, 2), (2, 2), (4, 1)]
    assert [*cuts(2, MOST_BYTES + 1)] == [(0, 1), (1, 1)]
    assert [*cuts(0, 8)] == [*cuts(0, 8, np.zeros(0, np.int64))] == []


@pytest.mark.parametrize("large", [0, 1, 400, 799])
def test_one_large_row_anywhere_shares_its_batch_with_no_more_than_fits(large: int) -> None:
    lengths = [10_000] * 800
    lengths[large] = MOST_BYTES + 1
    found = [*parts(texts(lengths))]
    assert np.concatenate([batch["number"] for batch in found]).tolist() == list(range(800))
    for batch in found:
        assert batch.rows == 1 or sum(map(len, batch["text"].to_pylist())) <= MOST_BYTES


def test_rows_that_are_taken_count_their_own_bytes_and_not_the_average() -> None:
    batch = texts([1] * 1000 + [MOST_BYTES // 4])
    chosen = batch.take(np.full(100, 1000, np.uint32))
    assert max(part.rows for part in parts(chosen)) <= 4
    assert sum(part.rows for part in parts(chosen)) == 100


def test_a_row_number_beyond_the_column_has_no_bytes() -> None:
    column: Any = texts([3, 5]).column("text")
    index = np.array([1, 2**32 - 1, 0], np.uint32)
    found = sizes_of([(column, index), (column, index)])
    assert found is not None and found.tolist() == [10, 0, 6]
    assert sizes_of([(texts([1]).column("number"), None)]) is None
