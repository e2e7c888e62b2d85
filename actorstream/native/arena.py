"""Shared memory for jumbo tuples, in blocks that are counted by their owner and lent to other processes."""

from __future__ import annotations

import errno
import os
from typing import Any, NamedTuple

import numpy as np

from actorstream.errors import ClosedError, ResourceError
from actorstream.native._core import ffi, lib
from actorstream.native.memory import memory_left
from actorstream.native.status import opened
from actorstream.native.views import view_of

_allocate = lib.as_hold_allocate
_release = lib.as_hold_release
_uses = lib.as_hold_uses
_retain = lib.as_hold_retain
_share = lib.as_hold_share
_address = lib.as_hold_address
_bytes = lib.as_hold_bytes
_NULL = ffi.NULL


class ArenaStatistics(NamedTuple):
    """Bytes count headers too. `huge`: bytes that the kernel has backed with huge pages."""

    committed: int
    in_use: int
    blocks: int
    peak: int
    huge: int


class Block:
    """One counted use of a block of shared memory, own (writable) or borrowed (read-only).

    The use ends with `release`, or with the object. Views keep uses of their own, so they stay valid
    beyond it."""

    __slots__ = ("_arena", "_hold", "_keep", "_writable")

    def __init__(self, hold: Any, writable: bool, keep: Any = None) -> None:
        """Takes over one use of `hold`. `keep`: an object that must live as long as the block is used."""
        self._hold = hold
        self._writable = writable
        self._keep = keep
        self._arena = -1

    @property
    def handle(self) -> Any:
        """What the core's functions take. ClosedError after `release`."""
        if self._hold is None:
            raise ClosedError("this block was released; keep a view, or call retain() before")
        return self._hold

    @property
    def address(self) -> int:
        """Of the payload in this process."""
        return int(_address(self._hold or self.handle))

    @property
    def nbytes(self) -> int:
        """Capacity of the payload, at least what was asked for."""
        return int(_bytes(self._hold or self.handle))

    @property
    def arena_id(self) -> int:
        found = self._arena
        if found < 0:
            found = self._arena = int(lib.as_hold_arena(self.handle))
        return found

    @property
    def offset(self) -> int:
        """Of the payload in its arena."""
        return int(lib.as_hold_offset(self.handle))

    @property
    def generation(self) -> int:
        return int(lib.as_hold_generation(self.handle))

    @property
    def uses(self) -> int:
        """How many uses there are in this process: blocks, views, and loans that are out."""
        return _uses(self._hold or self.handle)  # type: ignore[no-any-return]

    @property
    def is_own(self) -> bool:
        """Whether it lies in this process's arena; else it is on loan from another's."""
        return bool(lib.as_hold_is_own(self.handle))

    @property
    def writable(self) -> bool:
        return self._writable

    def view(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The payload as an array (base of all further views). The block is used until the last of them dies.

        One over a borrowed block cannot be made writable."""
        return np.frombuffer(view_of(_share(self._hold or self.handle), self._writable, self._keep), np.uint8)

    def export(self) -> Any:
        """The payload as a read-only buffer with `nbytes`. The block is used until the last array over it dies."""
        return view_of(_share(self._hold or self.handle), False, self._keep)

    def retain(self) -> Block:
        """Another use of the same block, to be released on its own."""
        _retain(self.handle)
        return Block(self._hold, self._writable, self._keep)

    def release(self) -> None:
        """Ends this use. The last one gives the block back to its arena, or to the process that lent it."""
        hold, self._hold = self._hold, None
        if hold is not None:
            _release(hold)

    def __del__(self, _release: Any = _release) -> None:
        hold = self._hold
        if hold is not None:
            _release(hold)


class Arena:
    """An arena as this process sees it: its owner allocates in it, any other process reads blocks it
    borrowed.

    Made in the process that uses it: in a fork's child an inherited arena cannot allocate."""

    __slots__ = ("_arena", "id", "is_own", "limit")

    def __init__(self, handle: Any, is_own: bool) -> None:
        self._arena = ffi.gc(handle, lib.as_arena_close)
        self.is_own = is_own
        self.id = int(lib.as_arena_id(handle))
        self.limit = int(lib.as_arena_limit(handle))

    @classmethod
    def create(
        cls, limit: int, id: int, *, fd: int | None = None, commit_step: int = 0, huge_pages: bool = False
    ) -> Arena:
        """The owner's view. `limit`: bytes of address space; memory is taken in steps of `commit_step` bytes
        (0: 4 MiB) as blocks need it. `fd`: a memfd, which stays the caller's; None: memory of this process alone, with
        huge pages where the kernel lets it have them.

        ResourceError: the limits of address space or open files are too low."""
        handle = lib.as_arena_create(-1 if fd is None else fd, limit, id, commit_step)
        arena = cls(opened(handle, f"arena {id} of {limit} bytes"), True)
        if huge_pages:
            lib.as_arena_want_huge(handle)
        return arena

    @classmethod
    def map(cls, fd: int, limit: int, id: int) -> Arena:
        """A reader's view, read-only. `fd` stays the caller's."""
        return cls(opened(lib.as_arena_map(fd, limit, id), f"arena {id} of {limit} bytes"), False)

    @property
    def handle(self) -> Any:
        """What the core's functions take. ClosedError after `close`."""
        if self._arena is None:
            raise ClosedError(f"arena {self.id} was closed")
        return self._arena

    def allocate(self, nbytes: int) -> Block:
        """A block of at least `nbytes` bytes, contents undefined. ResourceError: it would pass the arena's
        limit or what the cgroup and the machine have left; take back loans and try again."""
        hold = _allocate(self._arena or self.handle, nbytes)
        if hold == _NULL:
            self._refuse(nbytes)
        return Block(hold, True)

    def _refuse(self, nbytes: int) -> None:
        if ffi.errno == errno.EPERM:
            raise ClosedError(f"arena {self.id} belongs to another process: only its owner allocates")
        used = self.statistics()
        raise ResourceError(
            f"arena {self.id}: no block of {nbytes} bytes: {used.in_use} of {used.committed} bytes are "
            f"in use, limit {self.limit}, {memory_left().available} bytes left to this process"
        )

    def bind(self, node: int) -> str:
        """Takes memory from node `node` from now on, for as long as it has some. Returns "", or why the system refused; the
        arena then goes on as it was."""
        refused = lib.as_arena_bind(self.handle, node)
        return os.strerror(refused) if refused else ""

    def statistics(self) -> ArenaStatistics:
        """Private to the owner; zeros for a reader."""
        out = ffi.new("uint64_t[4]")
        lib.as_arena_statistics(self.handle, out)
        return ArenaStatistics(out[0], out[1], out[2], out[3], lib.as_arena_huge_bytes(self.handle))

    def close(self) -> None:
        """Gives the handle up. The mapping lives until the last block and view in it is gone."""
        self._arena = None
