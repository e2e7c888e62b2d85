"""The receiving end of a channel, as an inbox sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from actorstream.plan.channels import IDLE_WORD
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame, ReceiveChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.runtime.fast_paths.single_events import TakeSingle
    from actorstream.transports.base import EventWatch


@final
class InLane:
    """One producer replica's channel into a unit, and the words promised on it. What an order needs beside it is in its inbox."""

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
        "single",
        "taken",
        "watch",
        "word",
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
        word: int = 0,
    ) -> None:
        """`single`: takes the head if it is a single event. `watch`: waits for one. `idles`: whether the channel says when its
        producer is idle. `word`: the frontier word that says how far the order of the rows is promised."""
        self.index, self.input, self.channel, self.decode = index, input_name, channel, decode
        self.single, self.watch, self.idles, self.word = single, watch, idles, word
        self.ended = False
        self.held = False
        self.taken = 0
        """Frames consumed."""
        self.bound = self.floor = FRONTIER_MIN
        """Of lanes that may be idle: see `Idleness`."""

    def consume(self) -> None:
        self.channel.consume()
        self.taken += 1

    def consume_run(self, frames: int) -> None:
        """Takes so many frames off the channel."""
        if frames == 1:
            self.channel.consume()
        else:
            self.channel.consume_run(frames)
        self.taken += frames

    def rows(self, frame: Frame) -> Batch:
        """The rows of a frame, with the times at which they entered."""
        batch = self.decode(frame)
        batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
        return batch

    def head(self) -> Frame | None:
        return self.channel.peek()

    def frontier(self) -> int:
        return FRONTIER_END if self.ended else self.channel.frontier(self.word)

    def is_idle(self) -> bool:
        return self.idles and bool(self.channel.frontier(IDLE_WORD) & 1)
