"""Programs of vector instructions over columns (include/expression.h). Runs them; knows neither types nor nulls, and
keeps nothing alive but the tables that a program names: whoever gives an address keeps what lies there."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import chain
from struct import Struct
from typing import Any

import numpy as np

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.pieces import Column
from actorstream.native.pool import EXPRESSION
from actorstream.native.status import raise_status

NONE: int = lib.AS_X_NONE
LANES: int = lib.AS_X_LANES
"""Rows of a block: an output of bits takes a multiple of LANES / 8 bytes."""

_run = lib.as_expression_run
_NULL = ffi.NULL
_INSTRUCTION = Struct("<8HqqQQ")
_COLUMN = "IIqQQQ"
_PLAIN = "24xQ8x"
Instruction = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
"""The fields of `as_instruction`: op, out, a, b, c, active, kind, to, x, y, table, size."""


def operation(name: str) -> int:
    """The number of an operation of include/expression.h: `operation("ADD_I")`."""
    return getattr(lib, f"AS_X_{name}")  # type: ignore[no-any-return]


def kind(name: str) -> int:
    """The number of a kind of values: `kind("I64")`."""
    return getattr(lib, f"AS_{name}")  # type: ignore[no-any-return]


class ExpressionProgram:
    """Instructions with the memory that a run of them needs; for one thread at a time.

    Args:
        instructions: the first `setup` of them are run once, the others for every 512 rows.
        vectors, masks: how many registers of each sort there are.
        columns, outputs: how many of each a run is given.
        tables: what the instructions' tables lie in.
    """

    __slots__ = (
        "_columns",
        "_counts",
        "_frame",
        "_instructions",
        "_memory",
        "_outs",
        "_pack",
        "_pack_plain",
        "_program",
        "_tables",
        "_work",
        "columns",
        "job",
        "outputs",
    )

    def __init__(
        self,
        instructions: Sequence[Instruction],
        setup: int,
        vectors: int,
        masks: int,
        columns: int,
        outputs: int,
        tables: Sequence[Any] = (),
    ) -> None:
        self.columns, self.outputs, self._tables = columns, outputs, tuple(tables)
        packed = b"".join(_INSTRUCTION.pack(*each) for each in instructions)
        self._instructions = ffi.new("as_instruction[]", max(len(instructions), 1))
        ffi.memmove(self._instructions, packed, len(packed))
        self._program = ffi.new("as_expression *")
        self._program.instructions = self._instructions
        self._program.count, self._program.setup = len(instructions), setup
        self._program.vectors, self._program.masks = vectors, masks
        rest = "Q" * outputs + "8x" * outputs  # addresses, and counts set to 0
        self._pack_plain = Struct("<" + _PLAIN * columns + rest).pack_into
        self._pack = Struct("<" + _COLUMN * columns + rest).pack_into
        self._work: Any = None
        self.job: Any = None
        """`as_pool_job *` of a program that `twin` has made: runs it as `prepare` has said."""
        self._make_frame()

    def _make_frame(self) -> None:
        columns, outputs = self.columns, self.outputs
        nbytes = 40 * columns + 16 * outputs
        self._memory = ffi.new("char[]", max(nbytes, 1))
        self._frame = ffi.buffer(self._memory, max(nbytes, 1))
        self._columns = ffi.cast("as_column *", self._memory)
        self._outs = ffi.cast("void *const *", self._memory + 40 * columns)
        self._counts = ffi.cast("int64_t *", self._memory + 40 * columns + 8 * outputs)

    @property
    def address(self) -> int:
        """Of the `as_expression`, which lives as long as this object."""
        return int(ffi.cast("uintptr_t", self._program))

    def twin(self) -> ExpressionProgram:
        """The same program with memory of its own, as a job of a pool (native/pool.py)."""
        made = copy(self)
        made._make_frame()
        made._work = ffi.new(
            "as_expression_work *", (made._program, made._columns, made._outs, made._counts, 0)
        )
        made.job = ffi.new("as_pool_job *", (EXPRESSION, made._work, 0, 0, 0, 0))
        return made

    def prepare(self, rows: int, columns: Sequence[Column] | None, addresses: Sequence[int]) -> None:
        """What the next run of the job is to be given: as `run`, or without `columns` as `run_plain`."""
        if columns is None:
            self._pack_plain(self._frame, 0, *addresses)
        else:
            self._pack(self._frame, 0, *chain.from_iterable(columns), *addresses)
        self._work.rows = rows

    def run_plain(self, rows: int, addresses: Sequence[int]) -> bool:
        """Runs on columns without nulls or offsets: the addresses of their values, then those of the outputs.

        Answers whether no row has failed; if one has, the outputs are unspecified."""
        self._pack_plain(self._frame, 0, *addresses)
        status: int = _run(self._program, self._columns, rows, self._outs, self._counts, _NULL)
        if status < 0:
            raise_status(status, f"expression over {rows} rows")
        return status == 0

    def run(self, rows: int, columns: Sequence[Column], outputs: Sequence[int]) -> bool:
        """The same on any columns, by their descriptors."""
        self._pack(self._frame, 0, *chain.from_iterable(columns), *outputs)
        status: int = _run(self._program, self._columns, rows, self._outs, self._counts, _NULL)
        if status < 0:
            raise_status(status, f"expression over {rows} rows")
        return status == 0

    def count(self, output: int) -> int:
        """How many row numbers the last run stored to an output of rows."""
        return self._counts[output]  # type: ignore[no-any-return]

    def failures(self, rows: int) -> np.ndarray:
        """After a run that answered False, with all its memory still there: uint32, one a row: 0, or 1 + the number of
        the instruction that the row failed at."""
        found = np.zeros(rows, np.uint32)
        for output in range(self.outputs):
            self._counts[output] = 0
        status = _run(
            self._program,
            self._columns,
            rows,
            self._outs,
            self._counts,
            ffi.cast("uint32_t *", address_of(found)),
        )
        if status < 0:
            raise_status(status, f"expression over {rows} rows")
        return found
