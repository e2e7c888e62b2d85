"""Rows of one time in the order of what is in them."""

from __future__ import annotations

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.runtime.timestamp.ties import by_value


class Wide(Event):
    t: int
    text: str
    maybe: float | None


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
