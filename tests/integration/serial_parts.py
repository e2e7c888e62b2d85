"""Operators of the tests of serial order: every selectivity, state by key, and rows at the end. Run by the command line
too, so that it is a module of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.events.batch import Batch
from tests.integration.parts import Number, announce


class Some(Actor):
    """Per event: value modulo `most` copies, numbered; so some rows bring none and some many."""

    def __init__(self, most: int = 4) -> None:
        self.most = most

    def on_event(self, event: Number) -> Iterator[Number]:
        for copy in range(event.value % self.most):
            yield Number(event.value * 10 + copy, (event.value + copy) % 7)


class SomeBatch(Actor):
    """Per batch: value modulo `most` copies of each row, by `take`."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, most: int = 3) -> None:
        self.most = most

    def on_batch(self, batch: Batch) -> Batch:
        values = batch["value"]
        return batch.take(np.repeat(np.arange(batch.rows), values % self.most))


class Made(Actor):
    """Per batch: new columns, with the rows they descend from."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_batch(self, batch: Batch) -> Batch:
        columns = {"value": batch["value"] + 1, "group": batch["group"]}
        return Batch.of(columns, event=Number, origin=batch)


class Forgets(Actor):
    """Per batch: new columns that say nothing about where they come from."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_batch(self, batch: Batch) -> Batch:
        return Batch.of({"value": batch["value"] + 1, "group": batch["group"]}, event=Number)


class CountByGroup(Actor):
    """Per event: how many rows of its group have come so far; at the end each group's count, if `totals`."""

    def __init__(self, totals: bool = False) -> None:
        self.totals = totals
        self.state: dict[int, int] = {}

    def on_event(self, event: Number) -> Number:
        count = self.state[event.group] = self.state.get(event.group, 0) + 1
        return Number(event.value * 1000 + count, event.group)

    def on_end(self) -> Iterator[Number]:
        for group in sorted(self.state) if self.totals else ():
            yield Number(-self.state[group], group)


class Chain(Actor):
    """Per event: a number that depends on all that came before, in that order."""

    def __init__(self) -> None:
        self.state = 0

    def on_event(self, event: Number) -> Number:
        self.state = (self.state * 31 + event.value) % 1_000_003
        return Number(self.state, event.group)


class Parted(Actor):
    """Even values to `even`, odd ones to `odd`."""

    outputs: ClassVar[dict[str, Any]] = {"even": Number, "odd": Number}

    def on_event(self, event: Number) -> None:
        self.emit(event, "odd" if event.value % 2 else "even")


class Fires(Actor):
    """Counts the rows of each group; when event time passes a multiple of ten, it tells the counts so far."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self) -> None:
        self.state: dict[int, int] = {}
        self.due = 10

    def on_batch(self, batch: Batch) -> None:
        for event in batch.events():
            self.state[event.value // 10] = self.state.get(event.value // 10, 0) + 1

    def on_heartbeat(self, frontier: int) -> Iterator[Number]:
        for window in sorted(self.state):
            if (window + 1) * 10 <= frontier:
                yield Number(window * 10 + 9, self.state.pop(window))


class StuckOnce(Actor):
    """The replica in the middle writes its process's id, announces that it holds rows, and holds them for ever."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, pipe: str) -> None:
        self.pipe = pipe

    def on_batch(self, batch: Batch) -> Batch:
        if self.replica == 1:
            Path(f"{self.pipe}.pid").write_text(str(os.getpid()))
            announce(self.pipe)
            threading.Event().wait()
        return batch
