"""Chains of steps over columns, as jobs of a pool and as turns of a source (include/chain.h). Runs them; knows neither
schemas nor operators, and keeps nothing alive but what a chain was made of: whoever gives an address keeps what lies there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.expression import LANES
from actorstream.native.pieces import Column
from actorstream.native.pool import make_job
from actorstream.native.status import raise_status

RUN: int = lib.AS_CHAIN_RUN
GATHER: int = lib.AS_CHAIN_GATHER
MATCH: int = lib.AS_CHAIN_MATCH
FIND: int = lib.AS_CHAIN_FIND
EXPAND: int = lib.AS_CHAIN_EXPAND
TEXT: int = lib.AS_CHAIN_TEXT
USER: int = lib.AS_CHAIN_USER
ADD: int = lib.AS_CHAIN_ADD
NONE: int = lib.AS_CHAIN_NONE
MOST: int = lib.AS_CHAIN_MOST
"""Columns in or out of a step."""

_job, _unpack = lib.as_chain_job, ffi.unpack
_NO_MEMORY: int = lib.AS_E_MEMORY
_FUNCTION = int(ffi.cast("uintptr_t", ffi.addressof(lib, "as_chain_job")))
_COLUMN = "IIqQQQ"
_BYTES = 40


class ChainStep(NamedTuple):
    """The fields of `as_chain_step`; `what`, `how`: addresses, or 0."""

    kind: int
    member: int
    rows: int
    makes: int
    counted: int
    inputs: Sequence[int]
    outputs: Sequence[int]
    what: int = 0
    how: int = 0
    room: int = 1


class OutputColumn(NamedTuple):
    """A column that is written.

    Attributes:
        width: bytes of a value; 0: of texts.
        nullable: whether it may be null.
        times: for how many times the rows of a batch there is room.
    """

    width: int
    nullable: bool
    times: int = 1


class Chain:
    """Steps over numbered columns: first those that are given with each run, then those that a run returns, then what is
    only written in between, then what stays the same (of tables).

    Args:
        steps: in order.
        given: how many columns each run is given.
        returned, between: of the columns that are written.
        tables: descriptors.
        sets, members, texts: how many there are; texts: of written ones.
        keeps: what the addresses of the steps lead to.
    """

    __slots__ = (
        "_kept",
        "_pack",
        "_runs",
        "_steps",
        "_tables",
        "between",
        "count",
        "given",
        "members",
        "returned",
        "sets",
        "texts",
    )

    def __init__(
        self,
        steps: Sequence[ChainStep],
        *,
        given: int,
        returned: Sequence[OutputColumn],
        between: Sequence[OutputColumn],
        tables: Sequence[Column],
        sets: int,
        members: int,
        texts: int,
        keeps: Any,
    ) -> None:
        self.texts = texts
        self.given, self.returned, self.between = given, tuple(returned), tuple(between)
        self.sets, self.members, self.count = sets, members, len(steps)
        self._tables = tuple(tables)
        self._kept: list[Any] = [keeps]
        self._steps = ffi.new("as_chain_step[]", max(len(steps), 1))
        for made, step in zip(self._steps, steps):
            numbers = [ffi.new("uint32_t[]", list(each) or [0]) for each in (step.inputs, step.outputs)]
            self._kept.append(numbers)
            made.kind, made.member, made.rows, made.makes = step.kind, step.member, step.rows, step.makes
            made.inputs, made.outputs, made.counted = len(step.inputs), len(step.outputs), step.counted
            made.room = step.room
            made.what = ffi.cast("void *", step.what)
            setattr(made, "in", numbers[0])
            made.out, made.how = numbers[1], ffi.cast("uint32_t *", step.how)
        self._pack = Struct("<" + _COLUMN * (given + len(self.returned))).pack_into
        self._runs: list[ChainRun] = []

    def run_for(self, rows: int) -> ChainRun:
        """Memory for a run over so many rows, for the caller alone until he gives it back."""
        while self._runs:
            found = self._runs.pop()
            if found.most >= rows:
                return found
        return ChainRun(self, rows)

    def give_back(self, run: ChainRun) -> None:
        self._runs.append(run)


class ChainRun:
    """The memory of one run. `most`: rows that there is room for between its steps. `job`: `as_pool_job *`. `work`: its
    `as_chain_work *`."""

    __slots__ = (
        "_between",
        "_buffer",
        "_bytes",
        "_chain",
        "_columns",
        "_rows",
        "_took",
        "job",
        "most",
        "work",
    )

    def __init__(self, chain_: Chain, rows: int) -> None:
        self._chain, self.most = chain_, rows
        first = chain_.given + len(chain_.returned)
        count = first + len(chain_.between) + len(chain_._tables)
        self._columns = ffi.new("as_column[]", max(count, 1))
        self._buffer = ffi.buffer(self._columns)
        self._rows = ffi.new("int64_t[]", chain_.sets)
        self._took = ffi.new("uint64_t[]", chain_.members)
        self._between = [rooms(rows, each) for each in chain_.between]
        described = [
            (room.width, 0, 0, *addresses(memory, room))
            for room, memory in zip(chain_.between, self._between)
        ]
        described += chain_._tables
        Struct("<" + _COLUMN * len(described)).pack_into(
            self._buffer, first * _BYTES, *chain.from_iterable(described)
        ) if described else None
        self._bytes = ffi.gc(
            ffi.new("as_chain_bytes[]", max(chain_.texts, 1)),
            lambda bytes_: lib.as_chain_bytes_free(bytes_, len(bytes_)),
        )
        self.work = ffi.new(
            "as_chain_work *",
            (chain_._steps, self._columns, self._rows, self._took, chain_.count, self._bytes),
        )
        self.job = make_job(_FUNCTION, int(ffi.cast("uintptr_t", self.work)))

    def prepare(self, rows: int, columns: Sequence[Column]) -> None:
        """Says what the next run works on: so many rows, and descriptors of the columns given and returned."""
        self.give(columns)
        self._rows[0] = rows
        for member in range(self._chain.members):
            self._took[member] = 0

    def give(self, columns: Sequence[Column]) -> None:
        """Says where the columns given and returned lie, by their descriptors."""
        self._chain._pack(self._buffer, 0, *chain.from_iterable(columns))

    def run(self, rows: int, columns: Sequence[Column]) -> list[int] | None:
        """Runs the steps here and now, as `prepare` and the job would. Returns the rows of each set; None: a row has failed or is
        late. The time of each member adds up until `took_ns` is asked with `forget`. ResourceError: there was no memory for
        a state, which may have some of the rows."""
        self.give(columns)
        self._rows[0] = rows
        status = _job(self.work)
        if status == _NO_MEMORY:
            raise_status(status, "chain")
        return None if status else _unpack(self._rows, self._chain.sets)

    def sizes(self) -> list[int]:
        """Rows of each set, as the last run has found them."""
        return _unpack(self._rows, self._chain.sets)  # type: ignore[no-any-return]

    def took_ns(self, *, forget: bool = False) -> list[int]:
        """Of each member since the job was prepared, or since it was forgotten."""
        found: list[int] = _unpack(self._took, self._chain.members)
        for member in range(len(found) if forget else 0):
            self._took[member] = 0
        return found


Memory = tuple[np.ndarray, np.ndarray | None]
"""Values in bytes (uint8), or the offsets of texts; and a bitmap."""


def rooms(rows: int, room: OutputColumn) -> Memory:
    """Memory for a column that is written, of a batch of so many rows."""
    rows *= room.times
    bits = np.empty(-(-rows // LANES) * (LANES // 8), np.uint8) if room.nullable else None
    return np.empty(rows * room.width if room.width else 4 * (rows + 1), np.uint8), bits


def addresses(memory: Memory, room: OutputColumn) -> tuple[int, int, int]:
    """As they stand in a descriptor: of the bitmap, of the values, of offsets."""
    data, bits = memory
    validity = 0 if bits is None else address_of(bits)
    return (validity, address_of(data), 0) if room.width else (validity, 0, address_of(data))
