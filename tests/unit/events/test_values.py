"""Values: what fits a column goes in and comes out the same; what does not is named with its row and value."""

from __future__ import annotations

import enum
from array import array
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import SchemaError
from actorstream.events import Field, Kind
from actorstream.events.annotation import field_of
from actorstream.events.column import Column
from actorstream.events.values import EPOCH, microseconds, pack, unpack_fixed


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


def field(annotation: Any) -> Field:
    return field_of("x", annotation, "Sample")[0]


@given(st.lists(st.text(), max_size=100))
def test_strings_of_any_length_and_content_come_back(values: list[str]) -> None:
    assert Column.from_values(field(str), values).tolist() == values


@given(st.lists(st.text(alphabet="a\0é", max_size=3), min_size=33, max_size=60))
def test_zero_characters_are_kept(values: list[str]) -> None:
    assert Column.from_values(field(str), values).tolist() == values


@given(st.lists(st.binary(), max_size=100))
def test_bytes_come_back(values: list[bytes]) -> None:
    assert Column.from_values(field(bytes), values).tolist() == values


@given(st.lists(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))])), max_size=50))
def test_datetimes_come_back_as_the_same_instants_in_utc(values: list[datetime]) -> None:
    found = Column.from_values(field(datetime), values).tolist()
    assert found == values
    assert all(value.tzinfo is UTC for value in found)


@given(st.datetimes(timezones=st.just(UTC)))
def test_one_datetime_is_packed_as_many_are(value: datetime) -> None:
    assert pack(field(datetime), [value]).data.tolist() == [microseconds(value)]


def test_a_timestamp_of_pandas_is_packed_to_the_microsecond_or_not_at_all() -> None:
    whole = pd.Timestamp("2024-05-17T12:00:00.000123", tz="Europe/Berlin")
    assert pack(field(datetime), [EPOCH, whole]).data.tolist() == [0, microseconds(whole)]
    assert Column.from_values(field(datetime), [whole]).tolist() == [whole.to_pydatetime()]
    with pytest.raises(ValueError, match="finer than a microsecond"):
        microseconds(whole + pd.Timedelta(1, "ns"))


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=50))
def test_integers_with_nulls_come_back(values: list[int | None]) -> None:
    assert Column.from_values(field(int | None), values).tolist() == values


@given(st.lists(st.floats(allow_nan=False), max_size=50))
def test_floats_come_back_to_the_bit(values: list[float]) -> None:
    found = Column.from_values(field(float), values).tolist()
    assert [value.hex() for value in found] == [value.hex() for value in values]


@given(st.lists(st.none() | st.sampled_from(Color), max_size=50))
def test_enum_members_come_back(values: list[Color | None]) -> None:
    assert Column.from_values(field(Color | None), values).tolist() == values


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_lists_travel_as_msgpack(values: list[list[int]]) -> None:
    assert Column.from_values(field(list[int]), values).tolist() == values


@pytest.mark.parametrize(
    "annotation, values, message",
    [
        (
            int,
            [1, 2**63],
            r"field 'x', row 1: 9223372036854775808 does not fit int64; allowed: -9223372036854775808 to",
        ),
        (np.int8, [1, -129], r"row 1: -129 does not fit int8; allowed: -128 to 127"),
        (np.uint8, [-1], r"row 0: -1 does not fit uint8; allowed: 0 to 255"),
        (int, [1, 2, 1.5], r"row 2: 1.5 is a float; allowed: int"),
        (int, [None], r"row 0: None in a field that is not nullable; annotate it `\| None`"),
        (int, ["7"], r"row 0: '7' is a str; allowed: int"),
        (float, ["1.5"], r"row 0: '1.5' is a str; allowed: float or int"),
        (float, [10**400], r"does not fit float64"),
        (np.float32, [1e300], r"row 0: 1e\+300 does not fit float32"),
        (bool, [True, 2], r"row 1: 2 is a int; allowed: bool"),
        (bool, [True, "no"], r"row 1: 'no' is a str; allowed: bool"),
        (str, ["a", b"b"], r"row 1: b'b' is a bytes; allowed: str"),
        (str, ["a", "\ud800"], r"row 1: '\\ud800' is not valid Unicode text"),
        (str, ["a"] * 40 + [3], r"row 40: 3 is a int; allowed: str"),
        (bytes, [b"a", "b"], r"row 1: 'b' is a str; allowed: bytes"),
        (bytes, [b"a", np.array([1, 2])], r"row 1: array\(\[1, 2\]\) is a ndarray; allowed: bytes"),
        (bytes, [b"a"] * 40 + [array("i", [1])], r"row 40: array\(.i., \[1\]\) is a array; allowed: bytes"),
        (bytes, [memoryview(b"12345678").cast("q")], r"row 0: <memory at .* is a memoryview; allowed: bytes"),
        (bytes, [np.zeros((2, 3), np.uint8)], r"is a ndarray; allowed: bytes"),
        (
            datetime,
            [EPOCH, pd.Timestamp(1001, tz=UTC)],
            r"row 1: Timestamp\(.*\) is finer than a microsecond; allowed: whole microseconds",
        ),
        (
            datetime,
            [datetime(2026, 1, 1)],
            r"datetime\(2026, 1, 1, 0, 0\) has no time zone; allowed: an aware",
        ),
        (datetime, [5], r"row 0: 5 is a int; allowed: an aware datetime"),
        (Literal["view", "click"], ["clik"], r"'clik' is not one of its categories.*did you mean 'click'"),
        (Color, [Color.RED, 3], r"row 1: 3 is not one of its categories"),
        (list[int], [[1], object()], r"row 1: <object object.*cannot be encoded"),
        (int | None, [None, "a"], r"row 1: 'a' is a str; allowed: int"),
    ],
)
def test_what_does_not_fit_is_named(annotation: Any, values: list[Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        pack(field(annotation), values)


def test_whatever_holds_single_bytes_is_taken_as_bytes() -> None:
    values: list[Any] = [
        bytearray(b"ab"),
        memoryview(b"c"),
        np.array([100, 101], np.uint8),
        array("B", [102]),
    ]
    for count in (1, 20):
        assert Column.from_values(field(bytes), values * count).tolist() == [b"ab", b"c", b"de", b"f"] * count


def test_numpy_bools_and_labels_of_categories_are_taken() -> None:
    assert Column.from_values(field(bool), [np.True_, False]).tolist() == [True, False]
    assert Column.from_values(field(Color), ["red", Color.BLUE]).tolist() == [Color.RED, Color.BLUE]


def test_a_time_that_no_datetime_can_hold_is_an_error_not_a_number() -> None:
    with pytest.raises(SchemaError, match="years 1 to 9999"):
        unpack_fixed(field(datetime), np.array([2**62]))


@pytest.mark.parametrize(
    "values",
    [
        np.array([0, 253402300800000000]),
        np.array(["1970-01-01", "10000-01-01"], "M8[us]"),
        pa.array([None, 253402300800000000], pa.timestamp("us")),
        [EPOCH, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))],
    ],
    ids=["int64", "datetime64", "arrow", "datetime"],
)
def test_a_time_that_no_datetime_can_hold_never_becomes_a_column(values: Any) -> None:
    with pytest.raises(SchemaError, match=r"field 'x', row 1: .* outside the years 1 to 9999"):
        Column.of(field(datetime | None), values)


def test_what_lies_under_a_null_is_no_time() -> None:
    times = pa.Array.from_buffers(
        pa.timestamp("us", "UTC"), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([0, 2**62]))]
    )
    assert Column.of(field(datetime | None), times).tolist() == [EPOCH, None]


def test_msgpack_of_another_type_is_refused_with_its_row() -> None:
    column = Column.from_values(field(list[int]), [[1], ["a"]])  # type: ignore[list-item]
    with pytest.raises(SchemaError, match=r"field 'x', row 1: Expected `int`, got `str`"):
        column.tolist()


def test_deeply_nested_values_do_not_crash() -> None:
    nested: Any = 1
    for _ in range(500):
        nested = [nested]
    column = Column.from_values(field(list[int]), [nested])
    with pytest.raises(SchemaError, match="Expected `int`, got `array`"):
        column.tolist()


def test_a_value_that_is_nested_too_deeply_to_be_encoded_is_named() -> None:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(
        SchemaError, match=r"field 'x', row 1: a value that is nested too deeply \(list\) cannot"
    ):
        Column.from_values(field(list[int]), [[1], nested])


def test_no_values_make_an_empty_column() -> None:
    kinds: list[Any] = [int, str, bytes, bool, float, datetime, Color, list[int]]
    for annotation in [*kinds, *(kind | None for kind in kinds)]:
        column = Column.from_values(field(annotation), [])
        assert (column.length, column.tolist(), len(column.arrow())) == (0, [], 0)
        assert Kind(column.field.kind)
