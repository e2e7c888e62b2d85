"""Programs: which accumulators the cell of a group has, and where its words lie (include/cells.h). Pure description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from actorstream.errors import ResourceError
from actorstream.native._core import ffi, lib
from actorstream.native.userfn import UserFunctionError

COUNT: int = lib.AS_COUNT
INTEGERS: int = lib.AS_INTEGERS
FLOATS: int = lib.AS_FLOATS
LEAST: int = lib.AS_LEAST
GREATEST: int = lib.AS_GREATEST
FIRST: int = lib.AS_FIRST
LAST: int = lib.AS_LAST
DISTINCT: int = lib.AS_DISTINCT
VALUES: int = lib.AS_VALUES
USER: int = lib.AS_USER
ROWS: int = lib.AS_ROWS

MOST_STEPS: int = lib.AS_PROGRAM_STEPS
MOST_VALUES: int = lib.AS_PROGRAM_VALUES
MOST_ORDERS: int = lib.AS_PROGRAM_ORDERS
MOST_ARGUMENTS: int = lib.AS_PROGRAM_ARGUMENTS
MOST_STATE: int = lib.AS_USER_BYTES


class UserState(msgspec.Struct, frozen=True):
    """The state of a USER step: how many bytes, and the addresses of the functions that change, merge and (0: it begins as
    zeros) begin it. Whoever makes it keeps the functions alive."""

    bytes: int
    add: int
    merge: int
    begin: int = 0


class Accumulator(msgspec.Struct, frozen=True):
    """One accumulator: `what` of value column `value`; of FIRST and LAST also the first of its order columns, of USER and
    ROWS all value columns that it takes (`value` is the first), of USER what its state is."""

    what: int
    value: int
    order: int = 0
    arguments: tuple[int, ...] = ()
    user: UserState | None = None


class CellProgram:
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
        self,
        hows: Sequence[int],
        steps: Sequence[Accumulator],
        *,
        orders: int = 0,
        columns: int | None = None,
    ) -> None:
        self.hows, self.steps, self.orders = tuple(hows), tuple(steps), orders
        self.columns = orders if columns is None else columns
        arguments = sum(len(step.arguments) for step in steps)
        given = (len(steps), len(hows), self.columns, arguments)
        most = (MOST_STEPS, MOST_VALUES, MOST_ORDERS, MOST_ARGUMENTS)
        if any(own > limit for own, limit in zip(given, most)):
            raise ValueError(
                "program of {} steps over {} values, {} order columns and {} arguments; allowed: {}, {}, {} and {}".format(
                    *given, *most
                )
            )
        self._program = program = ffi.new("as_program *")
        program.steps, program.values = len(steps), len(hows)
        program.orders, program.columns = orders, self.columns
        for number, how in enumerate(hows):
            program.how[number] = how
        taken = 0
        for number, step in enumerate(steps):
            made = program.step[number]
            made.what, made.value, made.order = step.what, step.value, step.order
            made.first, made.count = taken, len(step.arguments)
            for value in step.arguments:
                program.argument[taken] = value
                taken += 1
            if step.user is not None:
                user = step.user
                made.bytes, made.add, made.merge, made.begin = user.bytes, user.add, user.merge, user.begin
        if lib.as_program_init(program) != lib.AS_OK:
            raise ValueError(f"program: steps {list(steps)} do not fit values read as {list(hows)}")
        self.words: int = program.words + program.sums
        self.at = tuple(program.step[number].word for number in range(len(steps)))
        self.high = tuple(program.words + program.step[number].number for number in range(len(steps)))

    @property
    def pointer(self) -> Any:
        return self._program


def float_sums(own: npt.NDArray[np.uint64], at: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The sums of a FLOATS step with first word `at`, of cells of shape (rows, words), and which of them the cells do not
    hold."""
    first, second = (np.ascontiguousarray(own[:, word]).view(np.float64) for word in (at, at + 1))
    with np.errstate(over="ignore", invalid="ignore"):
        return first + second, np.isnan(second)


def checked(status: int, what: str, answer: int | None = None) -> int:
    """`status` if it is not negative; ResourceError for no memory, UserFunctionError for a function of the
    user's that failed, ValueError for operands that cannot be read. `answer`: what that function
    returned, where another thread called it; None: it was called in this thread."""
    if status >= 0:
        return status
    if status == lib.AS_E_MEMORY:
        raise ResourceError(f"{what}: no memory left for more groups and values")
    if status == lib.AS_E_USER:
        answer = lib.as_user_answer() if answer is None else answer
        raise UserFunctionError(f"{what}: a native function answered {answer}; allowed: 0")
    raise ValueError(f"{what}: a column cannot be read as its program says")
