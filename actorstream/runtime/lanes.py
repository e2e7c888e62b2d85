"""The receiving end of a channel, as an inbox sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame, ReceiveChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.runtime.single_row import TakeSingle
    from actorstream.transports.base import EventWatch

IDLE_WORD = 2
"""The frontier word of a channel that counts transitions between busy (even) and idle (odd)."""


class InLane:
    """One producer replica's channel into a unit."""

    __slots__ = (
        "bound",
        "channel",
        "decode",
        "ended",
        "floor",
        "held",
        "idles",
        "index",
        "input",
        "over",
        "single",
        "taken",
        "watch",
    )

    def __init__(
        self,
        index: int,
        input_name: str,
        channel: ReceiveChannel,
        decode: Callable[[Frame], Batch],
        single: TakeSingle | None = None,
        watch: EventWatch | None = None,
        *,
        idles: bool = False,
    ) -> None:
        """`single`: takes the head if it is a single event. `watch`: waits for one. `idles`: whether the channel says when its
        producer is idle."""
        self.index, self.input, self.channel, self.decode = index, input_name, channel, decode
        self.single, self.watch, self.idles = single, watch, idles
        self.ended = False
        self.held = False
        self.over = False
        """Whether the channel has ended while rows of it still wait; `ended` becomes true behind them."""
        self.taken = 0
        """Frames consumed."""
        self.bound = self.floor = FRONTIER_MIN
        """Of lanes that may be idle: see `Idleness`."""

    def consume(self) -> None:
        self.channel.consume()
        self.taken += 1

    def head(self) -> Frame | None:
        return self.channel.peek()

    def frontier(self) -> int:
        return FRONTIER_END if self.ended else self.channel.frontier(0)

    def is_idle(self) -> bool:
        return self.idles and bool(self.channel.frontier(IDLE_WORD) & 1)
