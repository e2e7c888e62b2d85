"""A ScaleGate between threads of this process; include/scalegate.h says how it works. Knows addresses only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.status import raise_status

#: What a source promises that leaves.
LEAVES = 2**63 - 1
_INT64 = ffi.typeof("int64_t *")
_cast = ffi.cast


class View(NamedTuple):
    """What the merge has come to."""

    logged: int
    """Stretches so far."""
    reached: int
    """No row of a later stretch is below it."""
    waited: int
    """The least time of rows that were added and are in no stretch yet; `LEAVES`: there are none."""
    is_full: bool
    """Such a row may be ready: the slowest reader leaves no room for more stretches."""


class Stretches:
    """Room for stretches that a reader is given.

    Args:
        room: how many. rows: once all together have so many, there is no further one.
    """

    __slots__ = ("count", "memory", "room", "rows", "tags")

    def __init__(self, room: int, rows: int) -> None:
        self.room, self.rows = room, rows
        self.count = 0
        self.memory = ffi.new("as_stretch[]", room)
        self.tags = ffi.new("uint16_t[]", rows + lib.AS_SCALEGATE_BLOCK)
        """Of the mixed rows, the source of each."""


class ScaleGate:
    """What sources add in order of time comes out for each reader in one order (viper-scalegate §3.3, Definition 1).

    Sources and readers may be different threads; one thread each at a time.

    Args:
        ranks: of the sources; among rows of equal time the lower rank goes first.
        readers: each gets all rows.
        runs: how many runs a source may have added that not all readers have passed; a power of two.
        stretches: how many may wait for the slowest reader; a power of two.
        ties: int64 columns that order rows of equal time and rank.

    Raises:
        ValueError: a number out of range.
    """

    __slots__ = ("_first", "_gate", "_memory", "_runs", "_time", "_view", "ties")

    def __init__(
        self, ranks: Sequence[int], readers: int = 1, *, runs: int = 64, stretches: int = 1024, ties: int = 0
    ) -> None:
        size = lib.as_scalegate_size(len(ranks), readers, runs, stretches)
        what = (
            f"ScaleGate of {len(ranks)} sources, {readers} readers, {runs} runs, {stretches} stretches, {ties} tie "
            "columns (1 to 65,535 sources and readers, powers of two, up to 8 tie columns)"
        )
        if size == 0:
            raise_status(lib.AS_E_ARGUMENT, what)
        raw = ffi.new("char[]", size + 64)
        self._memory = raw
        self._gate = ffi.cast("as_scalegate *", (int(ffi.cast("uintptr_t", raw)) + 63) // 64 * 64)
        code = lib.as_scalegate_init(self._gate, len(ranks), readers, runs, stretches, list(ranks), ties)
        if code != lib.AS_OK:
            raise_status(code, what)
        self.ties = ties
        self._runs, self._first = (ffi.new("uint64_t[]", len(ranks)) for _ in range(2))
        self._view = ffi.new("as_scalegate_view *", {"runs": self._runs, "first": self._first})
        self._time = [ffi.new("int64_t *") for _ in range(readers)]

    def add(self, source: int, time: np.ndarray, reference: int, ties: Sequence[np.ndarray] = ()) -> bool:
        """Adds a run: contiguous int64 columns, sorted by (time, ties), that stay until it is acknowledged.

        False: flow control, the source has `runs` runs in the gate.

        Raises:
            ValueError: no rows, or a time below what the source has added or promised.
        """
        columns = ffi.new("const int64_t *[]", [_cast(_INT64, address_of(each)) for each in ties] or 1)
        code = lib.as_scalegate_add(
            self._gate, source, _cast(_INT64, address_of(time)), columns, len(time), reference
        )
        if code < 0:
            least = f" from {time[0]} on" if len(time) else ""
            raise_status(
                code,
                f"source {source} adds {len(time)} rows{least} (not below what it added or promised before)",
            )
        return bool(code == lib.AS_OK)

    def promise(self, source: int, bound: int) -> None:
        """The source adds nothing below `bound` any more; `LEAVES`: nothing at all."""
        lib.as_scalegate_promise(self._gate, source, bound)

    def join(self, source: int, bound: int) -> int:
        """A source that has left comes back; answers the time, `bound` or later, from which on it may add."""
        return int(lib.as_scalegate_join(self._gate, source, bound))

    def give(self, reader: int, into: Stretches, room: int | None = None) -> bool:
        """Gives a reader stretches that it has not got, in order, as many as there is `room` for; what it got before is
        acknowledged.

        False: all sources have left, and the reader has got all.

        Raises:
            ValueError: no room for the stretches of all sources and one more.
        """
        room = into.room if room is None else min(room, into.room)
        found = lib.as_scalegate_get_rows(self._gate, reader, into.memory, room, into.tags, into.rows)
        into.count = max(0, found)
        if found < 0 and found != lib.AS_E_CLOSED:
            raise_status(
                found,
                f"reader {reader} of a ScaleGate, room for {room} stretches (one for each source and one more)",
            )
        return bool(found != lib.AS_E_CLOSED)

    def acknowledge(self, reader: int) -> None:
        """The reader is done with what it was given."""
        lib.as_scalegate_acknowledge(self._gate, reader)

    def next_time(self, reader: int) -> int | None:
        """The time of the row that the reader is given next; None: nothing is ready, as far as was merged."""
        time = self._time[reader]
        return int(time[0]) if lib.as_scalegate_next(self._gate, reader, time) == lib.AS_OK else None

    def look(self) -> View | None:
        """Merges what is ready, and says what that has come to. None: another thread is at it, and goes round again.

        Not while another thread looks, and not of a gate with one source and one reader."""
        view = self._view
        code = lib.as_scalegate_look(self._gate, view)
        if code == lib.AS_AGAIN:
            return None
        if code != lib.AS_OK:
            raise_status(code, "ScaleGate of one source and one reader: a plain ring has no merge to look at")
        return View(view.logged, view.reached, view.waited, bool(view.is_full))

    def gone(self, source: int) -> tuple[int, int]:
        """As of the last `look`: the source's runs all of whose rows are in stretches, and rows of the next that are."""
        return int(self._runs[source]), int(self._first[source])

    def acknowledged(self, source: int) -> int:
        """How many of the source's runs all readers have passed: their memory is free."""
        return int(lib.as_scalegate_acknowledged(self._gate, source))
