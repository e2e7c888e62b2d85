"""Expressions give what the same SQL gives in DuckDB, nulls included, on rows drawn by hypothesis."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import duckdb
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event, Schema
from actorstream.operators.expressions import compile_expression


class Row(Event):
    i: int
    j: int | None
    x: float
    y: float | None
    ok: bool
    maybe: bool | None
    kind: Literal["view", "click", "buy"]
    name: str
    note: str | None
    born: datetime


WORDS = st.sampled_from(["", "a", "b", "ab", "ba", "Abc", "éa", "x y", "click"])
NUMBERS = st.integers(-1000, 1000)
FLOATS = st.integers(-400, 400).map(lambda eighths: eighths / 8)
TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(lambda time: time.replace(tzinfo=UTC))
ROWS = st.lists(
    st.builds(
        Row,
        i=NUMBERS,
        j=st.none() | NUMBERS,
        x=FLOATS,
        y=st.none() | FLOATS,
        ok=st.booleans(),
        maybe=st.none() | st.booleans(),
        kind=st.sampled_from(["view", "click", "buy"]),
        name=WORDS,
        note=st.none() | WORDS,
        born=TIMES,
    ),
    min_size=1,
    max_size=40,
)
BOTH = """
i + j | i - j * 2 | -j | abs(j) | x * y | x + i | x - j | i / 4 | i * 2 > j | i <> 3 | x <= y | i + 0.5 >= j
i = 3 or j = 3 | maybe and j > 0 | maybe or j > 0 | not maybe | not (maybe and ok) | maybe is null or maybe
j is null | note is not null and length(note) > 1 | coalesce(j, i) | coalesce(y, x, 0) | coalesce(note, name)
name = note | name < note | name >= 'ab' | note in ('a', 'ab', 'x y') | j in (1, 2, 3)
j not in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) | kind = 'view' | kind in ('view', 'buy') | kind < 'c'
kind <> 'click' and i > 0 | lower(name) | upper(note) | contains(note, 'a') | length(note) | floor(x) | ceil(y)
year(born) | month(born) | day(born) | hour(born) | minute(born) | second(born) | i % 7 = 0 and i > 0
if(maybe, i, j) | if(j > 0, name, note)
"""
"""Spelt the same, but that SQL writes = and <> for == and !=."""
PAIRS = {
    **{text.strip().replace("<>", "!=").replace(" = ", " == "): text for line in BOTH.split("\n") for text in line.split("|")},
    "-10 <= i <= 10": "i between -10 and 10",
    "born > '2000-01-01'": "born > timestamp '2000-01-01'",
    "'b' in name": "contains(name, 'b')",
    "name + '!'": "name || '!'",
    "note + name": "note || name",
    "startswith(name, 'a')": "starts_with(name, 'a')",
    "endswith(note, 'b')": "ends_with(note, 'b')",
    "float32(i)": "i::real",
    "str(i)": "i::varchar",
    "int(maybe)": "maybe::bigint",
    "min(i, j) + 0": "if(j is null, null, least(i, j))",
}  # fmt: skip
PAIRS.pop("")
COMPILED = {text: compile_expression(text, Schema.of(Row)) for text in PAIRS}
TYPES = {
    "i": pa.int64(),
    "j": pa.int64(),
    "x": pa.float64(),
    "y": pa.float64(),
    "ok": pa.bool_(),
    "maybe": pa.bool_(),
    "kind": pa.string(),
    "name": pa.string(),
    "note": pa.string(),
    "born": pa.timestamp("us"),
}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool):
        return float(a) == float(b)
    return bool(a == b)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_expressions_are_what_sql_says(database: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    batch = Batch.of_events(Row, rows)
    columns = {name: [getattr(row, name) for row in rows] for name in TYPES}
    columns["born"] = [time.replace(tzinfo=None) for time in columns["born"]]
    table = pa.table({name: pa.array(columns[name], TYPES[name]) for name in TYPES})
    database.register("rows", table)
    selected = ", ".join(PAIRS.values())
    expected = database.execute(f"select {selected} from rows").fetchall()
    for number, (text, expression) in enumerate(COMPILED.items()):
        found = expression.evaluate(batch).tolist()
        for row, (mine, sql) in enumerate(zip(found, expected)):
            assert same(mine, sql[number]), f"{text} of {rows[row]}: ours {mine!r}, SQL {sql[number]!r}"


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_a_filter_keeps_what_where_keeps(database: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    batch = Batch.of_events(Row, rows)
    columns = {name: [getattr(row, name) for row in rows] for name in ("i", "j", "maybe", "note")}
    table = {name: pa.array(columns[name], TYPES[name]) for name in columns}
    database.register("rows", pa.table({"row": range(len(rows)), **table}))
    for text in (
        "maybe",
        "not maybe",
        "j > i or note is null",
        "not (j > i) and maybe",
        "note < 'b' or maybe",
    ):
        kept = database.execute(f"select row from rows where {text} order by row").fetchall()
        found = compile_expression(text, batch.schema).rows(batch).tolist()
        assert found == [row for (row,) in kept], text
