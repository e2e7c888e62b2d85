"""Writes large states into the checkpoint store, on a thread of its own: the rows go on meanwhile, and no state passes
through the launcher."""

from __future__ import annotations

import asyncio
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from actorstream.checkpoint.store import CheckpointStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from actorstream.checkpoint.checkpoint import StateFile
    from actorstream.checkpoint.store import Bytes


class _Order(NamedTuple):
    """A state to be written, and what to do then, on the loop."""

    number: int
    replica: int
    pieces: Sequence[Bytes]
    written: Callable[[StateFile], None]


class StateWriter:
    """The large states of one worker, one after the other.

    Args:
        path: of the store. failed: called on the loop if a state cannot be written.
    """

    def __init__(self, path: str, failed: Callable[[BaseException], None]) -> None:
        self.path, self.failed = path, failed
        self._orders: SimpleQueue[_Order] = SimpleQueue()
        self._waiting = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._thread: Thread | None = None

    def write(
        self, number: int, replica: int, pieces: Sequence[Bytes], written: Callable[[StateFile], None]
    ) -> None:
        """Writes `pieces` as the state of a replica at checkpoint `number`; `written` is called once they are safe. They
        must not change. On the loop."""
        self._waiting += 1
        self._idle.clear()
        self._orders.put(_Order(number, replica, pieces, written))
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = Thread(target=self._run, args=(loop,), name="actorstream-states", daemon=True)
            self._thread.start()

    async def wait_idle(self) -> None:
        """Until all is written, or was given up."""
        await self._idle.wait()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        store = CheckpointStore(self.path)
        while True:
            order = self._orders.get()
            found: StateFile | Exception
            try:
                found = store.write_state(order.number, order.replica, order.pieces)
            except Exception as error:
                found = error
            written = order.written
            del order  # and with it the state
            try:
                loop.call_soon_threadsafe(self._done, written, found)
            except RuntimeError:
                return  # the loop is closed: the worker has ended

    def _done(self, written: Callable[[StateFile], None], found: StateFile | Exception) -> None:
        if isinstance(found, Exception):
            self.failed(found)
        else:
            written(found)
        self._waiting -= 1
        if not self._waiting:
            self._idle.set()
