"""Actors that the integration tests build topologies of: a counting source, operators, a collecting sink, a log."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.connectors.sink import Sink
from actorstream.connectors.source import Source
from actorstream.events.batch import Batch
from actorstream.events.event import Event


class Number(Event):
    """`value` counts over the whole source; `group` is value modulo 101."""

    __event_time__: ClassVar[str] = "value"

    value: int
    group: int


class Named(Event):
    text: str
    value: int


def announce(pipe: str) -> None:
    """Writes a line to a pipe in the file system that somebody reads."""
    descriptor = os.open(pipe, os.O_WRONLY)
    os.write(descriptor, b"here\n")
    os.close(descriptor)


def numbers(values: np.ndarray) -> Batch:
    return Batch.of_columns(Number, {"value": values, "group": values % 101})


class Numbers(Source):
    """Counts from 0 to `count` - 1; partition i of n has the values i, i + n, ... It can go back."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, count: int = 1000, parts: int = 1, rate: float | None = None) -> None:
        self.count, self.parts, self.rate = count, parts, rate

    def partitions(self) -> list[str]:
        return [f"part-{number:03}" for number in range(self.parts)]

    def open(self, partitions: list[str]) -> None:
        self._done = dict.fromkeys(partitions, 0)

    def read(self, max_rows: int) -> Batch | None:
        names = self.partitions()
        for name, done in self._done.items():
            part = names.index(name)
            left = len(range(part, self.count, self.parts)) - done
            if left > 0:
                rows = min(left, max_rows)
                self.origin, self.row = part, done
                self._done[name] = done + rows
                return numbers(part + self.parts * np.arange(done, done + rows, dtype=np.int64))
        return None

    def position(self) -> dict[str, int]:
        return dict(self._done)

    def seek(self, positions: dict[str, int]) -> None:
        self._done.update({name: row for name, row in positions.items() if name in self._done})

    def lower_bound(self, now_ns: int) -> int | None:
        """Rows ascend within a partition, so of one partition the next row's value is a promise."""
        if self.parts > 1:
            return None
        (done,) = self._done.values() or (0,)
        return done


class Announced(Numbers):
    """Writes a line to a pipe in the file system when the first replica starts."""

    def __init__(self, pipe: str, count: int = 1000, parts: int = 1, rate: float | None = None) -> None:
        super().__init__(count, parts, rate)
        self.pipe = pipe

    def on_start(self) -> None:
        if self.replica == 0:
            announce(self.pipe)


class AnnouncedLive(Source):
    """Ten numbers, an announcement when they have been read, then nothing for ever."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, pipe: str) -> None:
        self.pipe, self.count = pipe, 0

    async def read(self, max_rows: int) -> Batch | None:
        import asyncio

        if self.count == 10:
            announce(self.pipe)
            await asyncio.Event().wait()
        self.count += 1
        return numbers(np.array([self.count - 1]))


class Origins(Source):
    """A row of each of three partitions: the number that the runtime takes its partition for."""

    def partitions(self) -> list[str]:
        return ["first", "second", "third"]

    def events(self) -> Iterator[Number]:
        for _ in self.share:
            yield Number(self.origin, self.origin)


class Ints(Source):
    """The same numbers one event at a time."""

    def __init__(self, count: int = 1000) -> None:
        self.limit = count

    def events(self) -> Iterator[Number]:
        for value in range(self.limit):
            yield Number(value, value % 101)


class Live(Source):
    """The same numbers from an async generator; after them it waits for ever if `stays`."""

    def __init__(self, count: int = 1000, stays: bool = False) -> None:
        self.limit, self.stays = count, stays

    async def events(self) -> AsyncIterator[Number]:
        import asyncio

        for value in range(self.limit):
            yield Number(value, value % 101)
            if value % 64 == 0:
                await asyncio.sleep(0)
        if self.stays:
            await asyncio.Event().wait()


class Double(Actor):
    """Per event: value * 2."""

    def on_event(self, event: Number) -> Number:
        return Number(event.value * 2, event.group)


class DoubleBatch(Actor):
    """Per batch: value * 2."""

    def on_batch(self, batch: Batch) -> Batch:
        return batch.with_columns(value=batch["value"] * 2)


class DoubleAsync(Actor):
    """Per event, awaiting between."""

    async def on_event(self, event: Number) -> Number:
        import asyncio

        if event.value % 50 == 0:
            await asyncio.sleep(0)
        return Number(event.value * 2, event.group)


class Drop(Actor):
    """Lets nothing through."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_batch(self, batch: Batch) -> Batch:
        return batch.take(np.zeros(batch.rows, bool))


class Expand(Actor):
    """`times` events for each, on demand."""

    def __init__(self, times: int = 10_000) -> None:
        self.times = times

    def on_event(self, event: Number) -> Iterator[Number]:
        for each in range(self.times):
            yield Number(event.value * self.times + each, event.group)


class Pass(Actor):
    """Hands on what it gets, by reference."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_batch(self, batch: Batch) -> Batch:
        return batch


class Text(Actor):
    """Variable-width output."""

    def on_event(self, event: Number) -> Named:
        return Named("x" * (event.value % 40) + str(event.value), event.value)


class Collect(Sink):
    """Hands the rows it received to whoever started the run, as tuples in the order in which they came."""

    contract = Contract(one_stream=True, destination="caller")

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def on_batch(self, batch: Batch) -> None:
        columns = [batch.column(name).tolist() for name in batch.schema.names()]
        self.rows.extend(zip(*columns))

    def collected(self) -> list[bytes]:
        return [msgspec.msgpack.encode(self.rows)]

    @classmethod
    def decode_collected(cls, schema: Any, parts: list[bytes]) -> list[tuple[Any, ...]]:
        return [tuple(row) for part in parts for row in msgspec.msgpack.decode(part)]


class StuckInPrepare(Sink):
    """Announces that it prepares, and never comes to an end with it."""

    def __init__(self, pipe: str) -> None:
        self.pipe = pipe

    def on_batch(self, batch: Batch) -> None:
        pass

    def prepare(self, barrier: int) -> Any:
        announce(self.pipe)
        threading.Event().wait()


class StuckInHook(Pass):
    """Announces the first batch, and never comes to an end with it."""

    def __init__(self, pipe: str) -> None:
        self.pipe = pipe

    def on_batch(self, batch: Batch) -> Batch:
        announce(self.pipe)
        threading.Event().wait()
        return batch


class StuckAtStart(Pass):
    """Announces that it starts, and awaits for ever."""

    def __init__(self, pipe: str) -> None:
        self.pipe = pipe

    async def on_start(self) -> None:
        import asyncio

        announce(self.pipe)
        await asyncio.Event().wait()


class WaitsAtStart(Pass):
    """Announces that it starts, and goes on when somebody writes to the pipe `go`."""

    def __init__(self, pipe: str, go: str) -> None:
        self.pipe, self.go = pipe, go

    async def on_start(self) -> None:
        import asyncio

        announce(self.pipe)
        await asyncio.get_running_loop().run_in_executor(None, Path(self.go).read_text)


class Journal:
    """Lines that processes append to a file; each line whole, in the order in which they were written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, *words: object) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, (" ".join(map(str, words)) + "\n").encode())
        finally:
            os.close(descriptor)

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []
