"""Rows of several batches as one batch, in a given order, wherever the rows lie and whatever their columns are."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.fields import IN_TIME, WATERMARK
from actorstream.events.interleaved import Interleaving, Part, cut, interleaved, runs
from actorstream.events.jumbo import encode
from actorstream.events.schema import Schema


class Row(Event, event_time="at"):
    at: int
    flag: bool
    weight: float
    name: str
    maybe: float | None


SCHEMA = Schema.of(Row).with_system(("_position",))
FORMS = ("columns", "jumbo", "part of a jumbo", "selection", "events", "local")


def rows_of(count: int, seed: int, form: str) -> Batch:
    """Rows of their own, held in that form."""
    extra = 3 if form == "part of a jumbo" else 0
    numbers = range(100 * seed, 100 * seed + count + extra)
    events = [Row(n, n % 3 == 0, n / 4, "x" * (n % 5), None if n % 2 else n / 2) for n in numbers]
    batch = Batch.of_events(Row, events)
    if form != "events":
        batch = batch.compact()
    if form != "local":
        batch = batch.with_system(_position=np.array(numbers))
    if "jumbo" in form:
        batch = Batch.from_jumbo(SCHEMA, encode((batch,), None, SCHEMA), extra, count)
    elif form == "selection":
        turned = batch.take(np.arange(count)[::-1])
        batch = turned.selection(np.arange(count, dtype=np.uint32)[::-1].copy())
    batch.entry_min, batch.entry_max, batch.began = seed + 1, seed + 10, seed + 20
    return batch


LANES = st.lists(st.tuples(st.integers(1, 30), st.sampled_from(FORMS)), min_size=1, max_size=4)


@settings(deadline=None)
@given(LANES, st.randoms(use_true_random=False), st.integers(1, 40), st.booleans())
def test_rows_come_in_the_order_of_the_tags(
    lanes: list[tuple[int, str]], random: object, longest: int, as_events: bool
) -> None:
    """The rows of each part go in several interleavings, as when a merge takes some of a lane, then some more."""
    batches = [rows_of(count, seed, form) for seed, (count, form) in enumerate(lanes)]
    order = [at for at, (count, _) in enumerate(lanes) for _ in range(count)]
    random.shuffle(order)  # type: ignore[attr-defined]
    taken, interleavings, expected = [0] * len(lanes), [], []
    for first in range(0, len(order), longest):
        tags = order[first : first + longest]
        parts: list[Part | None] = [
            (batch, at) if number in tags else None for number, (batch, at) in enumerate(zip(batches, taken))
        ]
        interleavings.append(Interleaving(np.array(tags, np.uint16), parts))
        for tag in tags:
            expected.append(batches[tag].events()[taken[tag]])
            taken[tag] += 1
    made = interleaved(SCHEMA, interleavings, as_events=as_events)
    assert made.schema == SCHEMA.user
    assert made.rows == len(expected)
    for name in Row.__struct_fields__:
        assert made.column(name).arrow().to_pylist() == [getattr(event, name) for event in expected]
    if all(form != "local" for _, form in lanes):
        assert made.system["_position"].data.tolist() == [event.at for event in expected]  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="read-only"):
        made["at"][0] = 1
    assert made.events() == expected
    given = [batch for batch in batches if batch.rows]
    stamps = [(batch.entry_min, batch.entry_max, batch.began) for batch in given]
    assert (made.entry_min, made.entry_max, made.began) == (
        min(each[0] for each in stamps),
        max(each[1] for each in stamps),
        min(each[2] for each in stamps),
    )


def test_a_system_column_that_not_all_parts_have_is_left_out() -> None:
    parts = [(rows_of(2, 0, "columns"), 0), (rows_of(2, 1, "local"), 0)]
    made = interleaved(SCHEMA, [Interleaving(np.array([0, 1, 1, 0], np.uint16), parts)])
    assert made.system == {}


def test_no_column_is_put_together_that_nobody_asks_for() -> None:
    parts = [(rows_of(3, 0, "columns"), 0), (rows_of(3, 1, "columns"), 0)]
    made = interleaved(SCHEMA, [Interleaving(np.array([0, 1, 1, 0], np.uint16), parts)])
    assert made["at"].tolist() == [0, 100, 101, 1]
    assert [column is not None for column in made._columns] == [True, False, False, False, False]


def test_the_rows_that_it_is_made_of_live_as_long_as_it_does() -> None:
    jumbo = rows_of(3, 1, "jumbo")
    alive = weakref.ref(jumbo._jumbo.root())  # type: ignore[union-attr]
    made = interleaved(
        SCHEMA, [Interleaving(np.array([1, 0], np.uint16), [(rows_of(3, 0, "columns"), 0), (jumbo, 1)])]
    )
    del jumbo
    gc.collect()
    assert made.column("name").arrow().to_pylist() == ["x", ""]
    del made
    gc.collect()
    assert alive() is None


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_runs_of_one_kind_have_its_rows_in_order(order: list[int]) -> None:
    kinds = [0, 1, 0, 1]
    batches = [rows_of(order.count(at) or 1, at, "columns") for at in range(4)]
    parts: list[Part | None] = [(batch, 0) if at in order else None for at, batch in enumerate(batches)]
    schemas = {0: SCHEMA, 1: SCHEMA}
    taken, expected = [0] * 4, []
    for at in order:
        expected.append((kinds[at], batches[at].events()[taken[at]]))
        taken[at] += 1
    found = list(runs(schemas, Interleaving(np.array(order, np.uint16), parts), kinds))
    assert [(kinds[at], event) for batch, at in found for event in batch.events()] == expected
    assert all(kinds[one] != kinds[next_] for (_, one), (_, next_) in pairwise(found))


def test_a_part_of_a_batch_keeps_its_entry_times() -> None:
    part = cut(rows_of(5, 2, "columns"), 1, 2)
    assert (part["at"].tolist(), part.entry_min, part.entry_max, part.began) == ([201, 202], 3, 12, 22)


def test_some_of_the_rows_carry_what_all_parts_carry() -> None:
    parts = [
        rows_of(3, seed, "columns").with_system(_position=np.arange(3), _watermark=np.arange(3))
        for seed in (0, 1)
    ]
    schema = Schema.of(Row).with_system(("_position", "_watermark"))
    tags = np.array([0, 1, 0, 1, 0, 1], np.uint16)
    both = interleaved(schema, [Interleaving(tags, [(parts[0], 0), (parts[1], 0)])])
    for batch in (both, both.take(np.array([1, 4])), both.slice(1, 2), both.with_columns(name=["n"] * 6)):
        assert [name for name in ("_position", "_watermark", "_origin") if name in batch.carried()] == [
            "_position",
            "_watermark",
        ]


def test_where_some_parts_have_rows_behind_their_watermark_the_others_are_in_time() -> None:
    behind = rows_of(3, 0, "columns").with_system(_position=np.arange(3), _watermark=np.arange(3))
    schema = Schema.of(Row).with_system(("_position", WATERMARK))
    tags = np.array([0, 1, 0, 1, 0, 1], np.uint16)
    mixed = interleaved(schema, [Interleaving(tags, [(behind, 0), (rows_of(3, 1, "local"), 0)])])
    for batch, marks in (
        (mixed, [0, IN_TIME, 1, IN_TIME, 2, IN_TIME]),
        (mixed.take(np.array([1, 4])), [IN_TIME, 2]),
        (Batch.concat([rows_of(2, 1, "local"), behind]), [IN_TIME, IN_TIME, 0, 1, 2]),
    ):
        assert WATERMARK in batch.carried()
        assert batch.system[WATERMARK].tolist() == marks
        assert "_position" not in batch.carried(), "not all have it"
