"""parquet-source: columns by name, types that convert without loss, what the file says of nulls."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from actorstream.connectors import parquet_source
from actorstream.connectors.parquet_source import PIECE_BYTES, ParquetSource
from actorstream.errors import DataError
from actorstream.events.event import Event


def rows(path: Path, **keys: Any) -> list[tuple[Any, ...]]:
    source = ParquetSource(path, **keys)
    source.open(source.partitions())
    found: list[tuple[Any, ...]] = []
    while (batch := source.read(5)) is not None:
        found += zip(*(each.tolist() for each in batch.columns()))
    return found


def write(path: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


def test_columns_are_found_by_name_and_converted_without_loss(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"x": [1, 2], "b": ["p", "q"], "a": pa.array([1, 2], pa.int16())})
    assert rows(path, schema={"a": "int", "b": "str"}) == [(1, "p"), (2, "q")]
    assert rows(path, schema={"x": "int8"}) == [(1,), (2,)]
    assert rows(path, schema={"x": "float"}) == [(1.0,), (2.0,)]


def test_a_column_is_nullable_where_the_file_has_nulls(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"a": [1, None], "b": [1, 2], "c": [True, False]})
    fields = ParquetSource(path).row_schema().fields
    assert {field.name: field.nullable for field in fields} == {"a": True, "b": False, "c": False}
    assert rows(path) == [(1, 1, True), (None, 2, False)]


def test_a_column_whose_name_has_a_dot_is_nullable_where_the_file_has_nulls(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a", {"user.name": ["x", None], "user": [1, 2], "b": pa.array([5, 6], pa.int32())}
    )
    fields = ParquetSource(path).row_schema().fields
    assert {field.name: field.nullable for field in fields} == {"user.name": True, "user": False, "b": False}
    assert rows(path) == [("x", 1, 5), (None, 2, 6)]


class Dotted(Event):
    b: list[int] | None


def test_every_column_that_a_file_stores_is_known_by_its_top_level_name(tmp_path: Path) -> None:
    columns = {
        "a.b": pa.array([{"c": 1, "d.e": [{"f": "x", "g": 1.5}]}]),
        "a": pa.array(["x"]).dictionary_encode(),
        "m": pa.array(
            [[("k", {"v": 1, "w": 2})]], pa.map_(pa.string(), pa.struct({"v": pa.int8(), "w": pa.int8()}))
        ),
        "b": pa.array([[1]]),
        "id": pa.array([b"0" * 16], pa.uuid()),
        "fixed": pa.array([[1, 2]], pa.list_(pa.int8(), 2)),
    }
    with pq.ParquetFile(write(tmp_path / "a", columns)) as file:
        found = parquet_source._top_level_names(file)
        assert len(found) == file.metadata.num_columns
    assert found == ["a.b"] * 3 + ["a"] + ["m"] * 3 + ["b", "id", "fixed"]
    assert rows(tmp_path / "a", event=Dotted) == [([1],)]


def test_a_damaged_page_is_told_with_the_file_and_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_source, "PIECE_ROWS", 4)
    path = tmp_path / "a"
    values = np.random.default_rng(0).integers(0, 2**62, 3000)
    pq.write_table(
        pa.table({"a": values}), path, row_group_size=1000, compression="gzip", use_dictionary=False
    )
    data = bytearray(path.read_bytes())
    middle = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset + 200
    data[middle : middle + 50] = bytes(50)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"/a: cannot be read, in one of the rows from 1001 on: "):
        rows(path)


def test_a_value_that_does_not_fit_is_a_bad_row_at_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_source, "PIECE_ROWS", 4)
    path = write(tmp_path / "a", {"a": [*range(10), 300, 11]})
    with pytest.raises(DataError, match=r"a, line 11, column 'a'.*300"):
        rows(path, schema={"a": "int8"})
    source = ParquetSource(path, schema={"a": "int8"})
    source.on_bad_row = "skip"
    source.open(source.partitions())
    found: list[int] = []
    while (batch := source.read(5)) is not None:
        found += batch.column("a").tolist()
    assert found == [*range(10), 11]


class Shaped(Event):
    color: Literal["red", "green"]
    parts: list[int]


def test_a_time_after_the_year_9999_is_a_bad_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"t": pa.array([0, 253402300800000], pa.timestamp("ms")), "n": [1, 2]})
    with pytest.raises(DataError, match=r"a, line 2, column 't'.* outside the years 1 to 9999"):
        rows(path)
    source = ParquetSource(path)
    source.on_bad_row = "dead-letter"
    source.open(source.partitions())
    batch, rest, dead = source.read(5), source.read(5), source.take_dead()
    assert rest is None
    assert batch is not None and batch.column("n").tolist() == [1]
    assert dead is not None and dead.column("event").tolist() == ["{'t': 253402300800000, 'n': 2}"]


def test_lists_and_dictionaries_are_read_into_an_event_class(tmp_path: Path) -> None:
    colors = pa.array(["green", "red", "green"]).dictionary_encode()
    path = write(tmp_path / "a", {"color": colors, "parts": [[1], [], [2, 3]]})
    assert rows(path, event=Shaped) == [("green", [1]), ("red", []), ("green", [2, 3])]


class Member(msgspec.Struct):
    name: str
    labels: dict[str, int] = {}


class Nested(Event):
    member: Member | None
    parts: list[int] | None
    labels: dict[str, str] | None
    pairs: list[tuple[str, str]] | None
    of: dict[int, list[dict[str, float]]] | None


LABELS = pa.map_(pa.string(), pa.string())
NESTED = {
    "member": pa.struct({"name": pa.string(), "labels": pa.map_(pa.string(), pa.int64())}),
    "parts": pa.list_(pa.int32()),
    "labels": LABELS,
    "pairs": LABELS,
    "of": pa.map_(pa.int64(), pa.list_(pa.map_(pa.string(), pa.int32()))),
}


def nested(path: Path, *given: tuple[Any, ...]) -> ParquetSource:
    columns = {name: pa.array(values, kind) for (name, kind), values in zip(NESTED.items(), zip(*given))}
    source = ParquetSource(write(path, columns), event=Nested)
    source.on_bad_row = "dead-letter"
    return source


def test_structs_lists_and_maps_are_read_as_the_event_class_says(tmp_path: Path) -> None:
    given = (
        ({"name": "x", "labels": [("a", 1)]}, [1, 2], [("k", "v")], [("k", "v")], [(5, [[("f", 1)]])]),
        (None, None, None, None, None),
        ({"name": "y", "labels": []}, [], [], [("k", "1"), ("k", "2")], [(6, [])]),
    )
    source = nested(tmp_path / "a", *given)
    source.open(source.partitions())
    batch = source.read(5)
    assert batch is not None
    assert batch.column("member").tolist() == [Member("x", {"a": 1}), None, Member("y")]
    assert batch.column("parts").tolist() == [[1, 2], None, []]
    assert batch.column("labels").tolist() == [{"k": "v"}, None, {}]
    assert batch.column("pairs").tolist() == [[("k", "v")], None, [("k", "1"), ("k", "2")]]
    assert batch.column("of").tolist() == [{5: [{"f": 1.0}]}, None, {6: []}]


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("member", {"name": None, "labels": []}, "Expected `str`, got `null` - at `$.name`"),
        ("parts", [1, None], "Expected `int`, got `null` - at `$[1]`"),
        ("labels", [("k", None)], "Expected `str`, got `null` - at `$[...]`"),
        ("labels", [("k", "1"), ("k", "2")], "Expected `object | null`, got `array`"),
    ],
)
def test_a_cell_that_its_annotation_does_not_allow_is_a_bad_row(
    tmp_path: Path, column: str, value: Any, why: str
) -> None:
    good = (None,) * len(NESTED)
    bad = tuple(value if name == column else None for name in NESTED)
    source = nested(tmp_path / "a", good, bad, good)
    source.open(source.partitions())
    good_rows = 0
    while (batch := source.read(5)) is not None:
        good_rows += batch.rows
    dead = source.take_dead()
    assert good_rows == 2
    assert dead is not None
    (error,) = dead.column("error").tolist()
    assert f"line 2, column {column!r}" in error and why in error


def test_a_list_of_other_values_than_the_annotation_names_is_a_bad_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"color": ["red", "red"], "parts": [["x"], []]})
    source = ParquetSource(path, event=Shaped)
    source.on_bad_row = "skip"
    source.open(source.partitions())
    batch = source.read(5)
    assert batch is not None and batch.column("parts").tolist() == [[]]


def test_the_pieces_are_those_after_the_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_source, "PIECE_ROWS", 2)
    path = write(tmp_path / "a", {"a": list(range(20))})
    for position in range(22):
        partition = ParquetSource(path).open_file(str(path))
        assert partition.skip(position) == min(position, 20)
        found: list[int] = []
        while (piece := partition.next()) is not None:
            found += piece.batch.column("a").tolist()
        assert found == list(range(position, 20))
        partition.close()


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"prize": "int"}, "no such column; allowed: price, word; did you mean 'price'?"),
        ({"word": "int"}, "field 'word' is int64"),
        ({"price": "str"}, "field 'price' is string"),
    ],
)
def test_a_column_that_cannot_be_the_field_is_a_problem(
    tmp_path: Path, schema: dict[str, str], message: str
) -> None:
    path = write(tmp_path / "a", {"price": [1], "word": ["x"]})
    problems = ParquetSource.check({"path": path, "schema": schema}, [], tmp_path)
    assert len(problems) == 1 and message in str(problems[0])
    with pytest.raises(DataError):
        rows(path, schema=schema)


def test_a_file_that_is_not_parquet_is_a_problem_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a,b\n")
    assert "a: is not a Parquet file" in str(ParquetSource.check({"path": tmp_path / "a"}, [], tmp_path)[0])


def test_memory_does_not_grow_with_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    random = np.random.default_rng(1)
    pq.write_table(pa.table({"a": random.integers(0, 2**62, 1_000_000)}), path, row_group_size=50_000)
    source = ParquetSource(path, repeat=4)
    source.open(source.partitions())
    before, most = pa.total_allocated_bytes(), 0
    while source.read(10_000) is not None:
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < path.stat().st_size
    assert pa.total_allocated_bytes() - before < 4 << 20


@pytest.mark.parametrize("dictionary", [True, False])
def test_rows_of_long_texts_are_decoded_few_at_once(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "a.parquet"
    texts = ["x" * 200_000] * 500
    pq.write_table(
        pa.table({"n": range(500), "t": texts}), path, use_dictionary=dictionary, row_group_size=300
    )
    source = ParquetSource(path)
    source.open(source.partitions())
    found: list[int] = []
    sizes = []
    while (batch := source.read(4096)) is not None:
        found += batch["n"].tolist()
        sizes.append(batch.rows)
    assert found == list(range(500))
    assert max(sizes) * 200_000 <= PIECE_BYTES
