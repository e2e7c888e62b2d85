"""Panes: cells by group and run of event time (include/panes.h). One thread at a time; calls release the GIL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib
from actorstream.native.cells import DISTINCT, FLOATS, ROWS, VALUES, CellProgram, checked
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

#: The tag of panes whose rows all windows take.
ALL: int = -(2**63)

#: No bounds of event times are known.
UNKNOWN: tuple[int, int] = (1, 0)

_add = lib.as_panes_add
_JOB: int = int(ffi.cast("uintptr_t", ffi.addressof(lib, "as_panes_job")))
_TAKE_IN: int = int(ffi.cast("uintptr_t", ffi.addressof(lib, "as_panes_take_in")))
_AGAIN: int = lib.AS_AGAIN


class Panes:
    """The cells of rows by key and pane.

    Args:
        keys: as for `Groups`.
        program: the accumulators.
        origin, width: pane n is [origin + n * width, origin + (n + 1) * width); width 0: there is one, 0.
    """

    __slots__ = ("_job", "_panes", "_work", "groups", "program", "words")

    def __init__(
        self, keys: Sequence[tuple[int, bool]], program: CellProgram, *, origin: int = 0, width: int = 0
    ) -> None:
        groups = Groups.create(keys)
        handle = lib.as_panes_create(groups, len(keys), program.pointer, origin, width)
        if handle == ffi.NULL:
            lib.as_groups_destroy(groups)
        self._panes = ffi.gc(opened(handle, f"panes of width {width} from {origin}"), lib.as_panes_destroy)
        self.program, self.words = program, program.words
        self.groups = Groups.of(lib.as_panes_groups(self._panes), keys, self)
        self._work = work = ffi.new("as_panes_work *")
        work.panes, work.tag = self._panes, ALL
        self._job = ffi.new("as_pool_job *", (_JOB, work, 0, 0, 0, 0))

    def add(
        self,
        operands: Operands,
        rows: int,
        low: int,
        tag: int = ALL,
        known: tuple[int, int] = UNKNOWN,
    ) -> bool:
        """Adds rows: time, order, key and value columns. False, and nothing was changed: an event time is below `low`
        or 2^62 or more. known: no event time is below the first or above the second; where that is one pane, times
        need not be read. ResourceError, ValueError: see `checked`."""
        return _took(_add(self._panes, operands.pointer, rows, low, tag, known[0], known[1]))

    def job(self, operands: Operands, rows: int, low: int, known: tuple[int, int] = UNKNOWN) -> Any:
        """`add` with the tag `ALL` as a job of a pool, `as_pool_job *`. When it has run, `job_added` says what `add` would have;
        until then the panes belong to the job."""
        work, job = self._work, self._job
        work.operand, work.rows, work.low = operands.pointer, rows, low
        work.known_least, work.known_greatest = known
        job.delay_ns = 0
        return job

    def job_added(self) -> bool:
        """Returns or raises for the last job what `add` would have for its rows."""
        return _took(self._work.status, self._work.answer)

    def single(self, operands: Operands, rows: int) -> npt.NDArray[np.uint64]:
        """The cells of rows by themselves, shape (rows, words), as `take` writes them; nothing is added. ValueError for
        programs with DISTINCT, VALUES, ROWS, or positions of texts."""
        own = np.empty((rows, self.words), np.uint64)
        if rows:
            order = operands.pointer + 1
            value = order + self.program.columns + len(self.groups.keys)
            checked(lib.as_cells_single(self.program.pointer, order, value, rows, uint64s(own)), "aggregate")
        return own

    def numbers(self) -> npt.NDArray[np.int64]:
        """Numbers of the panes with rows, ascending."""
        out = np.empty(lib.as_panes_count(self._panes), np.int64)
        if not len(out):
            return out
        return out[: lib.as_panes_numbers(self._panes, int64s(out))]

    def mark(self) -> None:
        """From now on notes which groups get rows; `unmark` forgets them."""
        lib.as_panes_mark(self._panes)

    def unmark(self) -> None:
        lib.as_panes_unmark(self._panes)

    def open(self, first: int, count: int, window: int, *, marked: bool = False) -> int:
        """Merges panes first .. first + count - 1 for `take`; those with a tag above `window` are left out. Answers how
        many groups that has at the most."""
        return checked(lib.as_panes_open(self._panes, first, count, window, marked), "window")

    def take(self, groups: Numbers, cells: npt.NDArray[np.uint64]) -> int:
        """Writes the next groups in key order, and their cells (shape (rows, words)); answers how many, 0: no more."""
        most = len(groups)
        return lib.as_panes_take(self._panes, most, uint32s(groups), uint64s(cells))  # type: ignore[no-any-return]

    def quantile(self, step: int, q: float, groups: Numbers) -> npt.NDArray[np.float64]:
        """Of a VALUES step, for groups that the last `take` wrote; NaN where there is no value."""
        out = np.empty(len(groups))
        if len(groups):
            target = ffi.from_buffer("double[]", out)
            checked(
                lib.as_panes_quantile(self._panes, step, q, uint32s(groups), len(groups), target), "quantile"
            )
        return out

    def sums(self, step: int, groups: Numbers) -> npt.NDArray[np.float64]:
        """Of a FLOATS step, rounded, for groups that the last `take` wrote."""
        out = np.empty(len(groups))
        if len(groups):
            target = ffi.from_buffer("double[]", out)
            lib.as_panes_sums(self._panes, step, uint32s(groups), len(groups), target)
        return out

    def rows(self, step: int, groups: Numbers) -> tuple[np.ndarray, np.ndarray]:
        """Of a ROWS step, for groups that the last `take` wrote: (offsets, words), those of all their rows."""
        return read_words(groups, partial(lib.as_panes_rows, self._panes, step))

    def drop(self, pane: int) -> None:
        """Drops panes below `pane`, and what only they needed."""
        checked(lib.as_panes_drop(self._panes, pane), "aggregate")

    @property
    def count(self) -> int:
        """How many panes there are, those of one number with several tags counted each."""
        return lib.as_panes_count(self._panes)  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return lib.as_panes_bytes(self._panes)  # type: ignore[no-any-return]

    def text_sizes(self, value: int, numbers: npt.NDArray[np.uint64]) -> np.ndarray:
        """Bytes of each text that `texts` returns."""
        return read_sizes(numbers, partial(lib.as_panes_texts, self._panes, value))

    def texts(self, value: int, numbers: npt.NDArray[np.uint64]) -> tuple[np.ndarray, np.ndarray]:
        """Texts of a value column of bytes: offsets and data."""
        return read_texts(numbers, partial(lib.as_panes_texts, self._panes, value))

    # -- for checkpoints

    def select(self, at: int) -> tuple[int, int, float, int]:
        """Opens pane number `at` of `count` alone, for `take`: (number, tag, bound of its sums, groups at the most)."""
        number, tag, bound = ffi.new("int64_t *"), ffi.new("int64_t *"), ffi.new("double *")
        groups = checked(lib.as_panes_select(self._panes, at, number, tag, bound), "snapshot")
        return number[0], tag[0], bound[0], groups

    def beside(self, step: int, groups: Numbers) -> tuple[np.ndarray, np.ndarray]:
        """What lies beside the open pane's cells: (group, value) pairs of DISTINCT, (offsets, values) of VALUES
        and ROWS, (offsets, parts) of the sums of FLOATS that their cells do not hold."""
        what = self.program.steps[step].what
        if what == DISTINCT:
            count = lib.as_panes_pairs(self._panes, step, ffi.NULL, ffi.NULL)
            pair_groups, values = np.empty(count, np.uint32), np.empty(count, np.uint64)
            if count:
                lib.as_panes_pairs(self._panes, step, uint32s(pair_groups), uint64s(values))
            return pair_groups, values
        if what == FLOATS:
            return read_words(groups, partial(lib.as_panes_parts, self._panes, step))
        assert what in (VALUES, ROWS)
        return read_words(groups, partial(lib.as_panes_lists, self._panes, step))

    def text_count(self, value: int) -> int:
        return lib.as_panes_text_count(self._panes, value)  # type: ignore[no-any-return]

    def put_texts(self, value: int, operands: Operands, rows: int) -> None:
        checked(lib.as_panes_put_texts(self._panes, value, operands.pointer, rows), "restore")

    def put(
        self, number: int, tag: int, bound: float, keys: Operands, cells: npt.NDArray[np.uint64]
    ) -> Numbers:
        """Merges cells into those of groups with these keys (`bound`: no sum of them passes it). Answers the groups'
        numbers, which hold where no rows were ever added: what lies beside cells is put back with them."""
        groups: Numbers = np.empty(len(cells), np.uint32)
        if len(cells):
            status = lib.as_panes_put(
                self._panes, number, tag, bound, keys.pointer, len(cells), uint64s(cells), uint32s(groups)
            )
            checked(status, "restore")
        return groups

    def settle(self) -> None:
        """Gives groups new numbers if that makes finding them faster: for who puts cells again and again."""
        checked(lib.as_panes_settle(self._panes), "aggregate")

    def put_beside(self, number: int, tag: int, step: int, groups: Numbers, parts: Any, values: Any) -> None:
        """What `beside` answered of a step; of DISTINCT `groups` are the pairs', and `parts` is not used."""
        if len(values) == 0:
            return
        if self.program.steps[step].what == DISTINCT:
            status = lib.as_panes_put_pairs(
                self._panes, number, tag, step, uint32s(groups), uint64s(values), len(values)
            )
        else:
            is_sum = self.program.steps[step].what == FLOATS
            put = lib.as_panes_put_parts if is_sum else lib.as_panes_put_lists
            status = put(
                self._panes,
                number,
                tag,
                step,
                uint32s(groups),
                len(groups),
                int64s(parts),
                uint64s(values),
            )
        checked(status, "restore")


class PanesStep:
    """Panes as the state at the end of a chain. `address`: of an `as_chain_state` (include/chain.h). `bounds`: `int64_t *`, where
    what adds rows is told the least and the greatest event time of a batch."""

    __slots__ = ("_operands", "_state", "_work", "address", "bounds")

    def __init__(self, panes: Panes, operands: Operands) -> None:
        """`operands`: room for those of `Panes.job`, which the chain fills."""
        self._work, self._operands = panes._work, operands
        work = self._work
        work.operand = operands.pointer
        self._state = ffi.new("as_chain_state *", (_TAKE_IN, work, operands.pointer))
        self.address = int(ffi.cast("uintptr_t", self._state))
        self.bounds = ffi.addressof(work, "known_least")

    def late_below(self, low: int) -> None:
        """From now on rows of an event time below `low` are late."""
        self._work.low = low


def latest_of(panes: Panes) -> int:
    """Of panes of width 0: the greatest event time of the rows that had one; -2^63: none had."""
    return lib.as_panes_latest(panes._panes)  # type: ignore[no-any-return]


def marked_of(panes: Panes, groups: Numbers) -> npt.NDArray[np.bool_]:
    """Of the pane that `select` opened: which of these groups have got rows that no `unmark` has forgotten."""
    out = np.zeros(len(groups), np.bool_)
    if len(groups):
        marks = ffi.from_buffer("uint8_t[]", out)
        lib.as_panes_marked(panes._panes, uint32s(groups), len(groups), marks)
    return out


def _took(status: int, answer: int | None = None) -> bool:
    """Whether the rows were added; False: some are late. `answer`: as for `checked`."""
    if status == _AGAIN:
        return False
    checked(status, "aggregate", answer)
    return True
