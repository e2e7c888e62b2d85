"""When a local pre-aggregation stops and when it tries again: rows are the clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actorstream.operators.aggregation.repeats import FIRST_PAUSE, LAST_PAUSE, LOOK_ROWS, Repeats


def test_it_goes_on_while_rows_share_cells():
    repeats = Repeats()
    for _ in range(10):
        repeats.sent(LOOK_ROWS, LOOK_ROWS * 7 // 10)
    assert repeats.on


def test_it_stops_when_hardly_any_row_shares_its_cell():
    repeats = Repeats()
    repeats.sent(LOOK_ROWS - 1, LOOK_ROWS - 1)
    assert repeats.on, "too few rows to tell"
    repeats.sent(1, 1)
    assert not repeats.on


def test_it_tries_again_after_a_pause_that_doubles_each_time_in_vain():
    repeats = Repeats()
    pauses = []
    for _ in range(12):
        repeats.sent(LOOK_ROWS, LOOK_ROWS)
        paused = 0
        while not repeats.on:
            repeats.pass_on(1 << 20)
            paused += 1 << 20
        pauses.append(paused)
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LAST_PAUSE
    assert repeats.passed == sum(pauses)


def test_a_try_must_find_more_than_what_would_let_it_go_on():
    """What would let it go on does not make it begin again, so that it does not flicker."""
    repeats = Repeats()
    repeats.sent(LOOK_ROWS, LOOK_ROWS)
    repeats.pass_on(FIRST_PAUSE)
    assert repeats.on
    repeats.sent(LOOK_ROWS, LOOK_ROWS * 7 // 10)
    assert not repeats.on
    repeats.pass_on(2 * FIRST_PAUSE)
    repeats.sent(LOOK_ROWS, LOOK_ROWS // 3)
    repeats.sent(LOOK_ROWS, LOOK_ROWS * 7 // 10)
    assert repeats.on
    repeats.sent(LOOK_ROWS, LOOK_ROWS)
    repeats.pass_on(FIRST_PAUSE)
    assert repeats.on, "the pauses have become short again"


@given(st.lists(st.tuples(st.integers(1, 1 << 24), st.floats(0, 1)), max_size=30))
def test_it_never_stays_off_for_longer_than_the_last_pause(steps):
    repeats, off = Repeats(), 0
    for rows, share in steps:
        if repeats.on:
            off = 0
            repeats.sent(rows, int(rows * share))
        else:
            off += rows
            repeats.pass_on(rows)
        assert off < LAST_PAUSE + (1 << 24)
