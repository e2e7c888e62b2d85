"""The calls of a worker that the messages of the coordinator stand for."""

from __future__ import annotations

from typing import Protocol

from actorstream.control.messages import Abort, Barrier, Commit, Drain, Grant, Lost, Message, Prepare, Suspend


class Granting(Protocol):
    """A worker's barriers, as far as one is granted to it."""

    granted: int


class Controlled(Protocol):
    """A worker, as the coordinator sees it."""

    @property
    def barriers(self) -> Granting: ...
    def drain(self) -> None: ...
    def barrier(self, barrier: int) -> None: ...
    def prepare(self) -> None: ...
    def commit(self, barrier: int) -> None: ...
    def suspend(self) -> None: ...
    def abort(self, why: str) -> None: ...
    def lose(self, worker: int, why: str) -> None: ...


def obey(worker: Controlled, message: Message) -> None:
    """Has a worker do what the coordinator's message says."""
    match message:
        case Drain():
            worker.drain()
        case Barrier(barrier):
            worker.barrier(barrier)
        case Grant(barrier):
            worker.barriers.granted = barrier
        case Prepare():
            worker.prepare()
        case Commit(barrier):
            worker.commit(barrier)
        case Suspend():
            worker.suspend()
        case Lost(lost, why):
            worker.lose(lost, why)
        case Abort():
            worker.abort("stopped by the launcher")
