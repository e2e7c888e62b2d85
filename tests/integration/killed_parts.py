"""Operators for runs that are killed while a serial number is held, and a sink that shows how far its output came."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, ClassVar

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.events.batch import Batch
from tests.integration.parts import Number, announce


class Holds(Actor):
    """Passes rows on. Who first has rows from `first` on keeps them for ever, having written its process's id and the value
    of the first of these rows, and then announced that: replica 1."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}
    contract = Contract(stateless=True)

    def __init__(self, pipe: str, first: int) -> None:
        self.pipe, self.first = pipe, first

    def on_batch(self, batch: Batch) -> Batch:
        value = int(batch["value"][0])
        if self.replica == 1 and value >= self.first >= 0:
            self.hold(value)
        return batch

    def hold(self, value: int) -> None:
        with Path(f"{self.pipe}.held").open("x") as file:
            file.write(f"{os.getpid()} {value}")
        announce(self.pipe)
        threading.Event().wait()


class Shows(Actor):
    """Writes the value of each row, a line each, as soon as it comes, into `path`: what came before the run was killed."""

    def __init__(self, path: str) -> None:
        self.path = path

    def on_batch(self, batch: Batch) -> None:
        with Path(self.path).open("a") as file:
            file.write("".join(f"{value}\n" for value in batch["value"].tolist()))
