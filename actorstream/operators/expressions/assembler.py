"""Instructions for native/expression.py, as they are asked for: each computed once, registers given out at the end.

Knows registers and nothing of types, nulls or batches; those are spelt out by `lowering`.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np

from actorstream.native.address import address_of
from actorstream.native.expression import NONE, ExpressionProgram, operation

# What an instruction reads as a, b and c, and writes: v a vector, m a mask, c a column, - nothing.
_SHAPES = {
    "LOAD": "c-- v", "CONSTANT": "--- v", "LOOK_UP": "c-- v", "SELECT": "vvm v", "M_TO_I": "m-- v",
    "TEXT_LENGTH": "c-- v", "BYTES_LENGTH": "c-- v", "TEXT_TO_I": "c-- v", "TEXT_TO_F": "c-- v",
    "TEXT_TO_BOOL": "c-- v",
    **dict.fromkeys(("ADD_I", "SUBTRACT_I", "MULTIPLY_I", "FLOOR_DIVIDE_I", "REMAINDER_I", "MIN_I", "MAX_I"), "vv- v"),
    **dict.fromkeys(("ADD_F", "SUBTRACT_F", "MULTIPLY_F", "DIVIDE_F", "FLOOR_DIVIDE_F", "REMAINDER_F"), "vv- v"),
    **dict.fromkeys(("MIN_F", "MAX_F"), "vv- v"),
    **dict.fromkeys(("SCALE_I", "NEGATE_I", "ABS_I", "FITS", "F_TO_I", "DATE_PART", "I_TO_F", "SINGLE_F"), "v-- v"),
    **dict.fromkeys(("NEGATE_F", "ABS_F", "ROUND_F", "FLOOR_F", "CEIL_F"), "v-- v"),
    "ALL": "--- m", "VALID": "c-- m", "TEST": "c-- m", "TEST_CODES": "c-- m",
    **dict.fromkeys(("EQUAL_I", "LESS_I", "LESS_EQUAL_I", "EQUAL_F", "LESS_F", "LESS_EQUAL_F"), "vv- m"),
    "TEST_I": "v-- m", "TEST_F": "v-- m", "IN_I": "v-- m",
    "AND": "mm- m", "OR": "mm- m", "AND_NOT": "mm- m", "NOT": "m-- m",
    **dict.fromkeys(("TEXT_EQUAL", "TEXT_LESS", "TEXT_LESS_EQUAL"), "cc- m"),
    **dict.fromkeys(("TEXT_STARTS", "TEXT_ENDS", "TEXT_CONTAINS"), "cc- m"),
    "STORE": "v-- -", "STORE_BOOLS": "m-- -", "STORE_BITS": "m-- -", "STORE_ROWS": "m-- -",
}  # fmt: skip
_SETUP = ("CONSTANT", "ALL")
FAILING = {
    "ADD_I", "SUBTRACT_I", "MULTIPLY_I", "SCALE_I", "NEGATE_I", "ABS_I", "FLOOR_DIVIDE_I", "REMAINDER_I", "FITS",
    "F_TO_I", "TEXT_TO_I", "TEXT_TO_F", "TEXT_TO_BOOL",
}  # fmt: skip


class Instruction(msgspec.Struct):
    """An instruction before it has registers: a, b and c are numbers of other steps, or of columns."""

    name: str
    operands: tuple[int, int, int]
    active: int
    kind: int
    x: int
    y: int
    table: Any
    size: int
    out: int = 0
    to: int = NONE
    origin: Any = None
    """What the step was asked for: told when a row fails at it."""

    @property
    def shape(self) -> str:
        return _SHAPES[self.name]

    def reads(self) -> list[int]:
        """The steps whose registers this one reads."""
        found = [each for each, sort in zip(self.operands, self.shape) if sort in "vm"]
        return found if self.active == NONE else [*found, self.active]


def bits(value: float) -> int:
    """The bits of a double as an int64."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


class Assembler(msgspec.Struct):
    """Steps in order. Every method answers the number of the step whose value it is."""

    steps: list[Instruction] = []
    origin: Any = None
    _known: dict[Any, int] = {}

    def emit(
        self,
        name: str,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        *,
        active: int = NONE,
        kind: int = 0,
        x: int = 0,
        y: int = 0,
        table: np.ndarray | bytes | None = None,
        size: int = 0,
    ) -> int:
        """A step with a value; the same again is the same step."""
        if isinstance(table, bytes):
            table = np.frombuffer(table, np.uint8)
        x, y = _signed(x), _signed(y)
        content = None if table is None else table.tobytes()
        key = (name, a, b, c, active, kind, x, y, content, size)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.steps)
            self.steps.append(
                Instruction(name, (a, b, c), active, kind, x, y, table, size, origin=self.origin)
            )
        return found

    def store(self, name: str, value: int, output: int, kind: int = 0, eight: bool = False) -> None:
        """Writes a value to an output. `eight`: its values have 8 bytes, so that it can be computed there."""
        producer = self.steps[value]
        if eight and producer.to == NONE and producer.name not in ("LOAD", *_SETUP):
            producer.to = output
            return
        self.steps.append(Instruction(name, (value, 0, 0), NONE, kind, 0, 0, None, 0, out=output))

    def both(self, a: int | None, b: int | None) -> int | None:
        """The rows in both masks; None: every row."""
        if a is None or b is None:
            return b if a is None else a
        return a if a == b else self.emit("AND", *sorted((a, b)))

    def all(self, value: bool) -> int:
        return self.emit("ALL", x=int(value))

    def program(self, columns: int, outputs: int) -> tuple[ExpressionProgram, list[Any]]:
        """The program, and the origin of each of its instructions."""
        wanted = self._wanted()
        order = [n for n in wanted if self.steps[n].name in _SETUP]
        setup = len(order)
        order += [n for n in wanted if self.steps[n].name not in _SETUP]
        registers, vectors, masks = self._registers(order, setup)
        instructions = []
        for number in order:
            step = self.steps[number]
            a, b, c = (
                registers[each] if sort in "vm" else each for each, sort in zip(step.operands, step.shape)
            )
            address = 0 if step.table is None else address_of(step.table)
            active = NONE if step.active == NONE else registers[step.active]
            out = step.out if step.shape[-1] == "-" else registers[number]
            instructions.append(
                (
                    operation(step.name),
                    out,
                    a,
                    b,
                    c,
                    active,
                    step.kind,
                    step.to,
                    step.x,
                    step.y,
                    address,
                    step.size,
                )
            )
        tables = [self.steps[number].table for number in order]
        made = ExpressionProgram(instructions, setup, vectors, masks, columns, outputs, tables)
        return made, [(self.steps[number].name, self.steps[number].origin) for number in order]

    def _wanted(self) -> list[int]:
        """Steps that an output or a possible failure hangs on."""
        wanted: set[int] = set()
        for number in range(len(self.steps) - 1, -1, -1):
            step = self.steps[number]
            if number in wanted or step.shape[-1] == "-" or step.to != NONE or step.name in FAILING:
                wanted.add(number)
                wanted.update(step.reads())
        return sorted(wanted)

    def _registers(self, order: list[int], setup: int) -> tuple[dict[int, int], int, int]:
        """A register for each step; one is used again after its last reader, never by that reader itself."""
        last = {read: at for at, number in enumerate(order) for read in self.steps[number].reads()}
        registers: dict[int, int] = {}
        free: dict[str, list[int]] = {"v": [], "m": []}
        count = {"v": 0, "m": 0}
        for at, number in enumerate(order):
            sort = self.steps[number].shape[-1]
            if sort != "-":
                if free[sort]:
                    registers[number] = free[sort].pop()
                else:
                    registers[number], count[sort] = count[sort], count[sort] + 1
            for read in {*self.steps[number].reads(), number}:
                ended = last.get(read, at) == at
                if (
                    ended
                    and read in registers
                    and read not in order[:setup]
                    and self.steps[read].shape[-1] != "-"
                ):
                    free[self.steps[read].shape[-1]].append(registers[read])
        return registers, count["v"], count["m"]


def _signed(value: int) -> int:
    """As the int64 of the same 64 bits."""
    return value - (1 << 64) if value >= 1 << 63 else value
