"""Rows are sorted by the windows that take them, given the watermark of their own partition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorstream import Actor, Batch, Schema
from actorstream.errors import DataError
from actorstream.operators.aggregation.admission import admit, times_of, valid_rows
from actorstream.windows.sliding import SlidingWindows
from actorstream.windows.spec import SLIDING, TUMBLING, WindowSpec
from actorstream.windows.watermark import NOTHING

ROW = Schema.from_dict({"ts": "int"}, event_time="ts")


def batch(times: list[int], marks: list[int] | None = None) -> Batch:
    made = Batch.of_columns(ROW, {"ts": times})
    return made if marks is None else made.with_system(_watermark=marks)


def admitted(times: list[int], marks: list[int] | None, closed: int, windows: SlidingWindows) -> Any:
    found = admit(batch(times, marks), np.array(times), windows, closed)
    late = [] if found.late is None else found.late["ts"].tolist()
    return found.whole["ts"].tolist(), [(tag, rows["ts"].tolist()) for tag, rows in found.narrowed], late


def test_rows_that_are_not_behind_are_in_all_their_windows():
    windows = SlidingWindows(WindowSpec(TUMBLING, size=10, slide=10))
    assert admitted([25, 31], None, 1, windows) == ([25, 31], [], [])


def test_a_row_behind_is_late_if_its_last_window_is_over_at_its_own_watermark():
    windows = SlidingWindows(WindowSpec(TUMBLING, size=10, slide=10, lateness=5))
    assert admitted([8, 8, 8], [14, 15, NOTHING], -1, windows) == ([8, 8], [], [8])


def test_a_row_whose_first_windows_are_over_is_only_in_the_later_ones():
    windows = SlidingWindows(WindowSpec(SLIDING, size=10, slide=5))
    whole, narrowed, late = admitted([12, 12, 12], [14, 16, 20], -2, windows)
    assert whole == [12]
    assert narrowed == [(2, [12])]
    assert late == [12]


def test_a_row_between_two_windows_is_in_none_and_not_late():
    windows = SlidingWindows(WindowSpec(SLIDING, size=3, slide=10))
    assert admitted([5, 11], [30, NOTHING], 0, windows) == ([11], [], [])


def test_times_before_the_epoch_raise_where_nothing_decides_about_them():
    rows = batch([-1, 4])
    with pytest.raises(DataError, match="the event time is -1, before 1970"):
        valid_rows(_outside(), rows, times_of(rows))


def test_rows_without_event_time_are_refused():
    with pytest.raises(DataError, match="have no event time"):
        times_of(Batch.of_columns(Schema.from_dict({"n": "int"}), {"n": [1]}))


def _outside() -> Actor:
    class Context:
        def failed(self, what: Any, error: Exception) -> None:
            raise error

    actor = Actor()
    actor._bind(Context())
    return actor
