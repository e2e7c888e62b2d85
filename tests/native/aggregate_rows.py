"""Random columns as operands, and plain Python models of what states of aggregations keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.native import kernels
from actorstream.native.address import address_of
from actorstream.native.operands import MISSING, Operands

HOWS = {
    Kind.BOOL: kernels.UNSIGNED,
    Kind.INT8: kernels.SIGNED,
    Kind.INT16: kernels.SIGNED,
    Kind.INT32: kernels.SIGNED,
    Kind.INT64: kernels.SIGNED,
    Kind.UINT8: kernels.UNSIGNED,
    Kind.UINT16: kernels.UNSIGNED,
    Kind.UINT32: kernels.UNSIGNED,
    Kind.UINT64: kernels.UNSIGNED,
    Kind.FLOAT32: kernels.FLOAT,
    Kind.FLOAT64: kernels.FLOAT,
    Kind.STRING: kernels.BYTES,
    Kind.BYTES: kernels.BYTES,
}


@dataclass
class Values:
    """A column of values, held as it is or as a selection of a larger column."""

    values: list[Any]
    column: Column
    index: np.ndarray | None

    @property
    def how(self) -> int:
        return HOWS[self.column.field.kind]

    @property
    def nullable(self) -> bool:
        return self.column.field.nullable


def column(
    kind: Kind, values: list[Any], rng: np.random.Generator | None = None, *, null: bool = False
) -> Values:
    """Values as a column; with `rng` also as a slice or a selection of a longer one."""
    field = Field("value", kind, null)
    way = 0 if rng is None else int(rng.integers(0, 3))
    if way == 0 or not values:
        return Values(values, Column.from_values(field, values), None)
    if way == 1:
        before = [values[int(rng.integers(0, len(values)))] for _ in range(int(rng.integers(0, 20)))]
        whole = Column.from_values(field, before + values)
        return Values(values, whole.slice(len(before), len(values)), None)
    places = rng.permutation(len(values) + 5)[: len(values)].astype(np.uint32)
    spread = [values[0]] * (len(values) + 5)
    for value, place in zip(values, places.tolist()):
        spread[place] = value
    return Values(values, Column.from_values(field, spread), places)


class Held(Operands):
    """Operands that keep their columns."""

    __slots__ = ("columns",)


def operands(columns: list[Values | None]) -> Held:
    """What the calls take; None: an operand that is not there."""
    made = Held(len(columns))
    made.columns = columns
    flat: list[int] = []
    for each in columns:
        if each is None:
            flat += MISSING
        elif each.index is None:
            flat += (*each.column.descriptor, 0, each.how, 0)
        else:  # every other column says how few rows it has
            few = each.column.length * (len(each.values) % 2)
            flat += (*each.column.descriptor, address_of(each.index), each.how, few)
    made.fill_flat(flat)
    return made
