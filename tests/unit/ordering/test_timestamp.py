"""What an output emits in the order of time: checked, or held back and sorted."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import SchemaError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.ordering.timestamp import Ascending, Sorted, Unsorted, last_time, repeated, times_of


class At(Event):
    __event_time__: ClassVar[str] = "t"

    t: int
    n: int


class Timeless(Event):
    n: int


def batch(times: list[int], first: int = 0) -> tuple[Batch, np.ndarray]:
    made = Batch.of_columns(At, {"t": np.array(times), "n": first + np.arange(len(times))})
    found = made.event_times()
    assert found is not None
    return made, found


def test_rows_that_ascend_go_as_they_are() -> None:
    sequence = Ascending()
    for times in ([1, 1, 4], [4], [9, 9]):
        made, found = batch(times)
        assert sequence.take(made, found) is made
    assert sequence.last == 9
    assert sequence.release(20) is None


@pytest.mark.parametrize(
    ("before", "times", "error"),
    [([], [3, 2], (1, 2, 3)), ([5], [4, 6], (0, 4, 5)), ([5], [6, 8, 7], (2, 7, 8))],
)
def test_rows_that_do_not_ascend_are_named(
    before: list[int], times: list[int], error: tuple[int, int, int]
) -> None:
    sequence = Ascending()
    if before:
        sequence.take(*batch(before))
    with pytest.raises(Unsorted) as caught:
        sequence.take(*batch(times))
    assert (caught.value.row, caught.value.time, caught.value.before) == error


def test_a_row_of_the_greatest_time_there_is_goes_at_the_end() -> None:
    sequence = Sorted()
    sequence.take(*batch([2**63 - 1, 2**63 - 2]))
    made = sequence.release(2**63 - 1)
    assert made is not None
    assert (made["t"].tolist(), sequence.rows) == ([2**63 - 2, 2**63 - 1], 0)


def test_a_row_below_what_was_promised_is_named() -> None:
    for sequence in (Ascending(), Sorted()):
        sequence.release(10)
        with pytest.raises(Unsorted) as caught:
            sequence.take(*batch([9]))
        assert (caught.value.time, caught.value.before) == (9, 10)


@given(
    rounds=st.lists(
        st.tuples(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(0, 12)), max_size=8
    )
)
def test_sorted_rows_are_those_below_the_promise_in_order_and_ties_as_they_came(
    rounds: list[tuple[list[int], int]],
) -> None:
    sequence, promised, n = Sorted(), 0, 0
    came: list[tuple[int, int]] = []
    out: list[tuple[int, int]] = []
    for times, step in [*rounds, ([1000], 2000)]:
        above = [promised + time for time in times]
        sequence.take(*batch(above, n))
        came += [(time, n + at) for at, time in enumerate(above)]
        n += len(times)
        promised += step
        released = sequence.release(promised)
        if released is not None:
            out += [(event.t, event.n) for event in released.events()]  # type: ignore[attr-defined]
        assert out == sorted(row for row in came if row[0] < promised)
        assert sequence.rows == len(came) - len(out)


def test_what_waits_and_what_was_promised_come_back_from_a_checkpoint() -> None:
    sequence, again = Sorted(), Sorted()
    sequence.take(*batch([14, 11, 14]))
    sequence.release(12)
    again.restore(sequence.snapshot(), Schema.of(At))
    assert again.rows == 2
    with pytest.raises(Unsorted):
        again.take(*batch([11]))
    again.take(*batch([14, 13], 3))
    released = again.release(20)
    assert released is not None
    assert [(event.t, event.n) for event in released.events()] == [(13, 4), (14, 0), (14, 2), (14, 3)]  # type: ignore[attr-defined]

    rising, risen = Ascending(), Ascending()
    rising.take(*batch([7]))
    risen.restore(rising.snapshot(), Schema.of(At))
    with pytest.raises(Unsorted):
        risen.take(*batch([6]))


def test_rows_without_event_time_are_refused() -> None:
    with pytest.raises(SchemaError, match="have no event time"):
        times_of(Batch.of_events(Timeless, [Timeless(1)]))


def test_the_last_time_is_that_of_the_last_row_in_whatever_form_the_rows_are() -> None:
    whole, _ = batch([3, 5, 5, 9])
    for rows in (
        whole,
        whole.slice(0, 3),
        whole.slice(1, 2),
        whole.take(np.array([3, 0])),
        Batch.of_events(At, whole.events()),
    ):
        assert last_time(rows) == times_of(rows)[-1]
    with pytest.raises(SchemaError, match="no event time"):
        last_time(Batch.of_events(Timeless, [Timeless(1)]))


def test_rows_of_one_value_are_as_many_as_were_asked_for() -> None:
    for value, rows in [(0, 3), (-1, 5), (0, 0), (0, 9), *((n, n) for n in range(20)), (0, 2)]:
        found = repeated(value, rows)
        assert found.tolist() == [value] * rows
        assert found.dtype == np.int64
