"""The value of a row depends on nothing but the row: not on its batch, its place in it, or how the batch is held."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from actorstream import Batch, Event, Int8, UInt16
from actorstream.events.fields import Kind
from actorstream.events.jumbo import decode, encode
from actorstream.operators.expressions import Cases, Projection, compile_condition, compile_expression
from actorstream.operators.expressions.lowering import Guards, Lowered, Lowering
from actorstream.operators.expressions.nodes import Node, walk


class Row(Event):
    i: int
    j: int | None
    small: Int8
    word: UInt16
    x: float
    ok: bool
    maybe: bool | None
    kind: Literal["a", "b", "c", "d"]
    mood: Literal["good", "bad"] | None
    name: str
    note: str | None
    at: datetime


ROWS = 2311
EXPRESSIONS = [
    "i * 2 + 1", "i // 7", "i % 7", "x * 1.5 - i", "min(i, small, word)", "abs(small)", "year(at) * 100 + month(at)",
    "i > 500", "small == 3", "word in (1, 5, 900)", "x < 0.25 or ok", "kind == 'b'", "kind in ('a', 'c')", "kind < 'c'",
    "mood == 'good'", "mood is null", "upper(mood)", "name == 'ab'", "contains(name, 'b')", "'a' in note",
    "lower(name) + '!'", "length(note)", "note is not null and length(note) > 1", "coalesce(j, i) - 1",
    "if(maybe, j, i)", "if(ok, name, 'none')", "str(i)", "str(x)", "not maybe", "maybe or j > 3", "maybe and j > 3",
    "i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "name in ('a', 'b', 'ab', 'ba', 'x', 'y', 'z', 'q', 'bb')", "round(x, 1)",
    "float32(x)", "int8(small)", "bool(i)", "100 <= i < 400", "i", "kind", "note", "'constant'", "7",
]  # fmt: skip


def make() -> Batch:
    draw = np.random.default_rng(5)
    words = ["", "a", "b", "ab", "ba", "aab", "é"]
    events = [
        Row(
            i=int(draw.integers(0, 1000)),
            j=None if draw.random() < 0.3 else int(draw.integers(-9, 9)),
            small=int(draw.integers(-128, 128)),
            word=int(draw.integers(0, 1000)),
            x=float(draw.random()),
            ok=bool(draw.random() < 0.5),
            maybe=[None, True, False][int(draw.integers(0, 3))],
            kind="abcd"[int(draw.integers(0, 4))],  # type: ignore[arg-type]
            mood=[None, "good", "bad"][int(draw.integers(0, 3))],  # type: ignore[arg-type]
            name=words[int(draw.integers(0, 7))],
            note=None if draw.random() < 0.3 else words[int(draw.integers(0, 7))],
            at=datetime(1969, 1, 1, tzinfo=UTC) + timedelta(hours=int(draw.integers(0, 900_000))),
        )
        for _ in range(ROWS)
    ]
    batch = Batch.of_events(Row, events)
    return Batch.of_columns(batch.schema, {name: batch.column(name) for name in batch.schema.names()})


BATCH = make()
CONDITIONS = [text for text in EXPRESSIONS if compile_expression(text, BATCH.schema).type.kind is Kind.BOOL]


@pytest.fixture(scope="module")
def whole() -> dict[str, list[Any]]:
    return {text: compile_expression(text, BATCH.schema).evaluate(BATCH).tolist() for text in EXPRESSIONS}


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("size", [1, 7, 63, 64, 65, 511, 512, 513, 2000])
def test_any_cut_into_batches_gives_the_same(text: str, size: int, whole: dict[str, list[Any]]) -> None:
    expression = compile_expression(text, BATCH.schema)
    found: list[Any] = []
    for first in range(0, ROWS if size > 1 else 200, size):
        found += expression.evaluate(BATCH.slice(first, min(size, ROWS - first))).tolist()
    assert found == whole[text][: len(found)]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_selections_jumbo_tuples_and_events_give_the_same(text: str, whole: dict[str, list[Any]]) -> None:
    expression = compile_expression(text, BATCH.schema)
    rows = np.random.default_rng(6).permutation(ROWS)[:700]
    expected = [whole[text][row] for row in rows]
    selected = BATCH.take(rows)
    assert expression.evaluate(selected).tolist() == expected
    assert expression.evaluate(selected.slice(100, 500)).tolist() == expected[100:600]
    jumbo = encode([selected], None)
    assert expression.evaluate(decode(BATCH.schema, jumbo)).tolist() == expected
    assert expression.evaluate(decode(BATCH.schema, jumbo).slice(13, 600)).tolist() == expected[13:613]
    events = Batch.of_events(Row, selected.events())
    assert expression.evaluate(events).tolist() == expected


@pytest.mark.parametrize("text", CONDITIONS)
def test_the_rows_and_the_mask_of_a_condition_are_those_where_it_is_true(
    text: str, whole: dict[str, list[Any]]
) -> None:
    expression = compile_expression(text, BATCH.schema)
    true = [row for row, value in enumerate(whole[text]) if value is True]
    assert expression.rows(BATCH).tolist() == true
    assert np.flatnonzero(expression.mask(BATCH)).tolist() == true
    assert expression.rows(BATCH).dtype == np.uint32


def test_no_rows_have_no_values() -> None:
    empty = BATCH.slice(0, 0)
    for text in EXPRESSIONS:
        column = compile_expression(text, BATCH.schema).evaluate(empty)
        assert column.length == 0 and column.tolist() == []


def test_large_offsets_and_the_type_of_the_column_make_no_difference() -> None:
    large = BATCH.with_columns(
        name=BATCH["name"].cast(pa.large_string()), note=BATCH["note"].cast(pa.large_string())
    )
    for text in (
        "name + '!'",
        "if(ok, name, note)",
        "coalesce(note, name)",
        "name == note",
        "name < note",
        "length(note)",
    ):
        expression = compile_expression(text, BATCH.schema)
        assert expression.evaluate(large).tolist() == expression.evaluate(BATCH).tolist()


def test_one_pass_over_several_expressions_gives_what_each_gives() -> None:
    texts = {f"c{number}": text for number, text in enumerate(EXPRESSIONS)}
    expressions = {name: compile_expression(text, BATCH.schema) for name, text in texts.items()}
    columns = Projection(expressions).evaluate(BATCH)
    for column, (name, expression) in zip(columns, expressions.items()):
        assert column.field.name == name
        assert column.tolist() == expression.evaluate(BATCH).tolist()


def test_cases_take_each_row_once_and_the_first_that_is_true() -> None:
    conditions = {"a": "maybe", "b": "i > 500", "c": "mood == 'good' or j > 3"}
    expressions = {name: compile_expression(text, BATCH.schema) for name, text in conditions.items()}
    found = Cases(expressions).rows(BATCH)
    values = [expression.evaluate(BATCH).tolist() for expression in expressions.values()]
    first = [next((n for n, column in enumerate(values) if column[row] is True), 3) for row in range(ROWS)]
    assert [rows.tolist() for rows in found] == [
        [row for row in range(ROWS) if first[row] == n] for n in range(4)
    ]


def test_the_memory_of_a_result_is_its_own_and_cannot_be_written() -> None:
    column = compile_expression("i + 1", BATCH.schema).evaluate(BATCH)
    again = compile_expression("i + 1", BATCH.schema).evaluate(BATCH)
    assert not np.shares_memory(column.data, again.data)
    with pytest.raises(ValueError, match="read-only"):
        column.data[0] = 1


def test_a_field_by_itself_is_its_own_column() -> None:
    assert compile_expression("i", BATCH.schema).evaluate(BATCH).data is BATCH.column("i").data
    assert compile_expression("name", BATCH.schema).evaluate(BATCH).data is BATCH.column("name").data


MANY = 40
LONG = {
    "or": " or ".join(f"i * 100 + j == {number}" for number in range(MANY)),
    "and": " and ".join(f"i * 100 + j != {number}" for number in range(MANY)),
    "coalesce": f"coalesce({', '.join(f'j * {number}' for number in range(MANY))}, i) > 3",
    "else": "".join(f"if(i % {MANY} == {number}, {number}, " for number in range(20))
    + "-1"
    + ")" * 20
    + " > 3",
    "condition": "if(" * 20 + "i" + "".join(f" * 2 > {number}, 1, i * 3)" for number in range(20)) + " > 0",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_the_parts_of_a_long_expression_are_lowered_a_few_times_each(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expression = compile_condition(text, BATCH.schema)
    count_lowered(monkeypatch, most=10 * sum(1 for _ in walk(expression.node)))
    assert len(expression.evaluate(BATCH).tolist()) == ROWS


def test_the_conditions_of_many_cases_are_lowered_a_few_times_for_each_later_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count_lowered(monkeypatch, most=20 * MANY**2)
    cases = {
        f"c{number}": compile_condition(f"i % {MANY} == {number}", BATCH.schema) for number in range(MANY)
    }
    found = Cases(cases).rows(BATCH)
    rest = BATCH["i"] % MANY
    assert [rows.tolist() for rows in found] == [np.flatnonzero(rest == n).tolist() for n in range(MANY + 1)]


def count_lowered(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Counts the nodes that are lowered from here on. AssertionError beyond `most`."""
    lower = Lowering.lower
    found: list[Node] = []

    def counted(self: Lowering, node: Node, guards: Guards = ()) -> Lowered:
        found.append(node)
        assert len(found) <= most
        return lower(self, node, guards)

    monkeypatch.setattr(Lowering, "lower", counted)
