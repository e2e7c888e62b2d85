"""Operators of the tests on several hosts: one that says when it works, one that keeps the interpreter busy."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

from actorstream.actors.actor import Actor
from tests.integration.parts import Number
from tests.integration.rank_parts import own_rank


def rank() -> str:
    """Which one this process is, over ZeroMQ or MPI."""
    return os.environ.get("ACTORSTREAM_RANK") or own_rank()


class Tell(Actor):
    """Passes numbers on, and writes its replica's rank to a pipe when the first one has come."""

    def __init__(self, pipe: str) -> None:
        self.pipe = pipe
        self.told = False

    def on_event(self, event: Number) -> Iterator[Number]:
        if not self.told:
            self.told = True
            descriptor = os.open(self.pipe, os.O_WRONLY)
            os.write(descriptor, f"{rank()}\n".encode())
            os.close(descriptor)
        yield event


class Busy(Actor):
    """Passes numbers on, and once keeps the interpreter lock for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_done = False

    def on_event(self, event: Number) -> Iterator[Number]:
        if not self.is_done:
            self.is_done = True
            ctypes.PyDLL(None).usleep(
                round(self.seconds * 1e6)
            )  # unlike time.sleep it does not release the lock
        yield event
