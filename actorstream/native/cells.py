"""Programs: which accumulators the cell of a group has, and where its words lie (include/cells.h). Pure description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actorstream.errors import ResourceError
from actorstream.native._core import ffi, lib

COUNT: int = lib.AS_COUNT
INTEGERS: int = lib.AS_INTEGERS
FLOATS: int = lib.AS_FLOATS
LEAST: int = lib.AS_LEAST
GREATEST: int = lib.AS_GREATEST
FIRST: int = lib.AS_FIRST
LAST: int = lib.AS_LAST
DISTINCT: int = lib.AS_DISTINCT
VALUES: int = lib.AS_VALUES

MOST_STEPS: int = lib.AS_PROGRAM_STEPS
MOST_VALUES: int = lib.AS_PROGRAM_VALUES
MOST_ORDERS: int = lib.AS_PROGRAM_ORDERS


@dataclass(frozen=True)
class Step:
    """One accumulator: `what` of value column `value`; of FIRST and LAST also the first of its order columns."""

    what: int
    value: int
    order: int = 0


class Program:
    """The accumulators of a cell.

    Args:
        hows: how each value column is read (kernels.SIGNED, UNSIGNED, FLOAT, BYTES).
        orders: order columns of each FIRST and LAST; columns: order columns in all.

    Attributes:
        words: int64 words of a cell as the states answer it, with the high words of the sums at its end.
        at: first word of each step. high: word with the upper half of the sum, of INTEGERS steps.
    """

    __slots__ = ("_program", "at", "columns", "high", "hows", "orders", "steps", "words")

    def __init__(
        self, hows: Sequence[int], steps: Sequence[Step], *, orders: int = 0, columns: int | None = None
    ) -> None:
        self.hows, self.steps, self.orders = tuple(hows), tuple(steps), orders
        self.columns = orders if columns is None else columns
        if len(steps) > MOST_STEPS or len(hows) > MOST_VALUES or self.columns > MOST_ORDERS:
            raise ValueError(
                f"program of {len(steps)} steps over {len(hows)} values and {self.columns} order columns; allowed: "
                f"{MOST_STEPS}, {MOST_VALUES} and {MOST_ORDERS}"
            )
        self._program = program = ffi.new("as_program *")
        program.steps, program.values = len(steps), len(hows)
        program.orders, program.columns = orders, self.columns
        for number, how in enumerate(hows):
            program.how[number] = how
        for number, step in enumerate(steps):
            made = program.step[number]
            made.what, made.value, made.order = step.what, step.value, step.order
        if lib.as_program_init(program) != lib.AS_OK:
            raise ValueError(f"program: steps {list(steps)} do not fit values read as {list(hows)}")
        self.words: int = program.words + program.sums
        self.at = tuple(program.step[number].word for number in range(len(steps)))
        self.high = tuple(program.words + program.step[number].number for number in range(len(steps)))

    @property
    def pointer(self) -> Any:
        return self._program


def checked(status: int, what: str) -> int:
    """`status` if it is not negative; ResourceError for no memory, ValueError for operands that cannot be read."""
    if status >= 0:
        return status
    if status == lib.AS_E_MEMORY:
        raise ResourceError(f"{what}: no memory left for more groups and values")
    raise ValueError(f"{what}: a column cannot be read as its program says")
