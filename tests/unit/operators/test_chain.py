"""What operators do as one chain of steps is what they do one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from actorstream.native._core import lib
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.native.pool import KernelPool
from actorstream.operators.chain import Linking, UnlinkedError
from actorstream.operators.filter import Filter
from actorstream.operators.joining.table_join import TableJoin
from actorstream.operators.map import Map
from actorstream.operators.static_join import StaticJoin, joined_schema

FIELDS = {"a": "int", "b": "int?", "x": "float", "y": "float?", "s": "int16", "f": "bool", "t": "str"}
SCHEMA = Schema.from_dict(FIELDS)
TABLE = Batch.of_columns(
    Schema.from_dict({"key": "int", "label": "int?", "weight": "float"}),
    {"key": [0, 2, 4, 6], "label": [1, None, 3, 4], "weight": [0.5, 1.5, 2.5, 3.5]},
)


def batch_of(rows: int, seed: int) -> Batch:
    random = np.random.default_rng(seed)
    null = random.random(rows) < 0.3

    def some(values: list[Any]) -> list[Any]:
        return [None if none else value for none, value in zip(null, values)]

    return Batch.of_columns(
        SCHEMA,
        {
            "a": random.integers(0, 8, rows),
            "b": some(random.integers(-3, 8, rows).tolist()),
            "x": random.random(rows),
            "y": some(random.random(rows).tolist()),
            "s": random.integers(-5, 5, rows).astype(np.int16),
            "f": random.random(rows) < 0.5,
            "t": [f"text {row % 7}" for row in range(rows)],
        },
    )


class Join(StaticJoin):
    """With a table that is known."""

    def __init__(self, on: str, how: str, rows: Schema) -> None:
        super().__init__("table", {on: "key"}, how)  # type: ignore[arg-type]
        schema, names = joined_schema(rows, TABLE.schema, self.pairs, how)
        self._join = TableJoin(TABLE, self.pairs, rows, schema, names, outer=how == "left")
        self.made = schema


STEPS = (
    ("filter", {"where": "a > 2"}),
    ("filter", {"where": "b is not null and b < 5"}),
    ("filter", {"where": "f or y > 0.5"}),
    ("filter", {"where": "t == 'text 3' or a < 4"}),
    ("filter", {"where": "a > 100"}),
    ("filter", {"where": "a >= 0"}),
    ("map", {"set": {"a": "a + s", "z": "coalesce(y, 0.0) * 2"}}),
    ("map", {"set": {"b": "b * 2", "g": "f and b is null"}}),
    ("map", {"set": {"c": "a", "d": "y"}}),
    ("map", {"set": {"a": "s"}}),
    ("map", {"select": ["x", "b", "a", "y", "s", "f", "t"]}),
    ("join", {"on": "a", "how": "inner"}),
    ("join", {"on": "b", "how": "inner"}),
    ("join", {"on": "a", "how": "left"}),
    ("join", {"on": "b", "how": "left"}),
)


def operator(kind: str, keys: dict[str, Any], schema: Schema) -> tuple[Any, Schema]:
    """An operator over rows of a schema, and the schema of what it answers."""
    if kind == "filter":
        return Filter(**keys), schema
    if kind == "join":
        join = Join(keys["on"], keys["how"], schema)
        return join, join.made
    made = Map(**keys)
    return made, Map.output_types(keys, [schema])["default"]  # type: ignore[return-value]


def through(operators: list[Any], batch: Batch | None) -> Batch | None:
    for each in operators:
        if batch is None:
            return None
        batch = each.on_batch(batch) if not isinstance(each, Join) else each._join(batch)
    return batch


def rows_of(batch: Batch | None) -> Any:
    if batch is None:
        return None
    return batch.schema.names(), [column.tolist() for column in batch.columns()]


def link(operators: list[Any], schema: Schema) -> Any:
    linking = Linking(schema)
    rows, ends = linking.rows, []
    for number, each in enumerate(operators):
        linking.member = number
        rows = each.link(linking, rows)
        ends.append(rows.number)
    return linking.finished(rows, ends)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 1200), st.integers(0, 9)), min_size=1, max_size=3),
)
def test_a_chain_answers_what_its_operators_do_one_after_the_other(
    steps: list[tuple[str, dict[str, Any]]], sizes: list[tuple[int, int]]
) -> None:
    schema, operators, joins = SCHEMA, [], 0
    for kind, keys in steps:
        joins += kind == "join"
        if (kind == "join" and joins > 1) or (not {"select"}.isdisjoint(keys) and schema is not SCHEMA):
            continue  # a table's fields are told apart once
        made, schema = operator(kind, keys, schema)
        operators.append(made)
    if not operators:
        return
    try:
        linked = link(operators, SCHEMA)
    except UnlinkedError:
        assert any("text" in str(keys) or "t" in keys.get("select", ()) for _, keys in steps)
        return
    under_way = []
    for rows, seed in sizes:
        batch = batch_of(rows, seed)
        counted: list[Any] = []
        prepared = linked.prepare(batch, lambda rows, took, into=counted: into.append((rows, took)))
        under_way.append((batch, prepared, counted))
    for batch, prepared, counted in under_way:
        KernelPool.run(prepared.job)
        assert prepared.job.outcome == 0
        found = prepared.finish()
        assert rows_of(found) == rows_of(through(operators, batch) if batch.rows else None)
        ((came, took),) = counted
        for number in range(len(operators) + 1):
            before = through(operators[:number], batch)
            assert came[number] == (0 if before is None else before.rows)
        assert len(took) == len(operators)


def test_rows_that_come_out_have_the_lineage_of_those_they_were() -> None:
    batch = batch_of(100, 1).with_system(_origin=np.arange(100))
    operators = [Filter(where="a > 2"), Map(set={"z": "a + 1"})]
    prepared = link(operators, SCHEMA).prepare(batch, lambda rows, took: None)
    KernelPool.run(prepared.job)
    found, wanted = prepared.finish(), through(operators, batch)
    assert wanted is not None
    assert found.system["_origin"].tolist() == wanted.system["_origin"].tolist()


def test_a_row_that_fails_fails_the_job() -> None:
    prepared = link([Filter(where="12 // a > 2")], SCHEMA).prepare(batch_of(100, 1), lambda rows, took: None)
    KernelPool.run(prepared.job)
    assert prepared.job.outcome == lib.AS_AGAIN


@pytest.mark.parametrize(
    "operators",
    [
        [Filter(function=lambda event: True)],
        [Map(set={"u": "upper(t)"})],
        [Filter(where="a > 2"), Map(set={"u": "t"})],
    ],
    ids=["python", "text that comes out", "text of some rows as another field"],
)
def test_what_is_no_step_is_not_linked(operators: list[Any]) -> None:
    with pytest.raises(UnlinkedError):
        link(operators, SCHEMA)


def test_a_table_with_several_rows_of_a_key_is_not_linked() -> None:
    join = Join("a", "inner", SCHEMA)
    twice = Batch.concat([TABLE, TABLE])
    join._join = TableJoin(twice, join.pairs, SCHEMA, join.made, ["label", "weight"], outer=False)
    with pytest.raises(UnlinkedError):
        link([join], SCHEMA)
