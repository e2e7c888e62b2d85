"""NativeRows: how a source makes its rows in C, so that the runtime can let them pass through a chain of operators without
Python (include/turn.h). Decides nothing about turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.native.pieces import Column


class NextRows(NamedTuple):
    """The rows that a source may make next, without asking again.

    Attributes:
        made: the row that comes next, as its C function counts them.
        most: rows, before it is to be asked again; 0: `read` is to be called.
        bound: no event time of its other partitions will be below this.
    """

    made: int
    most: int
    bound: int


class NativeRows(Protocol):
    """Rows that a C function writes to memory of its own, in ascending event time. `Source.native_rows` returns them.

    Attributes:
        schema: of the rows.
        make, context: addresses of the C function and of its context; they stay as they are.
        columns: descriptors of all columns; the function sets what they leave open.
        rows: that can be made at once.
    """

    schema: Schema
    make: int
    context: int
    columns: Sequence[Column]
    rows: int

    def next(self) -> NextRows:
        """Asked for before each call."""

    def took(self, made: int, latest: int) -> None:
        """The rows before `made` were sent; the last has the event time `latest`."""
