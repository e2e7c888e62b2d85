"""How messages lie in the entry of a ring: the one that somebody waits for as fields at fixed places, which costs a third
of what a list of messages does; others as their bytes. Knows no channels, and no order.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from actorstream.dgs.messages import Request, StateDown, StateUp
from actorstream.events.row_format import RowFormat

if TYPE_CHECKING:
    from actorstream.runtime.dependency.messages import Codec, Message

SHORT = 70
"""Most bytes of messages that lie in an entry as they are."""
STATE = SHORT - 16
"""Most bytes of a state that lies there behind its numbers."""
FIELDS = f"BBqq{STATE}s"
"""What it is, how many bytes, two numbers and a state. A request: its tag and time; a state: how many events it covers, or
are done, and the time of the clock."""
SEVERAL, REQUEST, UP, DOWN = range(4)
FORM = Struct(f"<{FIELDS}")
_rest = Struct(f"<qq{STATE}s").pack


class Bytes(RowFormat):
    """Messages as their bytes, which are what is sent."""

    __slots__ = ()

    def __init__(self) -> None:
        self.layout, self.names = f"BB{SHORT}s", {}
        self.reads = [str(SEVERAL), "len(event)", "event"]


class OneRequest(RowFormat):
    """A request for a single event without a place. UNFIT: that at the end of all input."""

    __slots__ = ()

    def __init__(self) -> None:
        self.layout, self.names = FIELDS, {"nothing": b""}
        self.reads = [str(REQUEST), "0", "event.tag", "event.times[0]", "nothing"]


class OneState(RowFormat):
    """A state of at most STATE bytes: (UP or DOWN, its number, its bytes)."""

    __slots__ = ()

    def __init__(self, codec: Codec) -> None:
        self.layout, self.names = FIELDS, {"clock": codec.clock}
        self.reads = ["event[0]", "len(event[2])", "event[1]", "clock.now", "event[2]"]


class Said(RowFormat):
    """What any of these says: the messages, as a tuple (a list would be what `EventWatch.wait` says of rings)."""

    __slots__ = ("codec",)

    def __init__(self, codec: Codec) -> None:
        self.codec, self.layout = codec, FIELDS
        self.plain = self.said  # type: ignore[assignment]
        self.event = lambda values: self.said(*values)  # type: ignore[assignment, return-value]

    def said(self, kind: int, size: int, number: int, time: int, data: bytes) -> tuple[Message, ...]:
        """Of the fields of an entry."""
        if kind == REQUEST:
            return (Request(number, (time,)),)
        codec = self.codec
        if kind == SEVERAL:
            return tuple(codec.decode(_rest(number, time, data)[:size]))
        state = codec.state_of(data[:size])
        codec.clock.heard(time)
        return (StateUp(state, number) if kind == UP else StateDown(state, number),)
