"""Watermarks agree with their definition, row by row, however the rows of a partition are cut into batches."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from actorstream.windows.watermark import NOTHING, PartitionWatermarks


def by_definition(times: list[int], slack: int) -> list[int]:
    """Of each row: the watermark before it if it is below that, else NOTHING."""
    found = []
    for at, time in enumerate(times):
        watermark = max(times[:at]) - slack if at else None
        found.append(watermark if watermark is not None and time < watermark else NOTHING)
    return found


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 60)), max_size=12), max_size=6),
    st.sampled_from([0, 3, 1000]),
)
def test_a_row_is_behind_if_it_is_below_the_watermark_of_its_own_partition(batches, slack):
    marks = PartitionWatermarks(slack)
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    answered: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for batch in batches:
        for partition in (0, 1, 2):
            times = [time for own, time in batch if own == partition]
            found = marks.observe(partition, np.array(times, np.int64))
            seen[partition] += times
            answered[partition] += [NOTHING] * len(times) if found is None else found.tolist()
            expected = max(seen[partition]) - slack if seen[partition] else NOTHING
            assert marks.watermark(partition) == expected
    assert answered == {partition: by_definition(times, slack) for partition, times in seen.items()}


def test_once_all_partitions_have_ended_the_greatest_of_their_watermarks_counts():
    marks = PartitionWatermarks(3)
    assert marks.last() == NOTHING
    for partition, time in enumerate((5, 20, 9)):
        marks.observe(partition, np.array([time], np.int64))
    assert marks.last() == 17


def test_a_row_below_what_its_source_has_promised_is_behind_that():
    marks = PartitionWatermarks(10)
    assert marks.observe(0, np.array([100, 105], np.int64), promised=100) is None
    found = marks.observe(0, np.array([104, 99, 110, 101], np.int64), promised=102)
    assert found is not None and found.tolist() == [NOTHING, 102, NOTHING, 102]
    assert marks.observe(0, np.array([97, 200], np.int64), promised=50).tolist() == [100, NOTHING]


def test_times_that_are_promised_to_be_ordered_are_not_looked_at():
    marks = PartitionWatermarks(0, ordered=True)
    assert marks.observe(0, np.array([5, 9], np.int64)) is None
    assert marks.watermark(0) == 9


def test_a_watermark_does_not_wrap_around_at_the_least_times():
    marks = PartitionWatermarks(10)
    least = np.iinfo(np.int64).min
    assert marks.observe(0, np.array([least + 1, least + 5, least + 2], np.int64)) is None
    assert marks.watermark(0) == NOTHING
