"""Operators for runs that are killed while a serial number is held, and a sink that shows how far its output came."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path
from time import monotonic_ns
from typing import Any, ClassVar

from actorstream.actors.actor import Actor
from actorstream.events.batch import Batch
from tests.integration.parts import Number, announce

PAYS_NS = 100_000
"""So long a turn that threads of a pool take it from the loop's."""


class Holds(Actor):
    """Passes rows on. Who first has rows from `first` on keeps them for ever, having written its process's id and the value
    of the first of these rows, and then announced that: replica 1, or a thread of a pool if `pooled`."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}
    stateless: ClassVar[bool] = True

    def __init__(self, pipe: str, first: int, pooled: bool = False) -> None:
        self.pipe, self.first, self.pooled = pipe, first, pooled

    @classmethod
    def pool_limit(cls, keys: dict[str, Any]) -> float:
        return math.inf if keys.get("pooled") else 0

    def on_batch(self, batch: Batch) -> Batch:
        value = int(batch["value"][0])
        if self.pooled:
            until = monotonic_ns() + PAYS_NS
            while monotonic_ns() < until:
                pass
        mine = threading.current_thread() is not threading.main_thread() if self.pooled else self.replica == 1
        if mine and value >= self.first >= 0:
            self.hold(value)
        return batch

    def hold(self, value: int) -> None:
        try:
            with Path(f"{self.pipe}.held").open("x") as file:
                file.write(f"{os.getpid()} {value}")
        except FileExistsError:  # another thread of the pool holds rows, before these or behind them
            threading.Event().wait()
        announce(self.pipe)
        threading.Event().wait()


class Shows(Actor):
    """Writes the value of each row, a line each, as soon as it comes, into `path`: what came before the run was killed."""

    def __init__(self, path: str) -> None:
        self.path = path

    def on_batch(self, batch: Batch) -> None:
        with Path(self.path).open("a") as file:
            file.write("".join(f"{value}\n" for value in batch["value"].tolist()))
