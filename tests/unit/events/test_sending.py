"""Whatever was done to rows before they are sent, what arrives is what the batch says they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.jumbo import HeapBlock, JumboTuple, decode, encode
from actorstream.events.schema import Schema
from actorstream.events.sending import own_table
from actorstream.native.pieces import ColumnTable, Pieces


class Wide(Event, event_time="at"):
    at: int
    name: str
    maybe: float | None
    small: bool


class Narrow(Event):
    name: str
    maybe: float | None


SYSTEM = ("_position", "_origin")
ROWS = 40
Model = list[dict[str, Any]]


def base(form: str) -> tuple[Batch, Model]:
    """Rows held in some form, and what they are."""
    events = [Wide(n, "x" * (n % 4) + str(n), None if n % 3 else n / 2, n % 5 == 0) for n in range(ROWS)]
    batch = Batch.of_events(Wide, events)
    if form != "events":
        batch = batch.compact()
    batch = batch.with_system(_position=np.arange(ROWS) + 7, _origin=np.arange(ROWS) % 3)
    if form == "bytes":
        schema = Schema.of(Wide).with_system(SYSTEM)
        batch = decode(schema, encode([batch], None, schema))
    names = ("at", "name", "maybe", "small")
    model = [
        {name: getattr(event, name) for name in names} | {"_position": n + 7, "_origin": n % 3}
        for n, event in enumerate(events)
    ]
    return batch, model


def done(batch: Batch, model: Model, step: str, number: int) -> tuple[Batch, Model]:
    """Does a step to the batch, and the same to the model."""
    rows = len(model)
    if step == "slice":
        first = min(number, rows)
        count = (rows - first + 1) // 2
        return batch.slice(first, count), model[first : first + count]
    if step == "take":
        index = [(each * 7 + number) % rows for each in range(0, rows, 2)] if rows else []
        return batch.take(np.array(index, np.int64)), [model[row] for row in index]
    if step == "narrow":
        return batch.with_columns(event=Narrow), model
    if step == "replace":
        return batch.with_columns(name=[f"new {row}" for row in range(rows)]), [
            {**each, "name": f"new {row}"} for row, each in enumerate(model)
        ]
    if step == "place":
        return batch.with_system(_position=np.arange(rows)), [
            {**each, "_position": row} for row, each in enumerate(model)
        ]
    if step == "read":
        assert len(batch["name"]) == rows
    else:
        assert step == "ask"
        assert set(SYSTEM) <= set(batch.system)
    return batch, model


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["slice", "take", "narrow", "replace", "place", "read", "ask"]), st.integers(0, 9)
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(["columns", "events", "bytes"]), STEPS, st.booleans())
def test_what_is_encoded_is_what_the_batch_has(
    form: str, steps: list[tuple[str, int]], ordered: bool
) -> None:
    batch, model = base(form)
    for step, number in steps:
        batch, model = done(batch, model, step, number)
    schema = batch.schema.with_system(SYSTEM if ordered else ())
    wanted = [*batch.schema.names(), *(SYSTEM if ordered else ())]
    arrived = decode(schema, encode([batch], None, schema))
    assert_same(arrived, model, wanted)
    table = own_table(batch, schema)
    if table is not None:  # rows straight from the columns, as a share of them is sent
        index = np.arange(batch.rows - 1, -1, -2, dtype=np.uint32)
        assert_same(gathered(schema, table, index), model[::-2], wanted)


def test_values_that_a_part_has_replaced_are_not_looked_at() -> None:
    bad: list[list[Any]] = [[0, 1, 2], ["no bytes"] * 3, [None] * 3, [True] * 3]
    bad[0][0] = "no number"
    batch = Batch.of_values(Wide, bad).slice(1, 2).with_columns(at=[5, 6])
    schema = Schema.of(Wide)
    assert decode(schema, encode([batch], None, schema)).column("at").tolist() == [5, 6]


def gathered(schema: Schema, table: ColumnTable, index: np.ndarray) -> Batch:
    """Those rows of what a table describes."""
    pieces = Pieces(len(schema.fields))
    pieces.set(table, len(index), 0, index.ctypes.data)
    block = HeapBlock.allocate(pieces.measure())
    pieces.write(block.address, block.nbytes, schema.fingerprint, 0)
    return decode(schema, JumboTuple(block, len(index), size=block.nbytes))


def assert_same(batch: Batch, model: Model, names: list[str]) -> None:
    """Compares the columns of a batch with what its rows are."""
    found = {name: batch.column(name).tolist() for name in names}
    assert found == {name: [each[name] for each in model] for name in names}
