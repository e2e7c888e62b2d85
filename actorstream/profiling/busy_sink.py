"""A sink that works for a given time on each batch, so that it never waits for the next one."""

from __future__ import annotations

from time import thread_time_ns
from typing import TYPE_CHECKING

from actorstream.connectors.sink import Sink

if TYPE_CHECKING:
    from actorstream.events.batch import Batch


class BusySink(Sink):
    """Takes rows and keeps none. `work_ns`: nanoseconds of processor time that it works on each batch."""

    def __init__(self, work_ns: int) -> None:
        self.work_ns = work_ns

    def on_batch(self, batch: Batch) -> None:
        until = thread_time_ns() + self.work_ns
        while thread_time_ns() < until:
            pass
