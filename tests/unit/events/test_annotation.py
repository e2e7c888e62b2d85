"""Annotations: which column a Python type becomes, and which types are refused."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Optional
from uuid import UUID

import msgspec
import numpy as np
import pytest

from actorstream.errors import SchemaError
from actorstream.events import Float32, Int32, Kind, UInt8
from actorstream.events.annotation import field_of


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(msgspec.Struct):
    x: int
    y: float


class Holds(msgspec.Struct):
    anything: Any


class Node(msgspec.Struct):
    value: int
    next: Node | None = None


@dataclass
class Pair:
    left: int
    right: str


class Strange:
    pass


UserId = NewType("UserId", int)


@pytest.mark.parametrize(
    "annotation, kind, nullable",
    [
        (bool, Kind.BOOL, False),
        (int, Kind.INT64, False),
        (Int32, Kind.INT32, False),
        (UInt8 | None, Kind.UINT8, True),
        (Optional[float], Kind.FLOAT64, True),  # noqa: UP045 - the old spelling too
        (Float32, Kind.FLOAT32, False),
        (np.int16, Kind.INT16, False),
        (np.bool_, Kind.BOOL, False),
        (str, Kind.STRING, False),
        (str | None, Kind.STRING, True),
        (bytes, Kind.BYTES, False),
        (datetime, Kind.DATETIME, False),
        (UserId, Kind.INT64, False),
        (Annotated[str, msgspec.Meta(max_length=3)], Kind.STRING, False),
        (Annotated[int | None, "note"], Kind.INT64, True),
        (Literal["a", "b"], Kind.DICTIONARY, False),
        (Literal["a", None], Kind.DICTIONARY, True),
        (Color | None, Kind.DICTIONARY, True),
        (list[int], Kind.MSGPACK, False),
        (dict[str, float] | None, Kind.MSGPACK, True),
        (int | str, Kind.MSGPACK, False),
        (Point, Kind.MSGPACK, False),
        (Pair, Kind.MSGPACK, False),
        (Node, Kind.MSGPACK, False),
        (Decimal, Kind.MSGPACK, False),
        (UUID, Kind.MSGPACK, False),
        (date, Kind.MSGPACK, False),
        (tuple[int, ...], Kind.MSGPACK, False),
    ],
)
def test_every_type_has_its_kind(annotation: Any, kind: Kind, nullable: bool) -> None:
    field, is_time = field_of("x", annotation, "Sample")
    assert (field.kind, field.nullable, is_time) == (kind, nullable, False)


def test_categories_keep_their_order() -> None:
    assert field_of("x", Literal["b", "a", None], "Sample")[0].categories == ("b", "a")
    assert field_of("x", Color, "Sample")[0].categories == (Color.RED, Color.BLUE)


@pytest.mark.parametrize(
    "annotation", [Any, list, dict, dict[str, Any], list[list], Holds, list[Holds | None]]
)
def test_a_type_that_leaves_values_untyped_is_refused(annotation: Any) -> None:
    with pytest.raises(SchemaError, match=r"field 'x' of Sample is annotated .*without a type; allowed"):
        field_of("x", annotation, "Sample")


@pytest.mark.parametrize("annotation", [Strange, list[Strange], complex, object])
def test_a_type_without_encoding_is_refused(annotation: Any) -> None:
    with pytest.raises(SchemaError, match=r"field 'x' of Sample is annotated"):
        field_of("x", annotation, "Sample")


def test_a_width_that_does_not_fit_the_type_is_refused() -> None:
    with pytest.raises(SchemaError, match="str cannot be kept as int32"):
        field_of("x", Annotated[str, Kind.INT32], "Sample")


def test_equal_categories_are_refused() -> None:
    with pytest.raises(SchemaError, match="1 and True are equal"):
        field_of("x", Literal[1, True], "Sample")
