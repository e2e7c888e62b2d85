"""A bounded MPMC ring of 64-bit references between the threads of one process; never between processes."""

from __future__ import annotations

from actorstream.native._core import ffi, lib

from actorstream.native.status import raise_status


class Mpmc:
    """FIFO of up to `slots` unsigned 64-bit numbers; any thread may push and pop."""

    __slots__ = ("_memory", "_ring")

    def __init__(self, slots: int, start: int = 0) -> None:
        """`slots`: a power of two, at least 2. `start`: the first index, for testing wrap-around.
        ValueError."""
        raw = ffi.new("char[]", lib.as_mpmc_size(slots) + 64)
        self._memory = raw
        self._ring = ffi.cast("as_mpmc *", (int(ffi.cast("uintptr_t", raw)) + 63) // 64 * 64)
        code = lib.as_mpmc_init(self._ring, slots, start)
        if code != lib.AS_OK:
            raise_status(code, f"MPMC ring of {slots} slots (a power of two, at least 2)")

    def push(self, item: int) -> bool:
        """False: full."""
        return bool(lib.as_mpmc_push(self._ring, item) == 0)

    def pop(self) -> int | None:
        """None: empty."""
        out = ffi.new("uint64_t *")
        return int(out[0]) if lib.as_mpmc_pop(self._ring, out) == 0 else None

    def __len__(self) -> int:
        """Items in the ring; approximate while others work on it."""
        return int(lib.as_mpmc_count(self._ring))
