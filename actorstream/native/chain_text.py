"""What a step of a chain does with texts (include/chain.h). Knows no expressions."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from actorstream.native._core import ffi, lib

if TYPE_CHECKING:
    from actorstream.native.pieces import Column

_COLUMN = Struct("<IIqQQQ")


class TextOperation:
    """An `as_chain_text`, at `address`.

    Args:
        name: of an `as_text_operation`, such as "TAKE".
        table: descriptor of the texts that it reads. size: how many they are. keeps: what the descriptor leads to.
        signed: whether the integers are whose digits it writes.
    """

    __slots__ = ("_kept", "address")

    def __init__(
        self,
        name: str,
        *,
        table: Column | None = None,
        size: int = 0,
        signed: bool = False,
        keeps: Any = None,
    ) -> None:
        column = ffi.new("as_column *")
        if table is not None:
            _COLUMN.pack_into(ffi.buffer(column), 0, *table)
        made = ffi.new("as_chain_text *", (getattr(lib, f"AS_TEXT_{name}"), signed, column, size))
        self._kept = (column, made, keeps)
        self.address = int(ffi.cast("uintptr_t", made))
