"""Values by the code of a category: what an expression over one field of categories comes down to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorstream.events.fields import Kind
from actorstream.operators.expressions.types import Type


def numbers_of(values: Sequence[Any], type_: Type) -> np.ndarray:
    """Numbers of a type as the 8 bytes that native code computes with, floats as float64 and all others as int64; a null as 0."""
    numbers = [0 if value is None else value for value in values]
    if type_.kind is Kind.UINT64:
        return np.array(numbers, np.uint64).view(np.int64)
    return np.array(numbers, np.float64 if type_.is_float else np.int64)


@dataclass(frozen=True)
class Table:
    """`values[code]`, and `at_null` where the field is null; None: null there."""

    type: Type
    values: tuple[Any, ...]
    at_null: Any
    spelt: str = field(init=False)
    """Tells tables apart whose values Python calls equal (1 and True)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spelt", repr((self.values, self.at_null)))

    @classmethod
    def of(cls, type_: Type, values: Sequence[Any], at_null: Any) -> Table:
        return cls(type_, tuple(values), at_null)

    def codes(self, wanted: Callable[[Any], bool]) -> list[int]:
        """The codes of the values that are wanted, ascending."""
        return [code for code, value in enumerate(self.values) if wanted(value)]

    def numbers(self) -> np.ndarray:
        """The values as `numbers_of` gives them."""
        return numbers_of(self.values, self.type)
