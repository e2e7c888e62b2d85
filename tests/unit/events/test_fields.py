"""Fields: widths, labels and codes."""

from __future__ import annotations

import enum

import numpy as np
import pytest

from actorstream.errors import SchemaError
from actorstream.events import Field, Kind
from actorstream.events.fields import code_dtype, nearest_text


class Level(enum.IntEnum):
    LOW = 10
    HIGH = 20


class Mixed(enum.Enum):
    A = (1, 2)
    B = "b"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.DICTIONARY])
def test_width_and_dtype_agree_and_variable_fields_have_none(kind: Kind) -> None:
    field = Field("x", kind)
    variable = kind in (Kind.STRING, Kind.BYTES, Kind.MSGPACK)
    assert (field.dtype is None) == variable
    assert field.width == (0 if field.dtype is None else field.dtype.itemsize)
    assert field.plain == (not variable)
    assert not Field("x", kind, nullable=True).plain


@pytest.mark.parametrize(
    "categories, dtype", [(1, np.int8), (128, np.int8), (129, np.int16), (40000, np.int32)]
)
def test_codes_are_as_narrow_as_the_categories_allow(categories: int, dtype: type) -> None:
    assert code_dtype(categories) == dtype


def test_labels_are_the_values_where_these_are_all_text_or_all_integers() -> None:
    assert Field("x", Kind.DICTIONARY, categories=("a", "b")).labels == ("a", "b")
    assert Field("x", Kind.DICTIONARY, categories=tuple(Level)).labels == (10, 20)
    assert Field("x", Kind.DICTIONARY, categories=tuple(Mixed)).labels == ("A", "B")
    assert Field("x", Kind.DICTIONARY, categories=(1, "1")).labels == ("1", "'1'")


def test_a_code_is_found_by_category_or_label_and_else_the_nearest_is_named() -> None:
    field = Field("level", Kind.DICTIONARY, categories=("view", "click", "purchase"))
    assert [field.code(x) for x in ("view", "click", "purchase")] == [0, 1, 2]
    assert Field("x", Kind.DICTIONARY, categories=tuple(Mixed)).code("B") == 1
    with pytest.raises(SchemaError, match=r"'clik' is not one of its categories.*did you mean 'click'"):
        field.code("clik")


@pytest.mark.parametrize(
    "arguments", [("", Kind.BOOL), ("x", Kind.DICTIONARY), ("x", Kind.BOOL, False, ("a",))]
)
def test_impossible_fields_are_refused(arguments: tuple) -> None:
    with pytest.raises(SchemaError, match="allowed"):
        Field(*arguments)


def test_an_unknown_name_gets_the_allowed_ones_and_the_nearest() -> None:
    assert nearest_text("prise", ["price", "size"]) == "; allowed: price, size; did you mean 'price'?"
    assert nearest_text("x", []) == "; allowed: none"
