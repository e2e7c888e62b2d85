"""Over how many events a hook runs before the turn looks at the clock."""

from __future__ import annotations

from actorstream.runtime.operator_unit import CHUNK_NS, FIRST_CHUNK, MOST_CHUNK, chunk_after


def settled(each_ns: int, fixed_ns: int, rests: int = 0) -> int:
    """The number after some runs of a hook that takes so long for an event and so long besides; after each, so many rows are
    left of the batch."""
    chunk = FIRST_CHUNK
    for _ in range(40):
        chunk = chunk_after(chunk, chunk, fixed_ns + chunk * each_ns)
        if rests:
            chunk = chunk_after(chunk, rests, fixed_ns + rests * each_ns)
    return chunk


def test_a_run_takes_as_long_as_it_should_whatever_an_event_costs() -> None:
    for each_ns in (20, 100, 5_000, 300_000):
        assert settled(each_ns, 0) == min(CHUNK_NS // each_ns, MOST_CHUNK)
    assert settled(70_000_000, 0) == 1


def test_the_last_rows_of_a_batch_make_no_later_run_shorter() -> None:
    assert settled(2_000, 150_000, rests=2) == settled(2_000, 150_000)


def test_a_run_in_which_another_process_had_the_core_costs_three_quarters_at_most() -> None:
    assert chunk_after(400, 400, 50 * CHUNK_NS) == 100
    assert chunk_after(100, 100, CHUNK_NS // 4) == 400


def test_a_slow_hook_is_found_within_three_runs() -> None:
    chunk = FIRST_CHUNK
    for _ in range(3):
        chunk = chunk_after(chunk, chunk, chunk * 10 * CHUNK_NS)
    assert chunk == 1
