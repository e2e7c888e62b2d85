"""Sessions: cells of runs of rows that begin, extend and join (include/sessions.h). One thread at a time; calls release
the GIL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib
from actorstream.native.cells import FLOATS, CellProgram, checked
from actorstream.native.groups import (
    Groups,
    Numbers,
    int64s,
    read_sizes,
    read_texts,
    read_words,
    uint32s,
    uint64s,
)
from actorstream.native.operands import Operands
from actorstream.native.status import opened

#: The bound at which everything is over.
EVERYTHING: int = 2**63 - 1


class Sessions:
    """The cells of session windows, or of windows of so many rows.

    Args:
        keys: as for `Groups`.
        gap: of sessions; with `size`: how long a window may wait for its next row, -1: for ever.
        lateness: how long a session still takes rows after its end.
        size: rows of a window; 0: sessions.
        timed: whether rows have an event time.
    """

    __slots__ = ("_sessions", "groups", "program", "timed", "words")

    def __init__(
        self,
        keys: Sequence[tuple[int, bool]],
        program: CellProgram,
        *,
        gap: int,
        lateness: int = 0,
        size: int = 0,
        timed: bool = True,
    ) -> None:
        groups = Groups.create(keys)
        handle = lib.as_sessions_create(groups, len(keys), program.pointer, gap, lateness, size, timed)
        if handle == ffi.NULL:
            lib.as_groups_destroy(groups)
        self._sessions = ffi.gc(opened(handle, f"sessions with gap {gap}"), lib.as_sessions_destroy)
        self.program, self.words, self.timed = program, program.words, timed
        self.groups = Groups.of(lib.as_sessions_groups(self._sessions), keys, self)

    def add(
        self, operands: Operands, rows: int, frontier: int, watermarks: np.ndarray | None = None
    ) -> npt.NDArray[np.bool_] | None:
        """Adds rows: time, order, key and value columns. Answers which were late; None: none was.

        `watermarks`: int64, those of each row's partition before it; else `frontier` is that of all. Event times must
        be from 0 to 2^62 - 1 (ValueError, and nothing was changed)."""
        late = np.zeros(rows, np.bool_)
        if rows == 0:
            return None
        marks = ffi.NULL if watermarks is None else int64s(watermarks)
        found = lib.as_sessions_add(
            self._sessions, operands.pointer, rows, marks, frontier, ffi.from_buffer("uint8_t[]", late)
        )
        return late if checked(found, "aggregate") else None

    def due(self, bound: int) -> tuple[Numbers, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Takes out what is over: all whose last row + gap is below `bound`, and full windows. Answers the group, and
        the time of the first and last row, of each; `release` forgets them."""
        return self._bounds(checked(lib.as_sessions_due(self._sessions, bound), "sessions"))

    def _bounds(self, count: int) -> tuple[Numbers, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        groups: Numbers = np.empty(count, np.uint32)
        start, last = np.empty(count, np.int64), np.empty(count, np.int64)
        if count:
            lib.as_sessions_bounds(self._sessions, uint32s(groups), int64s(start), int64s(last))
        return groups, start, last

    def cells(self, which: Numbers) -> npt.NDArray[np.uint64]:
        """Cells, shape (rows, words), of some of those that `due` answered."""
        out = np.empty((len(which), self.words), np.uint64)
        if len(which):
            lib.as_sessions_cells(self._sessions, uint32s(which), len(which), uint64s(out))
        return out

    def quantile(self, step: int, q: float, which: Numbers) -> npt.NDArray[np.float64]:
        out = np.empty(len(which))
        if len(which):
            target = ffi.from_buffer("double[]", out)
            checked(
                lib.as_sessions_quantile(self._sessions, step, q, uint32s(which), len(which), target),
                "quantile",
            )
        return out

    def sums(self, step: int, which: Numbers) -> npt.NDArray[np.float64]:
        """Of a FLOATS step, rounded."""
        out = np.empty(len(which))
        if len(which):
            target = ffi.from_buffer("double[]", out)
            lib.as_sessions_sums(self._sessions, step, uint32s(which), len(which), target)
        return out

    def distinct(self, step: int, which: Numbers) -> npt.NDArray[np.int64]:
        out = np.empty(len(which), np.int64)
        if len(which):
            checked(
                lib.as_sessions_distinct(self._sessions, step, uint32s(which), len(which), int64s(out)),
                "count of distinct values",
            )
        return out

    def release(self) -> None:
        """Forgets what `due` answered, and what only that needed."""
        checked(lib.as_sessions_release(self._sessions), "sessions")

    @property
    def open(self) -> int:
        """Sessions that are not over."""
        return lib.as_sessions_open(self._sessions)  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return lib.as_sessions_bytes(self._sessions)  # type: ignore[no-any-return]

    def text_sizes(self, value: int, numbers: npt.NDArray[np.uint64]) -> np.ndarray:
        """Bytes of each text that `texts` returns."""
        return read_sizes(numbers, partial(lib.as_sessions_texts, self._sessions, value))

    def texts(self, value: int, numbers: npt.NDArray[np.uint64]) -> tuple[np.ndarray, np.ndarray]:
        """Texts of a value column of bytes: offsets and data."""
        return read_texts(numbers, partial(lib.as_sessions_texts, self._sessions, value))

    # -- for checkpoints

    def peek(self) -> tuple[Numbers, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """What `due` answers of all that are not over, without taking them out; `forget` ends that."""
        return self._bounds(checked(lib.as_sessions_peek(self._sessions), "snapshot"))

    def forget(self) -> None:
        lib.as_sessions_forget(self._sessions)

    def lists(self, step: int, which: Numbers) -> tuple[np.ndarray, np.ndarray]:
        """The values of a DISTINCT, VALUES or ROWS step, or the parts of the sums of FLOATS that their cells do not
        hold: (offsets, values)."""
        is_sum = self.program.steps[step].what == FLOATS
        read = lib.as_sessions_parts if is_sum else lib.as_sessions_lists
        return read_words(which, partial(read, self._sessions, step))

    def seen(self) -> npt.NDArray[np.uint64]:
        """Without times: how many rows each group has had, by its number."""
        out = np.empty(lib.as_sessions_seen(self._sessions, ffi.NULL), np.uint64)
        if len(out):
            lib.as_sessions_seen(self._sessions, uint64s(out))
        return out

    def text_count(self, value: int) -> int:
        return lib.as_sessions_text_count(self._sessions, value)  # type: ignore[no-any-return]

    def put_texts(self, value: int, operands: Operands, rows: int) -> None:
        checked(lib.as_sessions_put_texts(self._sessions, value, operands.pointer, rows), "restore")

    def put(self, keys: Operands, start: np.ndarray, last: np.ndarray, cells: Any) -> Numbers:
        """Puts sessions with these keys back; answers their numbers for `put_lists`."""
        numbers: Numbers = np.empty(len(cells), np.uint32)
        if len(cells):
            status = lib.as_sessions_put(
                self._sessions,
                keys.pointer,
                len(cells),
                int64s(start),
                int64s(last),
                uint64s(cells),
                uint32s(numbers),
            )
            checked(status, "restore")
        return numbers

    def put_lists(self, step: int, numbers: Numbers, offsets: np.ndarray, values: np.ndarray) -> None:
        if len(values):
            is_sum = self.program.steps[step].what == FLOATS
            put = lib.as_sessions_put_parts if is_sum else lib.as_sessions_put_lists
            status = put(
                self._sessions, step, uint32s(numbers), len(numbers), int64s(offsets), uint64s(values)
            )
            checked(status, "restore")

    def put_seen(self, keys: Operands, seen: npt.NDArray[np.uint64]) -> None:
        if len(seen):
            checked(
                lib.as_sessions_put_seen(self._sessions, keys.pointer, len(seen), uint64s(seen)), "restore"
            )
