from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import DataError
from actorstream.spark.frames import digest_of
from actorstream.spark.lanes import Lanes, times_of

Row = tuple[int, int, int]
"""time, lane, place in the lane"""


def batch(rows: list[Row]) -> Any:
    return pa.record_batch(
        {name: pa.array(column, pa.int64()) for name, column in zip(("t", "lane", "at"), zip(*rows))}
    )


def put(lanes: Lanes, lane: int, rows: list[Row]) -> None:
    made = batch(rows)
    digest = digest_of(lanes.lanes[lane].digest, repr(rows).encode())
    lanes.put(lane, made, np.array([row[0] for row in rows], np.int64), digest)


def rows_of(taken: Any) -> list[Row]:
    return [tuple(row.values()) for row in taken.to_pylist()]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[list[Row]]], list[int]]:
    """Lanes of batches of rows by time, and the order in which batches and ends arrive (an entry is a lane)."""
    lanes = []
    for lane in range(draw(st.integers(1, 4))):
        times = sorted(draw(st.lists(st.integers(0, 6), max_size=12)))
        rows = [(time, lane, at) for at, time in enumerate(times)]
        size = draw(st.integers(1, 5))
        lanes.append([rows[first : first + size] for first in range(0, len(rows), size)])
    arrivals = [lane for lane, batches in enumerate(lanes) for _ in range(len(batches) + 1)]
    return lanes, draw(st.permutations(arrivals))


@given(cases(), st.integers(1, 7), st.data())
def test_rows_come_by_time_then_lane_whatever_arrives_when_and_a_restart_goes_on(
    case: tuple[list[list[list[Row]]], list[int]], most: int, data: st.DataObject
) -> None:
    batches, arrivals = case
    lanes = Lanes(len(batches))
    found: list[Row] = []
    expected = sorted(row for lane in batches for part in lane for row in part)
    restart_at = data.draw(st.integers(0, len(arrivals)))
    for step, lane in enumerate(arrivals):
        if step == restart_at:
            lanes = Lanes(len(batches), lanes.kept())
        # a task that begins again goes on behind the last batch that the source has
        while lanes.lanes[lane].batch < len(batches[lane]):
            put(lanes, lane, batches[lane][lanes.lanes[lane].batch])
            if data.draw(st.booleans()):
                break
        else:
            lanes.end(lane)
        if data.draw(st.booleans()) and (taken := lanes.take(most)) is not None:
            assert taken[0].num_rows <= most
            found += rows_of(taken[0])
            assert found == expected[: len(found)]
    for lane, parts in enumerate(batches):
        for part in parts[lanes.lanes[lane].batch :]:
            put(lanes, lane, part)
        lanes.end(lane)
    while (taken := lanes.take(most)) is not None:
        found += rows_of(taken[0])
        assert taken[1] == found[-1][0]
    assert found == expected
    assert lanes.ended


def test_nothing_is_given_while_a_lane_may_still_bring_an_earlier_row() -> None:
    lanes = Lanes(2)
    put(lanes, 0, [(1, 0, 0), (5, 0, 1)])
    assert lanes.take(10) is None
    put(lanes, 1, [(3, 1, 0)])
    taken = lanes.take(10)
    assert taken is not None
    assert rows_of(taken[0]) == [(1, 0, 0), (3, 1, 0)]
    assert lanes.take(10) is None
    lanes.end(1)
    taken = lanes.take(10)
    assert taken is not None
    assert rows_of(taken[0]) == [(5, 0, 1)]


def test_a_checkpoint_names_the_first_batch_that_was_not_given_whole_and_the_digest_before_it() -> None:
    lanes = Lanes(1)
    put(lanes, 0, [(1, 0, 0), (2, 0, 1)])
    before = lanes.lanes[0].digest
    put(lanes, 0, [(3, 0, 2), (4, 0, 3)])
    lanes.end(0)
    lanes.take(2)
    lanes.take(1)
    assert lanes.kept() == [{"batch": 1, "drop": 1, "digest": before.hex()}]
    lanes.take(3)
    assert lanes.kept() == [{"batch": 2, "drop": 0, "digest": lanes.lanes[0].digest.hex()}]


def test_times_that_descend_are_an_error() -> None:
    lanes = Lanes(1)
    put(lanes, 0, [(5, 0, 0)])
    with pytest.raises(DataError, match="lane 0 that do not come by time"):
        put(lanes, 0, [(4, 0, 1)])


def test_a_date_is_the_time_at_its_beginning_in_microseconds() -> None:
    days = [date(2024, 1, 2), date(1969, 12, 31)]
    midnights = pa.array([datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days])
    assert times_of(pa.array(days)).tolist() == midnights.cast(pa.int64()).to_pylist()
