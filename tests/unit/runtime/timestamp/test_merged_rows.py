"""Rows of several lanes put into one batch: what `interleaved` makes of the same tags, wherever the rows lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.jumbo import encode
from actorstream.events.schema import Schema
from actorstream.native.merge import ENDED, Merge
from actorstream.runtime.timestamp.lane_rows import interleaved
from actorstream.runtime.timestamp.merged_rows import MergedRows, packed


class Row(Event, event_time="at"):
    at: int
    flag: bool
    weight: float


SCHEMA = Schema.of(Row).with_system(("_position",))
FORMS = ("columns", "jumbo", "part of a jumbo", "selection", "packed selection", "events")


def rows_of(times: list[int], seed: int, form: str) -> Batch:
    """Rows at these times, held in that form."""
    count = len(times)
    extra = 3 if form == "part of a jumbo" else 0
    at = np.array([*([0] * extra), *times], np.int64)
    number = np.arange(count + extra) + 100 * seed
    batch = Batch.of_columns(Row, {"at": at, "flag": number % 3 == 0, "weight": number / 4})
    if form == "events":
        batch = Batch.of_events(Row, batch.events())
    batch = batch.with_system(_position=number.astype(np.int64))
    if "jumbo" in form:
        batch = Batch.from_jumbo(SCHEMA, encode((batch,), None, SCHEMA), extra, count)
    elif "selection" in form:
        turned = batch.take(np.arange(count)[::-1])
        batch = turned.selection(np.arange(count, dtype=np.uint32)[::-1].copy())
    if form == "packed selection":
        batch = packed(batch, SCHEMA)
    batch.entry_min, batch.entry_max, batch.began = seed + 1, seed + 10, seed + 20
    return batch


def listed(batch: Batch) -> list[tuple[object, ...]]:
    columns = [batch[name].tolist() for name in ("at", "flag", "weight")]
    return list(zip(*columns, batch.system["_position"].data.tolist()))


LANES = st.lists(
    st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sampled_from(FORMS)),
    min_size=2,
    max_size=4,
)


@settings(deadline=None)
@given(LANES, st.integers(1, 40))
def test_the_rows_are_those_that_gathering_gives(lanes: list[tuple[list[int], str]], limit: int) -> None:
    batches = [rows_of(sorted(times), seed, form) for seed, (times, form) in enumerate(lanes)]
    merge, whole = Merge(range(len(lanes))), Merge(range(len(lanes)))
    for each in (merge, whole):
        for at, batch in enumerate(batches):
            each.fill(at, np.ascontiguousarray(batch["at"]))
            each.promise(at, ENDED)
    total = sum(batch.rows for batch in batches)
    _, _, tags = whole.ready(total, shortest=1000)
    expected = interleaved(tags, batches, ("_position",), False)
    merged = MergedRows(merge, SCHEMA)
    merged.begin(total)
    while (found := merge.ready(limit, shortest=1000))[0]:
        for at in set(found[2].tolist()):
            merged.draw(at, batches[at])
        merged.put(found[2])
    assert merged.rows == total
    made = merged.take()
    assert merged.rows == 0
    assert listed(made) == listed(expected)
    stamps = [(batch.entry_min, batch.entry_max, batch.began) for batch in (made, expected)]
    assert stamps[0] == stamps[1]
    assert made.schema == expected.schema
    with pytest.raises(ValueError, match="read-only"):
        made["at"][0] = 1


def test_a_batch_of_few_rows_keeps_no_room_for_many() -> None:
    merge = Merge([0, 1])
    first, second = rows_of([1], 0, "columns"), rows_of([2], 1, "columns")
    for at, batch in enumerate((first, second)):
        merge.fill(at, np.ascontiguousarray(batch["at"]))
        merge.promise(at, ENDED)
    merged = MergedRows(merge, SCHEMA)
    merged.begin(100_000)
    _, _, tags = merge.ready(10)
    merged.draw(0, first)
    merged.draw(1, second)
    merged.put(tags)
    made = merged.take()
    assert listed(made) == [*listed(first), *listed(second)]
    assert made["at"].base is None or made["at"].base.nbytes < 1000
