"""Keys: the key columns of groups, back from the numbers that native code keeps for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.fields import FLOATS, Field, Kind

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.native.groups import Groups, Numbers


def key_columns(groups: Groups, fields: tuple[Field, ...], numbers: Numbers) -> list[Column]:
    """The keys of some groups, a column a field; `numbers` must be contiguous."""
    return [key_column(groups, key, field, numbers) for key, field in enumerate(fields)]


def key_sizes(groups: Groups, fields: tuple[Field, ...], numbers: Numbers) -> np.ndarray | None:
    """Bytes that the texts among the keys of each group have; None: no key is a text."""
    total = None
    for key, field in enumerate(fields):
        if field.dtype is None:
            found = groups.text_sizes(key, numbers)
            total = found if total is None else total + found
    return total


def key_column(groups: Groups, key: int, field: Field, numbers: Numbers) -> Column:
    """Key field `key` of the groups of these numbers, as a column."""
    valid = groups.valid(key, numbers) if field.nullable else None
    if field.dtype is None:
        offsets, data = groups.texts(key, numbers)
        return text_column(field, offsets, data, valid)
    return fixed_column(field, values_of(groups.words(key, numbers), field), valid)


def values_of(words: np.ndarray, field: Field) -> np.ndarray:
    """Words of 64 bits as the values of a field of fixed width."""
    assert field.dtype is not None
    if field.kind in FLOATS:
        return words.view(np.float64).astype(field.dtype, copy=False)
    if field.kind is Kind.UINT64:
        return words
    return words.view(np.int64).astype(field.dtype, copy=False)


def fixed_column(field: Field, values: np.ndarray, valid: np.ndarray | None = None) -> Column:
    """A column of values that are the field's own; `valid`: one bool a row where it may be null."""
    values.setflags(write=False)
    bits = np.packbits(valid, bitorder="little") if valid is not None and field.nullable else None
    return Column(field, len(values), bits, values, None)


def text_column(field: Field, offsets: np.ndarray, data: np.ndarray, valid: np.ndarray | None) -> Column:
    """A column of texts or bytes over these buffers, which become read-only; valid: a bool a row, None: no nulls."""
    bits = np.packbits(valid, bitorder="little") if valid is not None and field.nullable else None
    for array in (offsets, data):
        array.setflags(write=False)
    return Column(field, len(offsets) - 1, bits, data, offsets)


def key_batch(groups: Groups, schema: Schema, numbers: Numbers) -> Batch:
    """The keys of some groups as rows of a schema of the key fields."""
    return Batch(schema, len(numbers), list(key_columns(groups, schema.fields, numbers)))
