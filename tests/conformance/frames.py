"""Scripts of frames, and channels that bring them, for inboxes without processes, units or transports."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.saved import save_rows
from actorstream.transports.base import FRONTIER_MIN, Channel, Frame, FrameKind, ReceiveChannel


class Row(Event):
    __event_time__: ClassVar[str] = "t"

    t: int
    n: int


class Promise(NamedTuple):
    """Between frames: a frontier word rises."""

    word: int
    value: int


def data(*rows: tuple[int, int], serial: int = 0) -> Frame:
    """A jumbo tuple of rows (event time, number); their numbers are their positions too."""
    times, numbers = (np.array(column, np.int64) for column in zip(*rows))
    batch = Batch.of_columns(Row, {"t": times, "n": numbers}).with_system(_position=numbers)
    return Frame(FrameKind.DATA, batch, rows=len(rows), nbytes=16 * len(rows), serial=serial)


def mark(kind: FrameKind, barrier: int = 0) -> Frame:
    return Frame(kind, barrier=barrier)


class Scripted(ReceiveChannel):
    """The receiving end of a channel. What its script says arrives when `arrive` is called."""

    def __init__(self, script: Iterable[Frame | Promise]) -> None:
        self.channel = Channel(0, 0, 0, 0, 0, frontiers=2)
        self.script: deque[Frame | Promise] = deque(script)
        self.frames: deque[Frame] = deque()
        self.words = [FRONTIER_MIN] * self.channel.frontiers

    def arrive(self, items: int = 1) -> None:
        """The next items of the script arrive."""
        for _ in range(min(items, len(self.script))):
            item = self.script.popleft()
            if isinstance(item, Frame):
                self.frames.append(item)
            else:
                self.words[item.word] = item.value

    def peek(self, ahead: int = 0) -> Frame | None:
        return self.frames[ahead] if ahead < len(self.frames) else None

    def consume(self) -> None:
        self.frames.popleft()

    def frontier(self, word: int = 0) -> int:
        return self.words[word]

    def waiting(self) -> int:
        return len(self.frames)

    def statistics(self) -> dict[str, int]:
        return {"received": 0, "waiting": len(self.frames), "kept": 0}

    def close(self) -> None:
        """Nothing is open."""


def arrived(script: Iterable[Frame | Promise]) -> Scripted:
    """A channel on which the whole script has arrived."""
    channel = Scripted(script)
    channel.arrive(len(channel.script))
    return channel


class Ports:
    """What an inbox tells its unit, which does not listen."""

    def tell_idle(self, count: int) -> None:
        raise AssertionError("no lane is idle")

    def late(self, batch: Any) -> None:
        raise AssertionError("no row is late")


class Waiting:
    """A spill that keeps its batches in memory."""

    def __init__(self) -> None:
        self.batches: deque[Batch] = deque()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self.batches)

    def put(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.nbytes += batch.nbytes

    def take(self) -> Batch:
        batch = self.batches.popleft()
        self.nbytes -= batch.nbytes
        return batch

    def saved(self) -> Any:
        return map(save_rows, self.batches)
