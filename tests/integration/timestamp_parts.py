"""Sources and operators of the tests of timestamp order: ties, several partitions, rows that nobody wants. Run by the
command line too, so that it is a module of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.connectors.source import Source
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.operators.map_async import MapAsync


class Tick(Event):
    """`t` is the event time; (`who`, `part`, `n`) tells the row from all others; `key` is one of seven."""

    __event_time__: ClassVar[str] = "t"

    t: int
    who: int
    part: int
    n: int
    key: int


class Plain(Event):
    """A row without event time of its own."""

    who: int
    n: int


class Named(Event):
    __event_time__: ClassVar[str] = "t"

    t: int
    name: str


Row = tuple[int, ...]


def ticks(who: int, part: int, count: int, span: int, seed: int = 0, shuffled: int = 0) -> np.ndarray:
    """Event times of a partition: sorted with many ties, or out of order by at most `shuffled`."""
    dice = np.random.default_rng((who, part, seed))
    times = np.sort(dice.integers(0, max(span, 1), count))
    if shuffled:
        times = times[np.argsort(times + dice.integers(0, shuffled + 1, count), kind="stable")]
    return times


class Ticks(Source):
    """`count` rows of each of `parts` partitions, which are read one after the other."""

    outputs: ClassVar[dict[str, Any]] = {"default": Tick}

    def __init__(
        self,
        who: int = 0,
        count: int = 100,
        parts: int = 1,
        span: int = 50,
        seed: int = 0,
        shuffled: int = 0,
        max_out_of_orderness: Any = None,
    ) -> None:
        self.who, self.count, self.parts, self.span, self.seed = who, count, parts, span, seed
        self.shuffled = shuffled
        self.max_out_of_orderness = max_out_of_orderness

    def partitions(self) -> list[str]:
        return [f"part-{number}" for number in range(self.parts)]

    def open(self, partitions: list[str]) -> None:
        names = self.partitions()
        self._left = [(names.index(name), 0) for name in partitions]

    def read(self, max_rows: int) -> Batch | None:
        while self._left:
            part, first = self._left[0]
            rows = min(max_rows, self.count - first)
            if rows <= 0:
                self._left.pop(0)
                continue
            self._left[0] = (part, first + rows)
            self.origin, self.row = part, first
            times = ticks(self.who, part, self.count, self.span, self.seed, self.shuffled)
            n = np.arange(first, first + rows)
            return Batch.of_columns(
                Tick,
                {
                    "t": times[first : first + rows],
                    "who": np.full(rows, self.who),
                    "part": np.full(rows, part),
                    "n": n,
                    "key": (n * 7919 + part) % 7,
                },
            )
        return None

    def position(self) -> dict[str, int]:
        return {self.partitions()[part]: first for part, first in self._left}


def rows_of(
    who: int, count: int = 100, parts: int = 1, span: int = 50, seed: int = 0, shuffled: int = 0
) -> list[Row]:
    """What such a source is in timestamp order."""
    found = []
    for part in range(parts):
        times = ticks(who, part, count, span, seed, shuffled).tolist()
        found += [(t, who, part, n, (n * 7919 + part) % 7) for n, t in enumerate(times)]
    return sorted(found)


class Copies(Actor):
    """Per event: n modulo `most` copies, told apart by their key."""

    def __init__(self, most: int = 3) -> None:
        self.most = most

    def on_event(self, event: Tick) -> Iterator[Tick]:
        for copy in range(event.n % self.most):
            yield Tick(event.t, event.who, event.part, event.n, copy)


class PassTicks(Actor):
    """Per batch, by reference."""

    outputs: ClassVar[dict[str, Any]] = {"default": Tick}

    def on_batch(self, batch: Batch) -> Batch:
        return batch


class Awaits(MapAsync):
    """Answers each row after as many turns of the loop as its number says, many in flight."""

    async def call(self, event: Tick) -> Tick:
        for _ in range(event.n * 7919 % 5):
            await asyncio.sleep(0)
        return event


class Renamed(Actor):
    """Per event: rows without event time of their own."""

    def on_event(self, event: Tick) -> Plain:
        return Plain(event.who, event.n)


class Texts(Actor):
    """Per event: rows of variable width."""

    def on_event(self, event: Tick) -> Named:
        return Named(event.t, f"{event.who}/{event.part}/{event.n}")


class KeepKey(Actor):
    """Per batch: rows of one key, or none at all."""

    outputs: ClassVar[dict[str, Any]] = {"default": Tick}

    def __init__(self, key: int = -1) -> None:
        self.key = key

    def on_batch(self, batch: Batch) -> Batch:
        return batch.take(batch["key"] == self.key)


class Running(Actor):
    """Per event: how many rows of its key have come so far, and a number that depends on all of them in their order."""

    def __init__(self) -> None:
        self.state: dict[int, tuple[int, int]] = {}

    def on_event(self, event: Tick) -> Tick:
        count, mixed = self.state.get(event.key, (0, 0))
        mixed = (mixed * 31 + event.who * 7 + event.part * 3 + event.n) % 1_000_003
        self.state[event.key] = count + 1, mixed
        return Tick(event.t, event.who, mixed, event.n, event.key)


class PooledTicks(PassTicks):
    """Without a state, also where there is a schedule."""

    contract = Contract(stateless=True)


class PooledRunning(Actor):
    """As `Running`, per batch."""

    outputs: ClassVar[dict[str, Any]] = {"default": Tick}

    def __init__(self) -> None:
        self.running = Running()

    def on_batch(self, batch: Batch) -> Batch:
        mixed = [self.running.on_event(event).part for event in batch.events()]
        return batch.with_columns(part=np.array(mixed, np.int64))
