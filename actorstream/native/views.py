"""The bytes of a hold of the core as a buffer of Python. Knows no blocks and no arenas.

`view_of(hold, writable, keep)` returns an object that exports the bytes of the hold at that address, `nbytes` of them. It takes
over one use of the hold, which ends when the last buffer over it is gone, on whatever thread. `keep` lives as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.native._core import ffi, lib

if TYPE_CHECKING:

    class Views:
        def __init__(self, data: int, bytes: int, release: int) -> None: ...
        def of(self, hold: int, writable: bool, keep: Any, /) -> Any: ...

else:
    from actorstream.native._objects import Views

__all__ = ["Views", "addresses_of", "view_of"]


def addresses_of(*names: str) -> list[int]:
    """Of functions of the core, which the module `_objects` calls by them."""
    return [int(ffi.cast("uintptr_t", ffi.addressof(lib, name))) for name in names]


view_of = Views(*addresses_of("as_hold_data", "as_hold_bytes", "as_hold_release")).of
