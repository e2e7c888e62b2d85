"""Single rows on a shared-memory channel: the bytes of a row in the entry of the ring itself, with no block to lend.

Knows where they lie in the entry, not what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import lru_cache, partial
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol

from actorstream.events.row_format import UNFIT
from actorstream.native.channel import TAKEN, ReceiveRing, SendRing, refused
from actorstream.transports.base import DATA, NO_TIME_MAX, NO_TIME_MIN
from actorstream.transports.fast_paths import EventSender, EventWatch, RowSender, RowTaker

if TYPE_CHECKING:
    from actorstream.events.row_format import RowFormat
    from actorstream.native.doorbell import Doorbell
    from actorstream.transports.base import Frame

ROW = 5
"""Of an entry that is a row."""
AT, ROW_BYTES = 32, 72
"""Where in such an entry the row lies, and its most bytes."""
_HEAD, _TAIL = "IIQQ", "qqI"
"""Around the row, from byte 8 on: flags, epoch, schema, sequence; least and greatest entry time, producer."""
_form = lru_cache(maxsize=64)(Struct)  # channels of one format share it
_MARKS = Struct("<8xI92xqq")
"""Flags, least and greatest entry time."""
_WAITED = (1 << 31) - 1
NOTHING: list[int] = []
"""No bit rang. Never changed."""


class Stoppable(Protocol):
    """An end that may be closed, or whose peer may be lost."""

    _stopped: Callable[[], Exception] | None
    """Makes the error of everything that is tried then."""


def waited_flags(began: int, entered: int) -> int:
    """How long a row had waited when the first operator took it, as flags of an entry: 1 + microseconds, from bit 1. No less
    than 1: of rows that go together the first may have been taken before the last one came, at `entered`."""
    waited = (began - entered) // 1000 + 1
    return (waited if 0 < waited < _WAITED else _WAITED if waited > 0 else 1) << 1


def row_sender(ring: SendRing, layout: str, end: Stoppable) -> RowSender | None:
    """See `SendChannel.rows`. `end`: whose ring it is."""
    size = _form(f"<{layout}").size
    if size > ROW_BYTES:
        return None
    entry, send_row = ring.row, ring.send_row
    pack = _form(f"<{_HEAD}{layout}{ROW_BYTES - size}x{_TAIL}").pack_into

    def send(
        values: tuple[Any, ...],
        schema: int,
        producer: int,
        sequence: int,
        min_entry: int,
        max_entry: int,
        began: int,
    ) -> bool:
        if end._stopped is not None:
            raise end._stopped()
        flags = waited_flags(began, max_entry) if began else 0
        pack(entry, 8, flags, 0, schema, sequence, *values, min_entry, max_entry, producer)
        return send_row()

    return send


def row_taker(ring: ReceiveRing, layout: str, peeked: Sized) -> RowTaker | None:
    """See `ReceiveChannel.rows`. `peeked`: frames before which nothing may be taken."""
    form = _form(f"<{layout}")
    if form.size > ROW_BYTES:
        return None
    entry, take_row, marks = ring.entry, ring.take_row, _marks_of(ring)
    unpack = form.unpack_from

    def take() -> tuple[tuple[Any, ...], int, int, int] | None:
        if peeked or not take_row():
            return None
        return unpack(entry, AT), *marks()

    return take


def event_sender(
    ring: SendRing, rows: RowFormat, end: Stoppable, schema: int, producer: int
) -> EventSender | None:
    """See `SendChannel.events`. A function of Python costs several times as much here as in a loop, since the processor
    has seen something else meanwhile; so it is one function, and calls two of C (benchmark `latency`)."""
    size = _form(f"<{rows.layout}").size
    if size > ROW_BYTES:
        return None
    buffer, entry, send = ring.row_entry()
    _form(f"<{_HEAD}{ROW_BYTES}x{_TAIL}").pack_into(buffer, 8, 0, 0, schema, 0, 0, 0, producer)
    pack = _form(f"<Q{rows.layout}{ROW_BYTES - size}xqq").pack_into
    made: EventSender = _making(rows)(end, buffer, entry, send, ring, pack)
    return made


@lru_cache(maxsize=64)
def _making(rows: RowFormat) -> Callable[..., EventSender]:
    """Makes such functions for the channels of one format, for which Python compiles them once."""
    code = (
        "def making(end, buffer, entry, send, ring, pack):\n"
        " def send_event(event, sequence, entered):\n"
        "  if end._stopped is not None: raise end._stopped()\n"
        f"  try: pack(buffer, {AT - 8}, sequence, {', '.join(rows.reads)}, entered, entered)\n"
        "  except unfit: return False\n"
        "  code = send(ring._producer, entry)\n"
        "  return code == 0 or refused(code)\n"
        " return send_event\n"
    )
    names: dict[str, Any] = {**rows.names, "unfit": UNFIT, "refused": refused}
    exec(code, names)
    return names["making"]  # type: ignore[no-any-return]


def event_watch(
    ring: ReceiveRing, rows: RowFormat, peeked: Sized, bell: Doorbell, bit: int
) -> EventWatch | None:
    """See `ReceiveChannel.watch_events`. `peeked`: as above; `bell`, `bit`: what rings for this channel."""
    form = _form(f"<{rows.layout}")
    if form.size > ROW_BYTES:
        return None
    single, event_of = rows.plain, rows.event
    values = partial(form.unpack_from, ring.entry, AT)
    wait_row = ring.row_waiter(bell, bit)
    listed = bell.listed

    def wait(ns: int) -> Any:
        if peeked:
            return bell.wait(ns)
        count = wait_row(ns)
        if count != TAKEN:
            return listed(count) if count else NOTHING
        return single(*values()) if single is not None else event_of(values())

    return EventWatch(wait, _marks_of(ring))


def _marks_of(ring: ReceiveRing) -> Callable[[], tuple[int, int, int]]:
    """Reads least and greatest entry time of the row taken last, and when the first operator took it."""
    entry, unpack = ring.entry, _MARKS.unpack_from

    def marks() -> tuple[int, int, int]:
        flags, min_entry, max_entry = unpack(entry)
        waited = flags >> 1
        return min_entry, max_entry, max_entry + (waited - 1) * 1000 if waited else 0

    return marks


def row_frame(frame: Frame, ring: ReceiveRing) -> Frame:
    """Makes the frame of the entry that `ring` has just peeked, a row, what `peek` says of it."""
    frame.kind, frame.payload = DATA, bytes(ring.entry[AT : AT + ROW_BYTES])
    frame.rows, frame.nbytes, frame.first = 1, ROW_BYTES, 0
    frame.serial = frame.piece = frame.barrier = 0
    frame.pieces = 1
    frame.min_time, frame.max_time = NO_TIME_MIN, NO_TIME_MAX
    return frame
