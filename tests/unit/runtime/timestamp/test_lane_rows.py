"""Rows of several batches become one, whatever their columns are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from actorstream.errors import SchemaError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.runtime.timestamp.lane_rows import interleaved, times_of
from actorstream.runtime.timestamp.ties import by_value


class Fixed(Event):
    __event_time__: ClassVar[str] = "t"

    t: int
    flag: bool


class Wide(Event):
    t: int
    text: str
    maybe: float | None


TAGS = np.array([2, 0, 0, 2, 0], np.uint16)


@pytest.mark.parametrize("as_columns", [True, False])
@pytest.mark.parametrize("as_events", [True, False])
@pytest.mark.parametrize("kind", [Fixed, Wide])
def test_rows_come_in_the_order_of_the_tags(kind: type[Event], as_events: bool, as_columns: bool) -> None:
    def row(number: int) -> Event:
        if kind is Fixed:
            return Fixed(number, number % 2 == 0)
        return Wide(number, "x" * number, None if number % 2 else number / 2)

    first = Batch.of_events(kind, [row(number) for number in (1, 2, 4)])
    second = Batch.of_events(kind, [row(number) for number in (0, 3)])
    parts = [part.compact() if as_columns else part for part in (first, second)]
    made = interleaved(TAGS, [parts[0], None, parts[1]], (), as_events)
    assert list(made.events()) == [row(number) for number in range(5)]


def test_system_columns_that_are_wanted_come_along() -> None:
    first = Batch.of_columns(Fixed, {"t": [1, 2, 4], "flag": [True] * 3}).with_system(_position=[7, 8, 9])
    second = Batch.of_columns(Fixed, {"t": [0, 3], "flag": [True] * 2}).with_system(_position=[1, 2])
    made = interleaved(TAGS, [first, None, second], ("_position",), False)
    assert made.system["_position"].data.tolist() == [1, 7, 8, 2, 9]


def test_rows_without_event_time_are_refused() -> None:
    with pytest.raises(SchemaError, match="have no event time"):
        times_of(Batch.of_events(Wide, [Wide(1, "", None)]))


def test_tied_rows_are_ordered_by_their_fields_and_others_stay() -> None:
    rows = Batch.of_events(
        Wide, [Wide(t, text, None) for t, text in [(9, "z"), (2, "b"), (2, "a"), (1, "c")]]
    )
    made = by_value(rows, np.array([1, 5, 5, 6]))
    assert [event.text for event in made.events()] == ["z", "a", "b", "c"]  # type: ignore[attr-defined]


def test_tied_rows_of_a_key_stay_as_they_came() -> None:
    rows = Batch.of_events(
        Wide, [Wide(t, text, None) for t, text in [(3, "b"), (9, "a"), (2, "b"), (1, "a")]]
    )
    made = by_value(rows, np.array([5, 5, 5, 5]), ("text",))
    assert [event.t for event in made.events()] == [9, 1, 3, 2]  # type: ignore[attr-defined]
