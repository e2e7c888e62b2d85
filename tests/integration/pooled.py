"""Actors over batches for runs with a schedule."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.events.batch import Batch
from tests.integration.parts import Number, numbers


class Times(Actor):
    """Each row `times` times, in place; without a state. 0: none."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}
    contract = Contract(stateless=True)

    def __init__(self, times: int = 1) -> None:
        self.times = times

    def on_batch(self, batch: Batch) -> Batch | None:
        if self.times == 0:
            return None
        return batch.take(np.repeat(np.arange(batch.rows, dtype=np.uint32), self.times))


class RunningSum(Actor):
    """The sum of all values so far in place of each: in the order of the input."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self) -> None:
        self.total = 0

    def on_batch(self, batch: Batch) -> Batch:
        sums = self.total + np.cumsum(batch["value"])
        self.total = int(sums[-1])
        return numbers(sums)


class SumsAtPromises(Actor):
    """Gives on every row, and at each promise of event time and at the end a row of all the values before it."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self) -> None:
        self.total, self.last = 0, -1

    def on_batch(self, batch: Batch) -> Batch:
        values = batch["value"]
        assert int(values[0]) > self.last, "rows below a promise"
        self.total += int(values.sum())
        return batch

    def on_heartbeat(self, frontier: int) -> None:
        self.last = max(self.last, min(frontier, 2**62) - 1)

    def on_end(self) -> Batch:
        return numbers(np.array([self.total]))


class Fails(Actor):
    """Raises at the value 500."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}
    contract = Contract(stateless=True)

    def on_batch(self, batch: Batch) -> Batch:
        if 500 in batch["value"]:
            raise ValueError("five hundred")
        return batch


class Promises(Actor):
    """Lets threads run its kernel, and has none."""

    contract = Contract(pool_limit=1)

    def on_batch(self, batch: Batch) -> Batch:
        return batch
