"""Counters in shared memory, and histograms whose quantiles are as near as their buckets are wide."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.metrics.counters import (
    COUNTER_WORDS,
    HISTOGRAM_WORDS,
    ROW_WORDS,
    Counter,
    CounterTable,
    bucket_of,
    bucket_upper,
    quantiles,
)

DURATIONS = st.integers(0, 2**42)


@given(DURATIONS)
def test_a_duration_lies_in_its_bucket(ns: int) -> None:
    bucket = bucket_of(ns)
    assert 0 <= bucket < HISTOGRAM_WORDS
    assert ns <= bucket_upper(bucket)
    assert bucket == 0 or ns > bucket_upper(bucket - 1)


@given(DURATIONS)
def test_a_bucket_is_at_most_a_sixteenth_wide(ns: int) -> None:
    assert bucket_upper(bucket_of(ns)) - ns <= ns / 16


def test_buckets_ascend_without_gaps() -> None:
    uppers = [bucket_upper(bucket) for bucket in range(HISTOGRAM_WORDS)]
    assert uppers == sorted(set(uppers))
    assert [bucket_of(upper) for upper in uppers] == list(range(HISTOGRAM_WORDS))
    assert [bucket_of(upper + 1) for upper in uppers[:-1]] == list(range(1, HISTOGRAM_WORDS))


@pytest.mark.parametrize(
    ("ns", "bucket"), [(-5, 0), (0, 0), (1, 1), (15, 15), (16, 16), (31, 31), (32, 32), (33, 32)]
)
def test_small_durations_have_buckets_of_their_own(ns: int, bucket: int) -> None:
    assert bucket_of(ns) == bucket


def test_durations_past_the_last_bucket_are_counted_in_it() -> None:
    assert bucket_of(2**62) == HISTOGRAM_WORDS - 1


@given(
    st.lists(DURATIONS, min_size=1, max_size=300), st.sampled_from([0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0])
)
def test_quantiles_agree_with_numpy_up_to_a_bucket(values: list[int], at: float) -> None:
    counts = np.zeros(HISTOGRAM_WORDS, np.int64)
    for value in values:
        counts[bucket_of(value)] += 1
    (found,) = quantiles(counts, (at,))
    exact = float(np.quantile(values, at, method="inverted_cdf"))
    assert exact <= found <= exact * (1 + 1 / 16) + 1


def test_quantiles_of_nothing_are_zero() -> None:
    assert quantiles(np.zeros(HISTOGRAM_WORDS, np.int64), (0.5, 1.0)) == [0.0, 0.0]


def test_the_table_is_seen_by_a_forked_process() -> None:
    table = CounterTable(3)
    pid = os.fork()
    if pid == 0:
        table.row(1)[Counter.EVENTS_IN] = 42
        table.histogram(2, processing=True)[7] += 5
        os._exit(0)
    os.waitpid(pid, 0)
    assert table.value(1, Counter.EVENTS_IN) == 42
    assert table.value(0, Counter.EVENTS_IN) == 0
    assert table.histogram(2, processing=True)[7] == 5
    assert table.histogram(2).sum() == 0


def test_counters_and_histograms_of_a_row_do_not_overlap() -> None:
    table = CounterTable(2)
    assert max(Counter) < COUNTER_WORDS
    assert table.row(0).shape == (ROW_WORDS,)
    table.histogram(0)[:] = 1
    table.histogram(0, processing=True)[:] = 2
    assert [table.value(0, counter) for counter in Counter] == [0] * len(Counter)
    assert table.histogram(0).sum() == HISTOGRAM_WORDS
    assert table.histogram(0, processing=True).sum() == 2 * HISTOGRAM_WORDS
    assert table.row(1).sum() == 0


def test_a_table_that_nobody_uses_gives_its_file_number_back() -> None:
    def opened() -> int:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    before = opened()
    row = CounterTable(1).row(0)
    row[0] = 7
    assert row[0] == 7, "a row that is kept keeps its memory"
    del row
    assert opened() <= before


def test_a_table_that_was_handed_over_has_the_same_words() -> None:
    made = CounterTable(2)
    taken = CounterTable(2, os.dup(made.fd))
    taken.row(1)[Counter.EVENTS_IN] += 5
    assert made.value(1, Counter.EVENTS_IN) == 5


def test_rows_that_changed_elsewhere_are_taken() -> None:
    there, here = CounterTable(3), CounterTable(3)
    here.row(0)[Counter.EVENTS_IN] = 7
    assert set(there.changed([1, 2])) == {1, 2}, "the first time all of them"
    there.row(1)[Counter.EVENTS_IN] = 5
    there.histogram(1)[3] = 2
    changed = there.changed([1, 2])
    assert set(changed) == {1}
    here.take(changed)
    assert [here.value(each, Counter.EVENTS_IN) for each in range(3)] == [7, 5, 0]
    assert here.histogram(1)[3] == 2
    assert there.changed([1, 2]) == {}
