"""A unit whose head is a source: it reads, paces, stamps entry times, promises frontiers and starts barriers."""

from __future__ import annotations

import inspect
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.metrics.counters import Counter
from actorstream.runtime.hooks import operator_error
from actorstream.runtime.replica import Replica
from actorstream.runtime.unit import TURN_FRAMES, TURN_NS, Status, Unit
from actorstream.transports.base import FRONTIER_END

if TYPE_CHECKING:
    from actorstream.connectors.source import Source
    from actorstream.events.batch import Batch
    from actorstream.runtime.worker import Worker

PACE_NS = 1_000_000
"""A paced source sends what is due every millisecond, or a full batch, whichever comes first."""
POLL_S = 0.001


class Pace:
    """How many rows are due at a given rate. Pure: the clock is an argument."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.started = 0
        self.sent = 0

    def due(self, now: int) -> int:
        """Rows that may be sent at `now` (ns)."""
        if not self.started:
            self.started = now
        return int((now - self.started) * self.rate / 1e9) - self.sent + 1

    def wait(self, now: int) -> float:
        """Seconds until a row, or a millisecond's worth of them, is due."""
        rows = max(1, int(self.rate * PACE_NS / 1e9))
        return max(0.0, (self.sent + rows - 1) / self.rate - (now - self.started) / 1e9)


class SourceUnit(Unit):
    """Reads batches of one source replica until it ends or the run drains.

    Args:
        rate: events/s of this replica; 0: as fast as possible.
        promises: whether somebody downstream listens to the event-time frontier.
    """

    def __init__(
        self, worker: Worker, head: Replica, source: Source, *, batch_size: int, rate: float, promises: bool
    ) -> None:
        super().__init__(worker, head)
        self.source = source
        self.batch_size = batch_size
        self.pace = Pace(rate) if rate else None
        self.promises = promises
        self.draining = False
        self.barriers: list[int] = []
        self._is_async = inspect.iscoroutinefunction(source.read)

    def work(self) -> Status:
        deadline = monotonic_ns() + TURN_NS
        for _ in range(TURN_FRAMES):
            if self.blocked:
                return Status.BLOCKED
            while self.barriers:
                self.pass_barrier(self.barriers.pop(0))
            if self.draining:
                return self.spawn(self.finish())
            rows = self.batch_size
            now = monotonic_ns()
            if self.pace is not None:
                due = self.pace.due(now)
                if due <= 0:
                    self.worker.mark_later(self, self.pace.wait(now))
                    return Status.IDLE
                rows = min(rows, due)
            if self._is_async:
                return self.spawn(self._read_async(rows))
            try:
                batch: Any = self.source.read(rows)
            except Exception as error:
                raise operator_error(self.head.name, self.head.replica, None, error) from error
            if batch is None:
                return self.spawn(self.finish())
            self._send(batch, now)
            if not batch.rows:
                self.worker.mark_later(self, POLL_S)
                return Status.IDLE
            if now > deadline:
                return Status.READY
        return Status.READY

    def _send(self, batch: Batch, entered: int) -> None:
        head = self.head
        if batch.rows:
            head.entry_min = head.entry_max = entered
            head.outbox.emit(batch, "default")
            head.execute_ns += monotonic_ns() - entered
            head.dispatch()
            if self.pace is not None:
                self.pace.sent += batch.rows
        dead = self.source.take_dead()
        if dead is not None:
            head.failures.dead += dead.rows
            head.outbox.emit(dead, "dead")
            head.dispatch()
        if self.promises:
            bound = self.source.lower_bound(entered)
            if bound is not None:
                head.advance(bound)

    async def _read_async(self, rows: int) -> None:
        entered = monotonic_ns()
        try:
            batch: Any = await self.source.read(rows)  # type: ignore[misc]
        except Exception as error:
            raise operator_error(self.head.name, self.head.replica, None, error) from error
        if batch is None:
            await self.finish()
        else:
            self._send(batch, max(entered, monotonic_ns()))

    async def finish(self) -> None:
        await super().finish()
        if self.promises:
            self.head.advance(FRONTIER_END)

    def publish(self) -> None:
        super().publish()
        done, total = self.source.progress()
        if total:
            row = self.head.row
            row[Counter.BYTES_DONE] = done
            row[Counter.BYTES_TOTAL] = total
