"""Calls of the C core that its own code and C programs make, and the package does not: tests look at the core through them."""

from __future__ import annotations

from actorstream.native._core import ffi, lib

from actorstream.native.arena import Arena
from actorstream.native.channel import SendRing
from actorstream.native.status import raise_status

NULL_HASH: int = lib.as_hash_null()


def hash_float(value: float) -> int:
    """Hash of a float: -0.0 as 0.0, every NaN the same."""
    return lib.as_hash_float64(value)


def read_slice() -> int:
    """The time slice of this thread in ns; 0: the kernel does not say."""
    return lib.as_slice_read()


def node_of(address: int) -> int | None:
    """The memory node that has the page at `address`; None: it has no memory yet, or the kernel does not say."""
    found = lib.as_node_of(address)
    return found if found >= 0 else None


def prepared_size(widths: tuple[int, ...], rows: int) -> int:
    """Bytes of a jumbo tuple of `rows` rows of fixed-width columns without nulls, `widths` bytes a value."""
    return lib.as_jumbo_prepare(ffi.NULL, 0, ffi.new("uint32_t[]", widths), len(widths), rows, 0, 0)


def start_generation(arena: Arena, generation: int) -> None:
    """Sets the next block's generation (odd), so that it soon wraps around."""
    lib.as_arena_start_generation(arena.handle, generation)


def await_empty(ring: SendRing) -> bool:
    """True: the consumer has consumed everything, and may have closed. False: not yet; it rings when it has.

    BrokenError: it has closed before, or this end was taken over."""
    code = lib.as_channel_admits(ring.handle, 2**64 - 1)
    if code < 0 and not ring.is_empty():
        raise_status(code, "wait until all is consumed")
    return code != 1


def await_returns(ring: SendRing) -> bool:
    """True: blocks have been returned, `reap` them. False: none; the consumer rings when it returns one."""
    code = lib.as_channel_await_returns(ring.handle)
    if code < 0:
        raise_status(code, "wait for returned blocks")
    return code == 0


def is_consumer_closed(ring: SendRing) -> bool:
    return bool(lib.as_channel_consumer_closed(ring.handle))
