"""jsonl-source against Python's json module, and the rules of docs/connectors.md."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream.connectors import jsonl_source
from actorstream.connectors.json_text import json_lines
from actorstream.connectors.jsonl_format import objects
from actorstream.connectors.jsonl_source import JsonlSource
from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.events.event import Event, Float32, Int8
from actorstream.events.schema import Schema

TYPES = {"i": "int", "u": "uint8?", "f": "float?", "s": "str", "n": "str?", "b": "bool", "t": "datetime?"}
texts = st.text(st.characters(codec="utf-8"), max_size=6)
rows_of_types = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.integers(0, 255),
    st.none() | st.floats(),
    texts,
    st.none() | texts,
    st.booleans(),
    st.none() | st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(jsonl_source, "BLOCK_BYTES", 150)
    yield


def read(source: JsonlSource) -> Iterator[tuple[Any, ...]]:
    source.open(source.partitions())
    while (batch := source.read(7)) is not None:
        yield from zip(*(each.tolist() for each in batch.columns()))


def rows(path: Path, **keys: Any) -> list[tuple[Any, ...]]:
    return list(read(JsonlSource(path, **keys)))


def file(folder: Path, *lines: Any) -> Path:
    path = folder / "a.jsonl"
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
    return path


def same(left: Any, right: Any) -> bool:
    return left == right or (isinstance(left, float) and isinstance(right, float) and math.isnan(left))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rows_of_types, max_size=20))
def test_what_json_lines_writes_is_read_back_and_is_what_python_reads(
    tmp_path: Path, small_blocks: None, values: list[tuple[Any, ...]]
) -> None:
    columns = {name: [row[number] for row in values] for number, name in enumerate(TYPES)}
    text = json_lines(Batch.of_columns(Schema.from_dict(TYPES), columns))
    (tmp_path / "a").write_bytes(text)
    found = rows(tmp_path / "a", schema=TYPES)
    assert len(found) == len(values)
    assert all(same(*pair) for pairs in zip(found, values) for pair in zip(*pairs))
    for line, row in zip(text.decode().split("\n"), values):
        plain = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        assert [plain[name] for name in "insb"] == [row[0], row[4], row[3], row[5]]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rows_of_types, max_size=20), st.booleans(), st.sampled_from([None, (",", ":")]))
def test_what_python_writes_is_read(
    tmp_path: Path, small_blocks: None, values: list[tuple[Any, ...]], escape: bool, separators: Any
) -> None:
    plain = [[each.isoformat() if isinstance(each, datetime) else each for each in row] for row in values]
    lines = [json.dumps(dict(zip(TYPES, row)), ensure_ascii=escape, separators=separators) for row in plain]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    found = rows(path, schema=TYPES)
    assert len(found) == len(values)
    assert all(same(*pair) for pairs in zip(found, values) for pair in zip(*pairs))


def test_fields_are_found_by_name_and_further_ones_are_ignored(tmp_path: Path) -> None:
    path = file(tmp_path, {"x": [1, {"y": 2}], "b": "t", "a": 1}, {"a": 2, "b": "u"})
    assert rows(path, schema={"a": "int", "b": "str"}) == [(1, "t"), (2, "u")]


@pytest.mark.parametrize("block_bytes", [1, 20, 1 << 19])
@pytest.mark.parametrize("kind", ["int", "int16", "uint64", "float", "float32?"])
def test_strings_of_digits_convert_to_numbers_also_where_they_are_mixed_with_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, block_bytes: int
) -> None:
    monkeypatch.setattr(jsonl_source, "BLOCK_BYTES", block_bytes)
    assert rows(file(tmp_path, {"a": "1"}, {"a": "2"}), schema={"a": kind}) == [(1,), (2,)]
    mixed = [{"a": 1}, {"a": "2"}, {"a": "3"}, {"a": 4}, {"a": 5}]
    assert rows(file(tmp_path, *mixed), schema={"a": kind}) == [(1,), (2,), (3,), (4,), (5,)]


def test_types_are_told_from_the_first_rows(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        {"i": 1, "f": 1.5, "b": True, "s": "x", "t": "2020-01-01T00:00:00Z", "z": None},
        {"i": 2, "f": 2, "b": False, "s": "y", "t": "2020-01-02T00:00:00Z"},
    )
    kinds = {each.name: (each.kind.value, each.nullable) for each in JsonlSource(path).row_schema().fields}
    assert kinds == {
        "i": ("int64", False),
        "f": ("float64", False),
        "b": ("bool", False),
        "s": ("string", False),
        "t": ("datetime", False),
        "z": ("string", True),
    }


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((2**63 - 1, -(2**63)), "int64"),
        ((2**63, 0), "uint64"),
        ((2**64 - 1, 2**63 + 1), "uint64"),
        ((1, 2.5), "float64"),
        ((2**63, 2.5), "float64"),
    ],
)
def test_integers_are_told_as_a_type_that_holds_them(
    tmp_path: Path, values: tuple[Any, Any], kind: str
) -> None:
    path = file(tmp_path, {"a": values[0]}, {"a": values[1]})
    assert JsonlSource(path).row_schema().field("a").kind.value == kind
    assert rows(path) == [(values[0],), (values[1],)]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (
            (2**64, 1),
            "field 'a' has integers from 1 to 18446744073709551616, which fit neither int64 nor uint64",
        ),
        ((2**63, -1), "which fit neither"),
        ((1, "x"), "field 'a' is a number, then text"),
        ((True, 1), "field 'a' is a bool, then a number"),
        (([1], {"x": 1}), "has no object with a field of one value"),
    ],
)
def test_a_field_that_no_type_fits_has_to_be_declared(
    tmp_path: Path, values: tuple[Any, Any], why: str
) -> None:
    path = file(tmp_path, {"a": values[0]}, {"a": values[1]})
    with pytest.raises(DataError, match=f"{why}.*declare the fields with `schema`"):
        JsonlSource(path).row_schema()


NAMES = ['q"u', "back\\slash", "two\nlines", "\x00", "a b", "class", "é\u2028"]


def test_names_that_json_spells_with_an_escape_are_written_and_read_back(tmp_path: Path) -> None:
    schema = Schema.from_dict(dict.fromkeys(NAMES, "int"))
    batch = Batch.of_columns(schema, {name: [number, -number] for number, name in enumerate(NAMES)})
    (tmp_path / "a.jsonl").write_bytes(json_lines(batch))
    assert JsonlSource(tmp_path / "a.jsonl").row_schema().names() == tuple(NAMES)
    expected = [tuple(range(len(NAMES))), tuple(-number for number in range(len(NAMES)))]
    assert rows(tmp_path / "a.jsonl") == expected
    assert rows(tmp_path / "a.jsonl", schema=dict.fromkeys(NAMES, "int")) == expected


def test_fields_that_hold_objects_or_lists_are_not_told(tmp_path: Path) -> None:
    path = file(tmp_path, {"a": 1, "b": {"x": 1}, "c": [1]}, {"a": 2, "b": 3, "d": "x"})
    assert rows(path) == [(1, None), (2, "x")]


@pytest.mark.parametrize("declared", [{}, {"schema": {"n": "int"}}], ids=["told", "declared"])
@pytest.mark.parametrize(("depth", "good"), [(199, True), (200, False), (10_000, False), (300_000, False)])
def test_a_line_that_is_nested_too_deeply_is_a_bad_row(
    tmp_path: Path, depth: int, good: bool, declared: dict[str, Any]
) -> None:
    deep = f'{{"n": 2, "other": {"[" * depth}{"]" * depth}}}'
    path = file(tmp_path, {"n": 1}, deep, {"n": 3, "other": "[" * 300})
    assert JsonlSource.check({"path": path, **declared}, [], tmp_path) == []
    source = JsonlSource(path, **declared)
    source.on_bad_row = "skip"
    assert [row[0] for row in read(source)] == ([1, 2, 3] if good else [1, 3])
    if not good:
        with pytest.raises(DataError, match=f"line 2: is nested {depth + 1} deep, allowed: 200"):
            rows(path, **declared)


class Shaped(Event):
    color: Literal["red", "green"]
    level: Literal[1, 2] | None
    parts: list[int]
    raw: bytes


SHAPED = [
    {"color": "red", "level": 2, "parts": [1, 2], "raw": "YWI="},
    {"color": "green", "parts": [], "raw": ""},
]


def test_categories_structures_and_bytes_are_read_into_an_event_class(tmp_path: Path) -> None:
    assert rows(file(tmp_path, *SHAPED), event=Shaped) == [
        ("red", 2, [1, 2], b"ab"),
        ("green", None, [], b""),
    ]


def test_one_bad_line_does_not_change_how_the_others_are_read(tmp_path: Path) -> None:
    source = JsonlSource(file(tmp_path, *SHAPED, {**SHAPED[0], "parts": ["x"]}, SHAPED[0]), event=Shaped)
    source.on_bad_row = "skip"
    assert list(read(source)) == [
        ("red", 2, [1, 2], b"ab"),
        ("green", None, [], b""),
        ("red", 2, [1, 2], b"ab"),
    ]


BAD_LINES = [
    ('{"a": 1.5, "b": "x"}', "a", "1.5 is not int8"),
    ('{"a": 300, "b": "x"}', "a", "300 is not int8"),
    ('{"a": true, "b": "x"}', "a", "true is not int8"),
    ('{"a": "", "b": "x"}', "a", '"" is not int8'),
    ('{"a": "1x", "b": "x"}', "a", '"1x" is not int8'),
    ('{"a": [1], "b": "x"}', "a", "[1] is not int8"),
    ('{"b": "x", "A": 1}', "a", "is missing"),
    ('{"a": null, "b": "x"}', "a", "is null"),
    ('{"a": 1, "b": 2}', "b", "2 is not string"),
    ('{"a": 1, "b": "x"} {"a": 1, "b": "x"}', "", "is not JSON"),
    ('{"a": 1, "b": "x"', "", "is not JSON"),
    ("[1]", "", "is a JSON list"),
    ("7", "", "is a JSON int"),
    ('{"a": 1, "b": "\\ud800"}', "b", "is not valid Unicode text"),
]


@pytest.mark.parametrize("block_bytes", [1, 60, 1 << 19])
def test_every_kind_of_bad_line_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(jsonl_source, "BLOCK_BYTES", block_bytes)
    good = '{"a": 1, "b": "x"}'
    lines = [line for bad, _, _ in BAD_LINES for line in (good, bad, "  ")]
    source = JsonlSource(file(tmp_path, *lines), schema={"a": "int8", "b": "str"})
    source.on_bad_row = "dead-letter"
    assert list(read(source)) == [(1, "x")] * len(BAD_LINES)
    dead = source.take_dead()
    assert dead is not None
    assert dead.column("event").tolist() == [bad for bad, _, _ in BAD_LINES]
    for number, (error, (_, column, why)) in enumerate(zip(dead.column("error").tolist(), BAD_LINES)):
        place = f"line {3 * number + 2}" + (f", column {column!r}" if column else "")
        assert place in error
        assert why in error or "has no value" in error


def test_a_line_that_is_not_utf8_is_a_bad_row(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b'{"a":"x"}\n{"a":"\xff"}\n{"a":"\xc3\xa9"}\n')
    with pytest.raises(DataError, match="a, line 2: is not JSON"):
        rows(tmp_path / "a", schema={"a": "str"})


def test_special_floats_are_read_as_python_writes_them_and_as_strings(tmp_path: Path) -> None:
    path = file(tmp_path, '{"a": NaN}', '{"a": -Infinity}', '{"a": "inf"}', '{"a": "nan"}', '{"a": 1}')
    found = [row[0] for row in rows(path, schema={"a": "float"})]
    assert math.isnan(found[0]) and math.isnan(found[3])
    assert [found[1], found[2], found[4]] == [-math.inf, math.inf, 1.0]


def test_a_field_that_no_object_has_is_a_problem_with_the_nearest_name(tmp_path: Path) -> None:
    path = file(tmp_path, {"price": 1, "word": "x"})
    problems = JsonlSource.check({"path": path, "schema": {"prize": "int"}}, [], tmp_path)
    assert len(problems) == 1 and "did you mean 'price'?" in str(problems[0])
    assert JsonlSource.check({"path": path, "schema": {"prize": "int?"}}, [], tmp_path) == []


@pytest.mark.parametrize("text", ["", "\n\n", '{"a": {"b": 1}}\n', "no json\n"])
def test_a_file_that_tells_no_fields_is_a_problem(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    assert [each.where for each in JsonlSource.check({"path": tmp_path / "a"}, [], tmp_path)] == ["path"]


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (b"\n\n", 0),
        (b"{}", 1),
        (b"{}\n{}\r\n\n{}", 3),
        (b'{"a":1}{"a":2}\n', 1),
        (b'{"a":\n1}\n', None),
        (b" {}\n", None),
        (b"{} \n", None),
        (b"{}\n  \n", None),
        (b"\r\n", None),
        (b"[]\n", None),
    ],
)
def test_lines_are_read_in_bulk_where_each_is_one_object(data: bytes, count: int | None) -> None:
    assert objects(data) == count


def test_two_objects_on_a_line_are_not_made_up_for_by_a_blank_line(tmp_path: Path) -> None:
    source = JsonlSource(file(tmp_path, '{"a":1}{"a":2}', "  ", '{"a":3}'), schema={"a": "int"})
    source.on_bad_row = "skip"
    assert list(read(source)) == [(3,)]
    source = JsonlSource(file(tmp_path, '{"a":1}{"a":2}', '{"a":', "3}"), schema={"a": "int"})
    source.on_bad_row = "skip"
    assert list(read(source)) == []


class Nested(Event):
    a: int
    tags: list[str]
    address: dict[str, str]


def test_objects_and_lists_need_an_event_class_and_are_left_out_without_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").write_text('{"a": 1, "tags": ["x", "y"], "address": {"city": "Z"}}\n')
    assert rows(tmp_path / "a", event=Nested) == [(1, ["x", "y"], {"city": "Z"})]
    assert rows(tmp_path / "a", schema={"a": "int"}) == [(1,)]
    assert JsonlSource.check({"path": tmp_path / "a"}, [], tmp_path) == []
    assert rows(tmp_path / "a") == [(1,)]


class Narrow(Event):
    parts: list[int]
    time: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    small: Int8 = 0
    large: int = 0
    short: Float32 = 0.0


@pytest.mark.parametrize("bad", [[], ["bad"]], ids=["in bulk", "line by line"])
@pytest.mark.parametrize("time", ["2024-02-03T04:05:06", "2024-02-03t04:05:06.000z"])
def test_a_time_without_a_zone_or_with_small_letters_is_utc_also_beside_a_structured_field(
    tmp_path: Path, time: str, bad: list[str]
) -> None:
    source = JsonlSource(file(tmp_path, {"parts": [], "time": time}, *bad), event=Narrow)
    source.on_bad_row = "skip"
    assert list(read(source)) == [([], datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC), 0, 0, 0.0)]


@pytest.mark.parametrize(
    ("name", "value"),
    [("small", 300), ("large", 2**70), ("short", 1e300), ("time", "2024-02-03T04:05:06.1234567Z")],
)
def test_a_value_that_its_field_cannot_hold_is_a_bad_row_also_beside_a_structured_field(
    tmp_path: Path, name: str, value: float | str
) -> None:
    source = JsonlSource(file(tmp_path, {"parts": [1]}, {"parts": [2], name: value}), event=Narrow)
    source.on_bad_row = "dead-letter"
    assert [row[0] for row in read(source)] == [[1]]
    dead = source.take_dead()
    assert dead is not None
    assert f"line 2, column {name!r}" in dead.column("error").tolist()[0]


class Defaults(Event):
    counts: dict[int, Decimal]
    of: list[str] = msgspec.field(default_factory=lambda: ["all"])
    size: int = 7
    maybe: int | None = 8


class PlainDefaults(Event):
    name: str
    size: int = 7
    maybe: int | None = 8


BAD_LINE = '{"counts": 1, "name": 1}'


@pytest.mark.parametrize("bad", [[], [BAD_LINE]], ids=["in bulk", "line by line"])
def test_a_missing_key_is_the_default_of_the_event_class_however_the_line_is_read(
    tmp_path: Path, bad: list[str]
) -> None:
    exact = '{"counts": {"5": 0.12345678901234567890}}'
    path = file(tmp_path, exact, {"counts": {}, "of": [], "size": 1, "maybe": None}, *bad)
    source = JsonlSource(path, event=Defaults)
    source.on_bad_row = "skip"
    digits = Decimal("0.12345678901234567890")
    assert list(read(source)) == [({5: digits}, ["all"], 7, 8), ({}, [], 1, None)]
    path = file(tmp_path, {"name": "x"}, {"name": "y", "size": 1, "maybe": None}, *bad)
    plain = JsonlSource(path, event=PlainDefaults)
    plain.on_bad_row = "skip"
    assert list(read(plain)) == [("x", 7, 8), ("y", 1, None)]


def test_no_object_needs_to_have_a_field_with_a_default(tmp_path: Path) -> None:
    path = file(tmp_path, {"name": "x"})
    assert JsonlSource.check({"path": path, "event": PlainDefaults}, [], tmp_path) == []


def test_bytes_may_be_in_a_field_whose_name_is_no_attribute(tmp_path: Path) -> None:
    assert rows(file(tmp_path, {"a b": "YWI="}), schema={"a b": "bytes"}) == [(b"ab",)]
