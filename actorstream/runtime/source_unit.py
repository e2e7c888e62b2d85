"""A unit whose head is a source. It reads, paces, notes entry times, promises frontiers and starts barriers."""

from __future__ import annotations

import asyncio
import inspect
import sys
from functools import cached_property
from time import monotonic_ns, time_ns
from typing import TYPE_CHECKING, Any

from actorstream.actors.operator_errors import operator_error, promised
from actorstream.connectors.source import NO_MORE, batch_of
from actorstream.events.batch import BATCHES
from actorstream.metrics.counters import Counter
from actorstream.runtime.fast_paths.source import direct_sender
from actorstream.runtime.idleness import SourceIdleness
from actorstream.runtime.output import StreamEdge
from actorstream.runtime.read_sizing import ReadSizing
from actorstream.runtime.replica import Replica
from actorstream.runtime.size_policy import LEAST_READ, STEP_ROWS
from actorstream.runtime.unit import TURN_FRAMES, Status, Unit
from actorstream.scheduling.pace import Pace
from actorstream.windows.watermark import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from actorstream.connectors.source import Source
    from actorstream.events.batch import Batch
    from actorstream.native.alarms import Alarm
    from actorstream.runtime.fast_paths.source_chain import SourceChain
    from actorstream.runtime.ports import EventTaker, WorkerPort
    from actorstream.scheduling.batch_size import BatchSize
    from actorstream.windows.watermark import PartitionWatermarks

POLL_S = 0.001


class SourceUnit(Unit):
    """Reads batches of one source replica until it ends or the run drains.

    Args:
        rate: events/s of this replica; 0: as fast as possible.
        promises: whether an actor downstream needs event time.
        in_order: whether rows leave it in the order of time, so that no order depends on how many are read at once.
        watermarks: of the partitions, if so and the rows have an event time.
        one_partition: this replica reads one partition only, so that its watermark is the source's promise.
        heartbeat_s: seconds between heartbeats of a paced or live source.
        idle_timeout: a source without a row for so long is idle, and consumers do not wait for it; None: it never is.
    """

    def __init__(
        self,
        worker: WorkerPort,
        head: Replica,
        source: Source,
        *,
        rate: float,
        promises: bool = False,
        in_order: bool = False,
        watermarks: PartitionWatermarks | None = None,
        one_partition: bool = True,
        heartbeat_s: float = 0.05,
        idle_timeout: timedelta | None = None,
    ) -> None:
        super().__init__(worker, head)
        self.promises, self.watermarks, self.one_partition = promises, watermarks, one_partition
        self.in_order, self.heartbeat_s, self.idle_timeout = in_order, heartbeat_s, idle_timeout
        self._idleness: SourceIdleness | None = None
        self._idle_alarm: Alarm | None = None
        self._heartbeat: Alarm | None = None
        """These two and `_later` give the unit its next turn; None: it has needed none yet."""
        self._bad_rows = 0
        self.source = source
        self.pace = Pace(rate) if rate else None
        self.sizing = ReadSizing(self, self.pace)
        self.most_rows = sys.maxsize
        """Rows after which a turn ends, if a schedule says so."""
        self._left = self._full = self._deadline = 0
        """Of a turn: the rows that it may still read; the rows of a batch as large as the last one could have been, for the
        statistics of batch sizes, whatever the pace left of it; and the time at which the turn is over."""
        self.draining = False
        self.barriers: list[int] = []
        self.clock = time_ns
        """What time it is for `lower_bound`."""
        self.in_step: int | None = None
        """Rows since event time last rose, where it rises behind every STEP_ROWS rows; None: it rises with every turn."""
        self._promised = NOTHING
        """The greatest value that `lower_bound` has returned."""
        self.is_async = inspect.iscoroutinefunction(source.read)
        self._reading: asyncio.Task[Any] | None = None
        self.chain: SourceChain | None = None
        """The native chain that was planned behind the source; None: there is none, or it cannot be linked."""
        self._takers: list[EventTaker] = []
        """Units in this process that may be given an event directly."""
        self._yields = False
        """Whether a turn ends with an event that was sent directly, because such a unit may work on it."""
        self._later: Alarm | None = None

    def drain(self) -> None:
        """The source ends as if its input did, also while it waits for input."""
        self.draining = True
        self.worker.mark(self)

    def snapshot(self, replica: Replica) -> Any:
        if replica is not self.head:
            return None
        watermarks = None if self.watermarks is None else self.watermarks.snapshot()
        streams = [edge.snapshot() for edge in self._stream_edges()]
        found = {"watermarks": watermarks, "programs": streams, "promised": self._promised}
        return found if self.in_step is None else {**found, "in_step": self.in_step}

    def restore(self, snapshot: Any) -> None:
        if self.watermarks is not None and snapshot["watermarks"] is not None:
            self.watermarks.restore(snapshot["watermarks"])
        for edge, of_edge in zip(self._stream_edges(), snapshot["programs"]):
            edge.restore(of_edge)
        if self.in_order:
            self._promised = snapshot["promised"]
        if self.in_step is not None:
            self.in_step = snapshot.get("in_step", 0)

    def _stream_edges(self) -> Iterator[StreamEdge]:
        """Edges that know how far each stream is."""
        for edges in self.head.edges.values():
            yield from (edge for edge in edges if isinstance(edge, StreamEdge))

    def start_barrier(self, barrier: int) -> None:
        self.barriers.append(barrier)
        self.worker.mark(self)

    def work(self) -> Status:
        if self.idle_timeout is not None and self._idleness is None:
            self._idleness = SourceIdleness(int(self.idle_timeout.total_seconds() * 1e9), monotonic_ns())
        sent = self.pace.sent if self.pace is not None else 0
        status = self._read()
        if status is Status.BLOCKED:
            self.sizing.blocks()
        if self._yields and status is Status.READY and self.pace is not None and self.pace.sent > sent:
            return status  # the unit that was given the event works on it before anything else is done here
        if self._idleness is not None and not self._idleness.idle and self.async_hooks.task is None:
            self._check_idle(self._idleness, status)
        chain = self.chain
        if self.promises and not self.in_step and self.async_hooks.task is None:
            if chain is None or not chain.promise():
                self.promise()
            if self.pace is not None or self.is_async:  # it may promise more as time passes
                self._heartbeat = self._alarm(self._heartbeat, self.heartbeat_s)
        if chain is not None and self.most_rows < sys.maxsize:
            chain.settle()  # the schedule measures what each turn has taken
        return Status.READY if self.async_hooks.due and status is Status.IDLE else status

    def _read(self) -> Status:
        """Reads until the turn is over, one batch or one call of C after the other."""
        sizing = self.sizing
        if sizing.blocked_at is not None:
            sizing.resumes(sizing.blocked_at)
        size, chain = sizing.size, self.chain
        if chain is not None and not chain.is_linked and not chain.link():
            self.chain = chain = None
        read = self._run_chain if chain is not None and chain.makes_rows else self._read_batch
        self._deadline, self._left = monotonic_ns() + self.worker.turn_ns, self.most_rows
        for _ in range(TURN_FRAMES):
            if self.blocked:
                return Status.BLOCKED
            if self.async_hooks.due or self._left <= 0:
                return Status.READY
            if self.barriers or self.draining or self._reading is not None:
                status = self._interrupted()
                if status is not Status.READY:
                    return status
                continue
            rows = self._full = max(size.rows, LEAST_READ) if self.in_order else size.rows
            if self.pace is not None and not (rows := self.sizing.rows_due(rows, now := monotonic_ns())):
                self._look_again(self.pace.wait(now))
                return Status.IDLE
            ended = read(size, rows, monotonic_ns())  # the entry time of what is read
            if ended is not None:
                return ended
        return Status.READY

    def _interrupted(self) -> Status:
        """Takes what an async read has returned, or passes barriers on, or ends the input. READY: more may be read."""
        reading = self._reading
        if reading is not None and reading.done():
            self._reading = None
            self.source.hold_position(held=False)
            try:
                found = batch_of(self.source, reading.result())
            except (Exception, asyncio.CancelledError) as error:  # nobody but the source has cancelled it
                raise operator_error(self.head.name, self.head.replica, None, error) from error
            return self._send(found, monotonic_ns(), 0)
        if self.chain is not None:
            self.chain.settle()
        while self.barriers:  # only now, so that what was read is what was sent
            self.pass_barrier(self.barriers.pop(0))
        if self.draining:
            return self._end_of_input()
        return Status.READY if reading is None else Status.IDLE

    def _run_chain(self, size: BatchSize, rows: int, now: int) -> Status | None:
        """Lets C make batches and take them through the chain. Returns what ends the turn; None: it goes on."""
        chain, pace = self.chain, self.pace
        assert chain is not None, "_read has looked"
        most, until = rows, self._deadline
        if size.turn_ns:
            most, ends = self._left, now + size.turn_ns
            until = ends if ends < until else until
        taken = chain.turn(rows, most if pace is None else rows, until)
        if not taken:
            return self._read_batch(size, rows, now)
        self._left -= taken
        if pace is not None:
            pace.sent += taken
        self.sizing.asked.count(self._full, batches := -(-taken // rows))
        ended = monotonic_ns()
        if size.follows_cost:
            size.took(taken, now, ended, batches)
        return Status.READY if chain.ended or ended > self._deadline else None

    def _read_batch(self, size: BatchSize, rows: int, now: int) -> Status | None:
        """Reads a batch and sends it, or begins to read one. Returns what ends the turn; None: it goes on."""
        if self.row_budget is not None:
            rows = min(rows, self.row_budget.rows)
        if self.in_step is not None:
            rows = min(rows, STEP_ROWS - self.in_step)
        if self.is_async:
            self.source.hold_position(held=True)
            self._reading = self.worker.loop.create_task(self.source.read(rows))  # type: ignore[arg-type]
            self._reading.add_done_callback(lambda _: self.worker.mark(self))
            return Status.IDLE
        send, yields = self._direct, False
        try:
            found: Any = self.source.read(rows)
        except Exception as error:
            raise operator_error(self.head.name, self.head.replica, None, error) from error
        spent, is_batch = 0, type(found) in BATCHES
        if is_batch:  # a single event is sent before anything else is done
            spent = monotonic_ns() - now
            if size.follows_load:
                size.behind(behind=self.sizing.is_behind())
        if send is not None and (sent := send(found, now)):
            spent = spent or monotonic_ns() - now
            # before anything is counted: others may wait for what the event leads to
            for unit in self._takers:
                unit.take_event(now + spent)
            self.head.events_out += sent
            self._count(sent, now, spent)
            if self.source.bad_rows != self._bad_rows:
                self._send_dead()
            yields = self._yields
        else:
            if not is_batch and found is not None:
                found = batch_of(self.source, found)
                spent = monotonic_ns() - now
            status = self._send(found, now, spent)
            if status is not Status.READY:
                size.rested()
                self.sizing.asked.count(self._full)
                return status
            sent = found.rows
        self.sizing.asked.count(self._full)
        if size.follows_cost:
            size.took(sent, now, monotonic_ns())
        self._left -= sent
        return Status.READY if now > self._deadline or yields else None

    def _check_idle(self, idleness: SourceIdleness, status: Status) -> None:
        """Tells consumers that the source is idle if it has had no row for `idle_timeout`; else looks again at that time."""
        now = monotonic_ns()
        if status is Status.BLOCKED:
            idleness.row_came(now)
        left = idleness.time_left(now)
        if left == 0 and status is Status.IDLE:
            if self.promises:
                self.promise()
            self.tell_idle(idleness.begin())
        elif left:
            self._idle_alarm = self._alarm(self._idle_alarm, left / 1e9)

    def _end_of_input(self) -> Status:
        self._send_dead()  # of rows behind the last that parsed
        if self.promises:
            self.promise(ends=True)
        return self.spawn(self.finish())

    def _send(self, batch: Batch | None, entered: int, spent: int) -> Status:
        """Sends what was read in `spent` ns. Returns IDLE if that was no row, or what the end of the input leads to."""
        if batch is None:
            return self._end_of_input()
        head, rows = self.head, batch.rows
        if rows:
            if self._idleness is not None and self._idleness.row_came(monotonic_ns()):
                self.tell_idle(self._idleness.count)
            if self.watermarks is not None and (times := batch.event_times()) is not None:
                marks = self.watermarks.observe(self.source.origin, times, self._promised)
                if self.watermarks.ordered:
                    batch._times = (int(times[0]), int(times[-1]))
                if marks is not None:  # of rows that are behind their partition's watermark
                    batch = batch.with_system(_watermark=marks)
            self._count(rows, entered, spent)
            if self.chain is None or not self.chain.take(batch, entered):
                head.forward(batch)
            if self.in_step is not None:
                self.in_step = (self.in_step + rows) % STEP_ROWS
                if not self.in_step:
                    self.promise()
        if self.source.bad_rows != self._bad_rows:
            self._send_dead()
        if (late := self.source.take_late()) is not None:
            head.context.count_late(late.rows)
            head.forward(late, "late")
        if self.row_budget is not None:
            self.row_budget.took(rows)
        if rows:
            return Status.READY
        self._look_again(POLL_S)
        return Status.IDLE

    def _send_dead(self) -> None:
        """Counts rows that did not parse since the last read, and sends dead letters of them."""
        bad, self._bad_rows = self.source.bad_rows - self._bad_rows, self.source.bad_rows
        dead = self.source.take_dead() if bad else None
        self.head.failures.dead += bad
        if dead is not None:
            self.head.outbox.emit(dead, "dead")
            self.head.dispatch()

    @cached_property
    def _direct(self) -> Callable[[Any, int], int] | None:
        """Sends what was read past what batches in general need (`direct_sender`). None: event time, idleness or the consumers
        need batches. Asked for once there are edges."""
        if self.in_order or self.watermarks is not None or self.idle_timeout is not None:
            return None
        edges = list(self._stream_edges())
        self._yields = bool(edges)
        self._takers = list({taker for edge in edges for taker in edge.takers()})
        return direct_sender(self.head)

    def _count(self, rows: int, entered: int, spent: int) -> None:
        """Notes rows that were read: when they entered, and the ns that reading them took."""
        head = self.head
        head.entry_min = head.entry_max = entered
        head.execute_ns += spent
        if self.pace is not None:
            self.pace.sent += rows

    def promise(self, *, ends: bool = False) -> None:
        """Advances the frontier to what the source can promise now. `ends`: its input has ended."""
        if self.chain is not None:
            self.chain.settle()
        bound = promised(
            self.head.name, self.head.replica, self.source.lower_bound, self.clock(), nothing=True
        )
        if (ends or bound == NO_MORE) and self.worker.job.idles and self.watermarks is not None:
            self.head.advance(self.watermarks.last())  # consumers may wait for a time before the end of time
        if bound is not None:
            self._promised = max(self._promised, bound)
            self.head.advance(bound)
        if ((bound is None and self.one_partition) or self.in_order) and self.watermarks is not None:
            self.head.advance(self.watermarks.watermark(self.source.origin))

    def hurry(self) -> None:
        """A worker of a program waits for this source's promise: the source promises at once what the clock alone allows.
        It does so only where it has heartbeats, after its first turn, and not before rows that it has read."""
        read = self._reading is not None and self._reading.done()
        if self._heartbeat is not None and self.async_hooks.task is None and not (self.ending or read):
            self.promise()

    def _alarm(self, last: Alarm | None, seconds: float) -> Alarm:
        """An alarm that gives the unit a turn: the last one of its kind until that was due, then one after `seconds`."""
        if last is not None and last.at > monotonic_ns():
            return last
        return self.worker.mark_later(self, seconds)

    def _look_again(self, seconds: float) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later = self.worker.mark_later(self, seconds)

    async def finish(self) -> None:
        self._cancel_alarms()
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.wait([reading])
            returned = not reading.cancelled() and reading.exception() is None
            if returned and (batch := batch_of(self.source, reading.result())) is not None:
                self.source.hold_position(held=False)
                self._send(batch, monotonic_ns(), 0)  # it was about to return when it was cancelled
        if self.promises:
            self.head.advance(NO_MORE)  # a consumer that is called directly sees no end mark
        await super().finish()

    def stop(self) -> list[asyncio.Task[Any]]:
        tasks = super().stop()
        self._cancel_alarms()
        if self._reading is not None:
            self._reading.cancel()
            tasks.append(self._reading)
        return tasks

    def _cancel_alarms(self) -> None:
        for handle in (self._later, self._heartbeat, self._idle_alarm):
            if handle is not None:
                handle.cancel()

    def publish(self) -> None:
        if self.chain is not None:
            self.chain.settle()
        super().publish()
        self.sizing.publish()
        done, total = self.source.progress()
        if total:
            row = self.head.row
            row[Counter.BYTES_DONE], row[Counter.BYTES_TOTAL] = done, total
