"""Windows as arithmetic agree with what the definition of a window says, one time and one window after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from actorstream.windows.sliding import SlidingWindows
from actorstream.windows.spec import WindowSpec
from actorstream.windows.watermark import NOTHING

sizes = st.integers(1, 30)


@st.composite
def windows(draw):
    size, slide = draw(sizes), draw(sizes)
    return SlidingWindows(
        WindowSpec("sliding", size, slide, 0, draw(st.integers(0, slide - 1)), draw(st.integers(0, 40)))
    )


def holding(windows: SlidingWindows, time: int) -> list[int]:
    """The windows that `time` is in, by definition."""
    reach = time // windows.slide + 2
    return [
        k
        for k in range(-windows.size // windows.slide - 2, reach)
        if windows.offset + k * windows.slide <= time < windows.offset + k * windows.slide + windows.size
    ]


@given(windows(), st.integers(0, 200))
def test_first_and_last_bound_the_windows_of_a_time(windows, time):
    expected = holding(windows, time)
    assert list(range(windows.first(time), windows.last(time) + 1)) == expected


@given(windows(), st.integers(0, 200))
def test_a_window_is_made_of_whole_panes(windows, time):
    pane = windows.pane(time)
    assert pane >= 0
    assert windows.pane_start(pane) <= time < windows.pane_start(pane) + windows.width
    for window in holding(windows, time):
        first = windows.first_pane(window)
        assert windows.pane_start(first) == windows.start(window)
        assert first <= pane < first + windows.window_panes


@given(windows(), st.integers(-50, 300))
def test_a_window_is_closed_once_the_watermark_has_passed_its_end_and_lateness(windows, watermark):
    closed = windows.closed(watermark)
    assert windows.end(closed) + windows.lateness <= watermark
    assert windows.end(closed + 1) + windows.lateness > watermark
    ended = windows.ended(watermark)
    assert windows.end(ended) <= watermark < windows.end(ended + 1)


@given(windows(), st.integers(0, 100))
def test_no_pane_below_the_open_one_is_in_a_window_that_is_open(windows, closed):
    first = windows.open_pane(closed)
    below = windows.pane_start(first) - 1
    assert all(window <= closed for window in holding(windows, below))


@given(windows(), st.sets(st.integers(0, 40), max_size=8), st.integers(-10, 60), st.integers(-10, 60))
def test_windows_of_panes_are_those_that_hold_a_row_of_one(windows, panes, low, high):
    expected = sorted(
        {w for pane in panes for w in holding(windows, max(windows.pane_start(pane), 0)) if low < w <= high}
    )
    found = windows.windows_of(np.array(sorted(panes), np.int64), low, high)
    starts = [windows.pane_start(pane) for pane in panes]
    if all(start >= 0 for start in starts):
        assert found.tolist() == expected
    assert set(expected) <= set(found.tolist())


@given(windows(), st.lists(st.tuples(st.integers(0, 100), st.none() | st.integers(0, 300)), min_size=1))
def test_a_row_is_taken_by_the_windows_its_own_watermark_has_not_passed(windows, rows):
    times = np.array([time for time, _ in rows], np.int64)
    marks = np.array([NOTHING if mark is None else mark for _, mark in rows], np.int64)
    late, first = windows.admitted(times, marks)
    for (time, mark), is_late, least in zip(rows, late.tolist(), first.tolist()):
        expected = holding(windows, time)
        taken = [k for k in expected if mark is None or windows.end(k) + windows.lateness > mark]
        if not expected:
            continue
        assert is_late == (not taken)
        if taken:
            assert [k for k in expected if k >= least] == taken
