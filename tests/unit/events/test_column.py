"""Columns: zero-copy where promised, exact conversions, slices of slices at odd bit offsets."""

from __future__ import annotations

import enum
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import SchemaError
from actorstream.events import Column, Field, Kind, arrow
from actorstream.events.annotation import field_of
from actorstream.events.arrow import arrow_type
from actorstream.events.schema import Schema


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


NULLABLE: list[tuple[Any, Any]] = [
    (int | None, st.integers(-(2**63), 2**63 - 1)),
    (bool | None, st.booleans()),
    (float | None, st.floats(allow_nan=False)),
    (str | None, st.text(max_size=5)),
    (bytes | None, st.binary(max_size=5)),
    (datetime | None, st.datetimes(timezones=st.just(UTC))),
    (Color | None, st.sampled_from(Color)),
    (Literal[1, 2, None], st.sampled_from([1, 2])),
    (list[int] | None, st.lists(st.integers(0, 9), max_size=3)),
]


def field(annotation: Any) -> Field:
    return field_of("x", annotation, "Sample")[0]


@pytest.mark.parametrize("annotation, strategy", NULLABLE)
@given(data=st.data())
def test_a_repeated_value_is_a_column_of_that_value_in_all_rows(
    annotation: Any, strategy: Any, data: st.DataObject
) -> None:
    value, rows = data.draw(st.none() | strategy), data.draw(st.integers(0, 20))
    column = Column.repeated(field(annotation), value, rows)
    assert column.tolist() == Column.from_values(field(annotation), [value] * rows).tolist() == [value] * rows
    assert (
        column.slice(rows // 2, rows - rows // 2).arrow().to_pylist()
        == column.arrow().to_pylist()[rows // 2 :]
    )
    assert not column.data.flags.writeable


def test_a_value_that_does_not_fit_is_not_repeated() -> None:
    for annotation, value in ((int, "3"), (int, None), (str, 3), (np.int8, 300)):
        with pytest.raises(SchemaError, match="field 'x', value 0"):
            Column.repeated(field(annotation), value, 5)


@pytest.mark.parametrize("annotation, strategy", NULLABLE)
@given(data=st.data())
def test_slices_takes_and_copies_of_nullable_columns_keep_their_values(
    annotation: Any, strategy: Any, data: st.DataObject
) -> None:
    values = data.draw(st.lists(st.none() | strategy, max_size=40))
    column, expected = Column.from_values(field(annotation), values), values
    for _ in range(3):
        first = data.draw(st.integers(0, len(expected)))
        rows = data.draw(st.integers(0, len(expected) - first))
        column, expected = column.slice(first, rows), expected[first : first + rows]
        assert column.tolist() == expected
        assert Column.from_arrow(column.field, column.arrow()).tolist() == expected
        assert column.copy().tolist() == expected
        assert column.valid().tolist() == [value is not None for value in expected]
    if expected:
        index = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=10))
        taken = column.take(np.array(index, np.uint32))
        assert taken.tolist() == [expected[i] for i in index]
        assert Column.concat([column, taken]).tolist() == column.tolist() + taken.tolist()


@pytest.mark.parametrize("annotation, strategy", NULLABLE)
@given(data=st.data())
def test_arrow_sees_the_same_values(annotation: Any, strategy: Any, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | strategy, max_size=40))
    own = field(annotation)
    array = Column.from_values(own, values).arrow()
    array.validate(full=True)
    assert array.type == arrow_type(own)
    if own.kind is not Kind.MSGPACK:
        expected = [value.value if isinstance(value, Color) else value for value in values]
        assert array.to_pylist() == expected


def test_plain_columns_are_views_of_the_array_they_were_made_from_and_read_only() -> None:
    array = np.arange(10)
    column = Column.from_numpy(field(int), array)
    assert np.shares_memory(column.numpy(), array)
    assert not column.numpy().flags.writeable and array.flags.writeable
    assert np.shares_memory(column.slice(2, 5).numpy(), array)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float32", "float64", "bool"])
def test_arrow_and_numpy_share_memory_of_fixed_columns(dtype: str) -> None:
    array = np.array([0, 1, 1, 0]).astype(dtype)
    column = Column.from_numpy(Field("x", Kind(dtype)), array)
    arrow = column.arrow()
    storage = arrow.storage if dtype == "bool" else arrow
    assert storage.buffers()[1].address == array.ctypes.data
    back = Column.from_arrow(column.field, arrow)
    assert np.shares_memory(back.numpy(), array)


def test_arrow_bools_are_extension_arrays_of_one_byte() -> None:
    arrow = Column.from_values(field(bool), [True, False]).arrow()
    assert arrow.type == pa.bool8() and arrow.to_pylist() == [True, False]
    odd = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 2, -1], pa.int8()))
    assert Column.from_arrow(field(bool), odd).numpy().tolist() == [False, True, True]
    assert Column.from_arrow(field(bool), pa.array([True, False])).numpy().tolist() == [True, False]


def test_strings_of_either_offset_width_are_not_copied() -> None:
    for kind in (pa.string(), pa.large_string()):
        array = pa.array(["a", "bc", "déf"] * 10, kind)[1:]
        column = Column.from_arrow(field(str), array)
        assert column.arrow().type == kind
        assert column.arrow().buffers()[2].address == array.buffers()[2].address
        assert column.tolist() == array.to_pylist()
    both = [
        Column.from_values(field(str), ["x"]),
        Column.from_arrow(field(str), pa.array(["y"], pa.large_string())),
    ]
    assert Column.concat(both).tolist() == ["x", "y"]


@pytest.mark.parametrize(
    "annotation, array, expected",
    [
        (int, np.array([1, 2], np.int8), [1, 2]),
        (int, np.array([1, 2], np.uint64), [1, 2]),
        (np.uint8, np.array([0, 255]), [0, 255]),
        (float, np.array([1, 2]), [1.0, 2.0]),
        (np.float32, np.array([0.5]), [0.5]),
        (int, np.arange(10)[::3], [0, 3, 6, 9]),
        (int, np.array([1, 2], ">i8"), [1, 2]),
        (str, np.array(["a", "bc"]), ["a", "bc"]),
        (int, np.array([1, 2], object), [1, 2]),
        (int | None, np.array([1, 2]), [1, 2]),
        (int | None, np.ma.masked_array([1, 2], [False, True]), [1, None]),
        (datetime, np.array(["2026-01-01"], "M8[D]"), [datetime(2026, 1, 1, tzinfo=UTC)]),
        (Color, np.array([1, 0]), [Color.BLUE, Color.RED]),
        (Color, np.array(["red"]), [Color.RED]),
    ],
)
def test_arrays_of_another_type_are_converted_when_no_value_changes(
    annotation: Any, array: np.ndarray, expected: list[Any]
) -> None:
    assert Column.of(field(annotation), array).tolist() == expected


@pytest.mark.parametrize(
    "annotation, array, expected",
    [
        (int, pa.array([1, 2], pa.int8()), [1, 2]),
        (int, pa.chunked_array([[1], [2, 3]]), [1, 2, 3]),
        (int, pa.chunked_array([], pa.int64()), []),
        (float, pa.array([1, 2]), [1.0, 2.0]),
        (float, pa.array([1.5], pa.float32()), [1.5]),
        (np.float32 | None, pa.array([float("inf"), None, 0.5]), [float("inf"), None, 0.5]),
        (str, pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (str | None, pa.nulls(2), [None, None]),
        (bool | None, pa.nulls(1), [None]),
        (Color | None, pa.nulls(1), [None]),
        (bytes, pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        (datetime, pa.array([0], pa.timestamp("ms")), [datetime(1970, 1, 1, tzinfo=UTC)]),
        (datetime, pa.array([0], pa.timestamp("s", "Europe/Berlin")), [datetime(1970, 1, 1, tzinfo=UTC)]),
        (datetime, pa.array([1], pa.date32()), [datetime(1970, 1, 2, tzinfo=UTC)]),
        (Color, pa.array(["blue", "red"]), [Color.BLUE, Color.RED]),
        (Color | None, pa.array(["blue", None], pa.large_string()), [Color.BLUE, None]),
        (Color, pa.array(["blue", "blue"]).dictionary_encode(), [Color.BLUE, Color.BLUE]),
        (Literal[10, 20], pa.array([20, 10], pa.int16()), [20, 10]),
        (list[int], pa.array([[1], [2, 3]]), [[1], [2, 3]]),
        (list[int] | None, pa.array([[1], None]), [[1], None]),
    ],
)
def test_arrow_arrays_of_another_type_are_cast_when_no_value_changes(
    annotation: Any, array: Any, expected: list[Any]
) -> None:
    assert Column.of(field(annotation), array).tolist() == expected


@pytest.mark.parametrize(
    "annotation, values, message",
    [
        (np.int8, np.array([1, 300]), r"field 'x', row 1: 300 does not fit int8; allowed: -128 to 127"),
        (int, np.array([2**63], np.uint64), r"row 0: 9223372036854775808 does not fit int64"),
        (int, np.array([1.5]), r"is int64, the array is float64; allowed: int64"),
        (bool, np.array([1, 0]), r"is bool, the array is int64; allowed: bool"),
        (str, np.array([1]), r"is string, the array is int64; allowed: an Arrow array or a list"),
        (str, np.array([1.5]), r"is string, the array is float64; allowed: an Arrow array or a list"),
        (int, np.zeros((2, 2)), r"shape \(2, 2\); allowed: one dimension"),
        (
            Color,
            np.array([0, 2]),
            r"row 1: code 2 is not one of its categories; allowed: 0 to 1 for \['red', 'blue'\]",
        ),
        (datetime, np.array(["NaT"], "M8[s]"), r"row 0: NaT"),
        (int, pa.array([1, None]), r"field 'x', row 1: null in a field that is not nullable"),
        (np.int8, pa.array([300]), r"field 'x' is int8: Integer value 300 not in range"),
        (np.float32, pa.array([float("inf"), 1e39]), r"field 'x', row 1: 1e\+39 does not fit float32"),
        (int, pa.array(["1"]), r"is int64, the Arrow array is string; allowed: int64"),
        (int, pa.array([1.0]), r"is int64, the Arrow array is double"),
        (str, pa.array([1]), r"is string, the Arrow array is int64"),
        (Color, pa.array(["red", "gren"]), r"row 1: 'gren' is not one of its categories"),
        (Literal[1, 2], pa.array([2**63], pa.uint64()), r"field 'x' is dictionary: .*9223372036854775808"),
        (Color, pa.array([1]), r"dictionary of string, the Arrow array is int64"),
        (int, 3, r"int 3 is not a column; allowed: a NumPy array"),
        (str, "abc", r"str 'abc' is not a column"),
    ],
)
def test_what_would_change_a_value_is_refused(annotation: Any, values: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Column.of(field(annotation), values)


def test_a_column_of_another_width_becomes_the_field_it_is_asked_for() -> None:
    column = Column.from_values(field(np.int32), [1, 2])
    assert column.renamed(field(int)).numpy().dtype == np.int64
    nullable = column.renamed(field(np.int32 | None))
    assert nullable.field.nullable and np.shares_memory(nullable.data, column.data)
    with pytest.raises(SchemaError, match="null in a field"):
        Column.from_values(field(int | None), [None]).renamed(field(int))
    assert Column.from_values(field(int | None), [3]).renamed(field(int)).numpy().tolist() == [3]


def test_only_plain_columns_have_a_numpy_form() -> None:
    for annotation, values in ((str, ["a"]), (int | None, [1])):
        with pytest.raises(SchemaError, match=r"no zero-copy NumPy form; allowed: arrow\(\)"):
            Column.from_values(field(annotation), values).numpy()


def test_descriptors_say_where_the_values_lie() -> None:
    array = np.arange(5, dtype=np.int32)
    column = Column.from_numpy(field(np.int32), array)
    assert column.descriptor == (4, 0, 0, 0, array.ctypes.data, 0)
    assert column.slice(2, 2).descriptor == (4, 0, 0, 0, array.ctypes.data + 8, 0)
    text = Column.from_values(field(str | None), ["a", None, "b"]).slice(1, 2)
    width, wide, first, validity, data, offsets = text.descriptor
    assert (width, wide, first) == (0, 0, 1) and validity and data and offsets
    wide_text = Column.from_arrow(field(str), pa.array(["a"], pa.large_string()))
    assert wide_text.descriptor[1] == 1


def test_nbytes_counts_only_the_rows() -> None:
    text = Column.from_values(field(str), ["abc"] * 100)
    assert text.nbytes == 300 + 101 * 4
    assert text.slice(10, 2).nbytes == 6 + 12
    assert Column.from_values(field(int | None), [1, None]).nbytes == 17


def test_copies_let_go_of_the_original() -> None:
    text = Column.from_values(field(str), ["abc"] * 100).slice(50, 2).copy()
    assert len(text.data) == 6 and text.data.base is None


@given(
    st.lists(st.sampled_from(["", "a", "b", "ab", "aba"]), min_size=1, max_size=12),
    st.booleans(),
    st.integers(0, 2),
)
def test_a_column_knows_whether_all_its_texts_are_the_same(values: list[str], same: bool, first: int) -> None:
    values = values[:1] * len(values) if same else values
    column = Column.from_values(field(str), ["xy"] * first + values + ["z"]).slice(first, len(values))
    assert column.repeats() == (len(set(values)) == 1)


@pytest.mark.parametrize("kind", ["str", "bytes"])
def test_texts_that_narrow_offsets_do_not_reach_are_put_together_with_wide_ones(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = Schema.from_dict({"x": kind}).fields[0]
    values = ["text" * 10, "more"] if kind == "str" else [b"text" * 10, b"more"]
    parts = [Column.of(field, values) for _ in range(3)]
    assert Column.concat(parts).arrow().type == arrow_type(field)
    monkeypatch.setattr(arrow, "MOST_NARROW", 100)
    found = Column.concat(parts).arrow()
    assert found.type == arrow_type(field, wide=True)
    assert found.to_pylist() == values * 3


def test_a_null_among_the_values_of_a_dictionary_is_a_null_of_its_rows() -> None:
    array = pa.DictionaryArray.from_arrays([0, 1, 0], ["a", None])
    with pytest.raises(SchemaError, match="row 1: null in a field that is not nullable"):
        Column.of(Schema.from_dict({"x": "str"}).fields[0], array)
    assert Column.of(Schema.from_dict({"x": "str?"}).fields[0], array).arrow().to_pylist() == ["a", None, "a"]
