"""The worklist of an operator that several workers serve: the hybrid queue and what it is compared with
(ordered-multicore, section 4). Between the threads of one process; never between processes."""

from __future__ import annotations

from typing import NamedTuple

from actorstream.native._core import ffi, lib

from actorstream.native.status import raise_status

KINDS = {
    "stateless": lib.AS_WORKLIST_STATELESS,
    "hybrid": lib.AS_WORKLIST_HYBRID,
    "shared": lib.AS_WORKLIST_SHARED,
    "partitioned": lib.AS_WORKLIST_PARTITIONED,
}


class Work(NamedTuple):
    """An item that a worker has got; `serial`: its place in the order of pushes."""

    item: int
    serial: int
    partition: int


class Worklist:
    """Up to `capacity` items, 64-bit numbers, that wait. One thread at a time pushes, any thread pops.

    No two workers are in one partition at a time, and each partition's items come in the order of their pushes."""

    __slots__ = ("_list", "_memory")

    def __init__(self, kind: str, capacity: int, partitions: int = 1, start: int = 0) -> None:
        """`kind`: stateless (no partitions), hybrid, shared or partitioned. `capacity`: a power of two, at most 2**24.
        `partitions`: 1 to 2**20. `start`: the first serial number. ValueError."""
        if kind not in KINDS:
            raise ValueError(f"worklist: kind is {kind!r}, must be one of {', '.join(KINDS)}")
        size = lib.as_worklist_size(KINDS[kind], max(capacity, 0), max(partitions, 0))
        raw = ffi.new("char[]", size + 64)
        self._memory = raw
        self._list = ffi.cast("as_worklist *", (int(ffi.cast("uintptr_t", raw)) + 63) // 64 * 64)
        code = lib.as_worklist_init(self._list, KINDS[kind], max(capacity, 0), max(partitions, 0), start)
        if code != lib.AS_OK:
            raise_status(
                code,
                f"{kind} worklist of {capacity} items (a power of two, 1 to 2**24) and {partitions} partitions "
                "(1 to 2**20; 1 if stateless)",
            )

    def push(self, item: int, partition: int = 0) -> bool:
        """False: full. ValueError: no such partition."""
        code = lib.as_worklist_push(self._list, item, partition)
        if code < 0:
            raise_status(code, f"worklist: partition {partition}")
        return bool(code == lib.AS_OK)

    def pop(self, limit: int | None = None, worker: int = 0) -> Work | None:
        """An item whose serial number precedes `limit` (of the reordering buffer behind; None: any); the caller is
        alone in its partition until `done` returns None. None: nothing may be begun now."""
        out = ffi.new("as_work *")
        code = lib.as_worklist_pop(self._list, worker, self.end if limit is None else limit, out)
        return Work(out.item, out.serial, out.partition) if code == lib.AS_OK else None

    def done(self, work: Work, limit: int | None = None) -> Work | None:
        """`work` is finished. The next item of its partition, which no other worker will get; None: the caller has
        left the partition."""
        out = ffi.new("as_work *", (work.item, work.serial, work.partition, 0))
        code = lib.as_worklist_done(self._list, self.end if limit is None else limit, out)
        return Work(out.item, out.serial, out.partition) if code == lib.AS_OK else None

    @property
    def end(self) -> int:
        """The serial number that the next push will get."""
        return int(lib.as_worklist_end(self._list))

    @property
    def room(self) -> int:
        """Pushes that fit; approximate while others pop."""
        return int(lib.as_worklist_room(self._list))

    def ready(self, limit: int | None = None) -> int:
        """At most so many items can be begun now; approximate while others work on the list. 0: none."""
        return int(lib.as_worklist_ready(self._list, self.end if limit is None else limit))

    def __len__(self) -> int:
        """Items that wait; approximate while others work on the list."""
        return int(lib.as_worklist_count(self._list))
