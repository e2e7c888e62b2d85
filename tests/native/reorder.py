"""The reordering buffer of the core by itself, for tests: units of concurrent workers leave in the order of their serial
numbers (ordered-multicore, section 3). Between the threads of one process; never between processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from actorstream.native._core import ffi, lib

from actorstream.native.pool import SCHEMES
from actorstream.native.status import raise_status

#: The unit of a serial number that gave no tuples.
UNIT_NONE: int = lib.AS_UNIT_NONE


class ReorderStatistics(NamedTuple):
    """`next` leaves next; `most_units`: sent by one stay in the exit section; `longest_ns`: in one `send`, 0 unless
    timed; `refused`: answers of the exit function that sent nothing."""

    next: int
    most_units: int
    longest_ns: int
    refused: int


class ReorderBuffer:
    """Room for `capacity` units that came before their turn; any thread may send.

    A unit is a number from 1 to 2**64 - 1 that refers to all outputs of one serial number; `UNIT_NONE` is one without
    outputs."""

    __slots__ = ("_buffer", "_callback", "_exit", "_failure", "_memory")

    def __init__(
        self,
        capacity: int,
        exit: Callable[[int, int], bool | None],
        *,
        scheme: str = "non-blocking",
        next: int = 0,
        timed: bool = False,
    ) -> None:
        """`capacity`: a power of two, at most 2**24. `exit(serial, unit)` gets each unit in its turn and returns False
        to keep it in the buffer (until `flush`). `scheme`: non-blocking or lock-based. `next`: the first serial
        number. `timed`: `longest_ns` is measured. ValueError."""
        if scheme not in SCHEMES:
            raise ValueError(f"reordering buffer: scheme is {scheme!r}, must be one of {', '.join(SCHEMES)}")
        self._exit = exit
        self._failure: BaseException | None = None
        self._callback = ffi.callback("as_reorder_exit", self._leave, error=lib.AS_AGAIN, onerror=self._fail)
        raw = ffi.new("char[]", lib.as_reorder_size(max(capacity, 0)) + 64)
        self._memory = raw
        self._buffer = ffi.cast("as_reorder *", (int(ffi.cast("uintptr_t", raw)) + 63) // 64 * 64)
        code = lib.as_reorder_init(
            self._buffer, SCHEMES[scheme], max(capacity, 0), next, self._callback, ffi.NULL, timed
        )
        if code != lib.AS_OK:
            raise_status(code, f"reordering buffer of {capacity} units (a power of two, 1 to 2**24)")

    def send(self, serial: int, unit: int) -> bool:
        """Adds the unit of `serial` and sends what is ready. False: its slot is not free yet; nothing was added, try
        again later. An exception of `exit` is raised here and leaves its unit in the buffer. ValueError: unit 0."""
        return self._answer(lib.as_reorder_send(self._buffer, serial, unit), serial)

    def add(self, serial: int, unit: int) -> bool:
        """The first half of `send`; whoever adds also calls `send_pending`."""
        return self._answer(lib.as_reorder_add(self._buffer, serial, unit), serial)

    def send_pending(self) -> None:
        """The second half of `send`."""
        lib.as_reorder_send_pending(self._buffer)
        self._answer(lib.AS_OK, 0)

    def flush(self) -> None:
        """Sends what is ready; to be called when `exit`, which refused a unit, would accept it now."""
        lib.as_reorder_flush(self._buffer)
        self._answer(lib.AS_OK, 0)

    @property
    def limit(self) -> int:
        """The first serial number whose slot is not free: whoever takes only lower ones never fails to send."""
        return int(lib.as_reorder_limit(self._buffer))

    def is_free(self, serial: int) -> bool:
        """Whether `serial` may be sent now, and from now on."""
        return bool(lib.as_reorder_is_free(self._buffer, serial))

    def statistics(self) -> ReorderStatistics:
        out = ffi.new("as_reorder_statistics *")
        lib.as_reorder_statistics_read(self._buffer, out)
        return ReorderStatistics(out.next, out.most_units, out.longest_ns, out.refused)

    def _leave(self, context: object, serial: int, unit: int) -> int:
        return int(lib.AS_AGAIN if self._exit(serial, unit) is False else lib.AS_OK)

    def _fail(self, kind: object, failure: BaseException, trace: object) -> None:
        self._failure = failure

    def _answer(self, code: int, serial: int) -> bool:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if code < 0:
            raise_status(code, f"reordering buffer: unit 0 for serial number {serial}, must be 1 or more")
        return bool(code == lib.AS_OK)
