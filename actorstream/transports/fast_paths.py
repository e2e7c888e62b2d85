"""The shortest ways over a channel, as functions: what `SendChannel` and `ReceiveChannel` may answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from actorstream.events.event import Event
    from actorstream.events.jumbo import JumboTuple
    from actorstream.native.pieces import ColumnTable

RowSender = Callable[[tuple[Any, ...], int, int, int, int, int, int], bool]
"""See `SendChannel.rows`."""
EventSender = Callable[["Event", int, int], bool]
"""See `SendChannel.events`."""
JumboSender = Callable[["JumboTuple", int, int, int, int, int], bool]
"""See `SendChannel.jumbo_sender`."""
PieceSender = Callable[["ColumnTable", int, int, int, int, int, int, int, int], bool]
"""See `PieceSending`."""
RowTaker = Callable[[], tuple[tuple[Any, ...], int, int, int] | None]
"""See `ReceiveChannel.rows`."""


@runtime_checkable
class SharedFrontier(Protocol):
    """A sending end whose frontier words C may raise without Python."""

    def frontier_end(self) -> Any:
        """The core's `as_producer *`; good while this end is open."""


@runtime_checkable
class PieceSending(Protocol):
    """A sending end that encodes rows where the receiver reads them, in the same call that sends them."""

    def piece_sender(self, schema: int, producer: int, plan: int, most: int) -> PieceSender:
        """A function that encodes and sends rows of one schema, without times: (descriptors of the columns, address of row
        numbers or 0, first row, rows, sequence, serial, min_entry, max_entry, began) -> whether they were sent. False: nothing
        was changed. There is no credit, or the rows have `most` bytes or more, or they cannot be encoded; `send_nowait` says
        why."""


class EventWatch(msgspec.Struct, frozen=True):
    """See `ReceiveChannel.watch_events`."""

    wait: Callable[[int], Any]
    """(ns) -> the list of the bits of the worker's doorbell that rang within so many ns (0: by now), which are cleared.
    Where this channel's alone did, and its head is a row that was sent by itself, the event of it, which was taken."""
    marks: Callable[[], tuple[int, int, int]]
    """min_entry, max_entry and began of the event that was taken last."""
