"""Admission: which rows of a batch windows take, when not all of them are as they should be: behind their watermark,
late, before the epoch. Decides by the data alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from actorstream.errors import DataError
from actorstream.events.fields import WATERMARK
from actorstream.events.representation import shown_rows
from actorstream.operators.failed_rows import fail_event
from actorstream.windows.sliding import GREATEST_TIME
from actorstream.windows.watermark import AT_END, NOTHING

if TYPE_CHECKING:
    from actorstream.actors.actor import Actor
    from actorstream.events.batch import Batch
    from actorstream.windows.sliding import SlidingWindows


class Admitted(NamedTuple):
    """Rows of a batch: those of all their windows, those of windows from a certain one on, and those that are late."""

    whole: Batch
    narrowed: list[tuple[int, Batch]]
    late: Batch | None


def admit(batch: Batch, times: np.ndarray, windows: SlidingWindows, closed: int) -> Admitted:
    """Sorts rows with these event times by the windows that take them; windows up to `closed` take none."""
    last = windows.last(times)
    gone = last <= closed
    first = np.full(len(times), NOTHING)
    marks = batch.system.get(WATERMARK)
    if marks is not None:
        late, first = windows.admitted(times, marks.data)
        gone |= late
    late_rows = gone
    if windows.slide > windows.size:  # a row between two windows is in none, and so not late for one
        between = windows.first(times) > last
        late_rows = gone & ~between
        gone = gone | between
    narrowed = (first != NOTHING) & ~gone
    tags = [] if not narrowed.any() else np.unique(first[narrowed]).tolist()
    return Admitted(
        batch.take(~gone & ~narrowed),
        [(tag, batch.take(narrowed & (first == tag))) for tag in tags],
        batch.take(late_rows) if late_rows.any() else None,
    )


def valid_rows(actor: Actor, batch: Batch, times: np.ndarray) -> tuple[Batch, np.ndarray]:
    """The rows that have an event time from 0 to 2^62 - 1, and these; the others are the actor's `on_error`'s."""
    wrong = (times < 0) | (times >= GREATEST_TIME)
    if not wrong.any():
        return batch, times
    rows = np.flatnonzero(wrong)
    for event, time in zip(shown_rows(batch.take(rows)), times[rows].tolist()):
        message = f"the event time is {time}, {_outside(time)}; allowed: 0 to {GREATEST_TIME - 1}"
        fail_event(actor, event, DataError(message))
    return batch.take(~wrong), times[~wrong]


def _outside(time: int) -> str:
    if time < 0:
        return "before 1970"
    if time == AT_END:
        return 'that of rows which came out at the end of the input, beyond all windows (on_error = "skip" drops them)'
    return "beyond all windows"


def times_of(batch: Batch) -> np.ndarray:
    """The event times of a batch, int64. DataError if it has none."""
    times = batch.event_times()
    if times is None:
        raise DataError(
            f"rows of {batch.schema.name} have no event time; allowed: rows that descend from a source with event_time "
            "(Batch.of(..., origin=batch) keeps it)"
        )
    return times if times.dtype == np.int64 else times.astype(np.int64)
