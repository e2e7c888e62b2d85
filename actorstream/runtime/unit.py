"""A unit of scheduling: a replica with its inputs, and the neighbours that are called directly behind it.

A unit runs in turns: some jumbo tuples or some milliseconds, then it lets the loop go on (docs/architecture.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import IntEnum
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.checkpoint.alignment import Alignment
from actorstream.metrics.counters import Counter
from actorstream.runtime.output import DirectEdge, OutLane
from actorstream.runtime.replica import FRONTIER_MIN, Replica
from actorstream.transports.base import FRONTIER_END, Frame, FrameKind, ReceiveChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.ordering.base import Gate
    from actorstream.runtime.worker import Worker

TURN_FRAMES = 64
TURN_NS = 2_000_000
CHUNK_NS = 1_000_000
PUBLISH_NS = 10_000_000
"""How often counters are published while a unit works."""


class Status(IntEnum):
    """What a unit says at the end of its turn."""

    READY = 0
    """It has more to do."""
    IDLE = 1
    """It waits for input; a doorbell bit will tell."""
    BLOCKED = 2
    """It waits for credit of an output; a doorbell bit will tell."""
    BUSY = 3
    """An async hook is running; its end will tell."""
    DONE = 4
    """It has ended."""


class InLane:
    """One producer replica's channel into a unit."""

    __slots__ = ("channel", "decode", "ended", "held", "index", "input")

    def __init__(
        self, index: int, input_name: str, channel: ReceiveChannel, decode: Callable[[Frame], Batch]
    ) -> None:
        self.index, self.input, self.channel, self.decode = index, input_name, channel, decode
        self.ended = False
        self.held = False

    def head(self) -> Frame | None:
        return self.channel.peek()

    def frontier(self) -> int:
        return FRONTIER_END if self.ended else self.channel.frontier(0)


class Unit:
    """What every unit has: members (the head first), their blocked lanes, timers, ends and barriers."""

    def __init__(self, worker: Worker, head: Replica) -> None:
        self.worker = worker
        self.head = head
        self.members: list[Replica] = []
        self.blocked: list[OutLane] = []
        self.task: asyncio.Task[None] | None = None
        self.ready = False
        """Whether the worker's ready queue holds this unit."""
        self.done = False
        self.ending = False
        self._timers: dict[tuple[int, str], asyncio.TimerHandle] = {}
        self._fired: list[tuple[Replica, str]] = []
        self._rests = Status.READY
        self._since = 0
        self.published = 0
        self.dirty = False
        """Whether counters have changed since they were published."""
        self.add(head)

    def add(self, replica: Replica) -> None:
        """Makes a replica part of this unit: the head, then neighbours that are called directly."""
        replica.unit = self
        self.members.append(replica)

    # -- outputs

    def on_blocked(self, lane: OutLane) -> None:
        if lane not in self.blocked:
            self.blocked.append(lane)

    def unblock(self) -> bool:
        """Tries the blocked lanes again; whether none is left."""
        if self.blocked:
            waiting, self.blocked = self.blocked, []
            for lane in waiting:
                lane.flush()
        return not self.blocked

    def flush(self) -> None:
        """Sends what waits on every output; before the worker parks nothing stays behind unless a channel is full."""
        for replica in self.members:
            for edges in replica.edges.values():
                for edge in edges:
                    edge.flush()

    def lanes(self) -> Iterator[OutLane]:
        """Every outgoing lane of every member."""
        for replica in self.members:
            for edges in replica.edges.values():
                for edge in edges:
                    yield from getattr(edge, "lanes", ())

    def publish(self) -> None:
        """Writes the members' counters to shared memory, and takes back what consumers have returned."""
        self.published = monotonic_ns()
        self.dirty = False
        for replica in self.members:
            replica.publish()
        peak = transfer = 0
        for lane in self.lanes():
            lane.channel.poll()
            peak = max(peak, lane.channel.statistics()["peak_bytes"])
            transfer += lane.transfer_ns
        row = self.head.row
        row[Counter.TRANSFER_NS] = transfer
        row[Counter.QUEUE_MAX_BYTES] = peak

    # -- turns

    def step(self) -> Status:
        """One turn. Raises OperatorError where a hook failed under on_error = "fail"."""
        if self.done:
            return Status.DONE
        if self.task is not None:
            return Status.BUSY
        self._waited(monotonic_ns())
        if self.ending:
            return self._end()
        if self._fired:
            self._run_timers()
        if self.blocked and not self.unblock():
            return Status.BLOCKED
        status = self.work()
        if status is Status.IDLE:
            self.flush()
            if self.blocked:
                status = Status.BLOCKED
        now = monotonic_ns()
        if now - self.published > PUBLISH_NS:
            self.publish()
        else:
            self.dirty = True
        if status is not Status.READY:
            self._rests = status
            self._since = now
        return status

    def _waited(self, now: int) -> None:
        """Counts the time since the last turn as waiting for input or for credit."""
        if self._rests is Status.IDLE:
            self.head.row[Counter.WAIT_IN_NS] += now - self._since
        elif self._rests is Status.BLOCKED:
            self.head.row[Counter.WAIT_OUT_NS] += now - self._since
        self._rests = Status.READY

    def work(self) -> Status:
        """The turn itself, once nothing is blocked."""
        raise NotImplementedError

    def spawn(self, coroutine: Any) -> Status:
        """Runs an async hook, or the end; the unit is busy until it is through."""
        self.task = self.worker.loop.create_task(coroutine)
        self.task.add_done_callback(self._task_done)
        return Status.BUSY

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self.task = None
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.worker.fail(error)
        else:
            self.publish()
            self.worker.mark(self)

    # -- timers

    def set_timer(self, replica: Replica, name: str, after: float, every: float | None) -> None:
        self.cancel_timer(replica, name)
        delay = after or (every or 0.0)
        self._timers[replica.id, name] = self.worker.loop.call_later(delay, self._fire, replica, name, every)

    def cancel_timer(self, replica: Replica, name: str) -> None:
        handle = self._timers.pop((replica.id, name), None)
        if handle is not None:
            handle.cancel()

    def _fire(self, replica: Replica, name: str, every: float | None) -> None:
        self._timers.pop((replica.id, name), None)
        if self.done:
            return
        self._fired.append((replica, name))
        if every is not None:
            self._timers[replica.id, name] = self.worker.loop.call_later(
                every, self._fire, replica, name, every
            )
        self.worker.mark(self)

    def _run_timers(self) -> None:
        fired, self._fired = self._fired, []
        for replica, name in fired:
            coroutine = replica.call("on_timer", name)
            if coroutine is not None:
                self.spawn(coroutine)

    def stop_timers(self) -> None:
        for handle in self._timers.values():
            handle.cancel()
        self._timers.clear()

    # -- ends and barriers

    async def finish(self) -> None:
        """The input has ended: on_end of each member in order, last rows, then end marks behind them."""
        self.stop_timers()
        for replica in self.members:
            coroutine = replica.call("on_end")
            if coroutine is not None:
                await coroutine
        self.control(FrameKind.END, 0)
        self.ending = True

    def _end(self) -> Status:
        """Done as soon as the channels have taken everything up to the end marks."""
        if not self.unblock():
            return Status.BLOCKED
        self.done = True
        for replica in self.members:
            replica.publish()
            replica.row[Counter.ENDED] = 1
        self.worker.unit_done(self)
        return Status.DONE

    def pass_barrier(self, barrier: int) -> None:
        """Takes the members' snapshots, and passes the barrier on behind everything they have sent."""
        for replica in self.members:
            self.worker.on_snapshot(replica, barrier)
            replica.row[Counter.BARRIERS] += 1
        self.control(FrameKind.BARRIER, barrier)

    def control(self, kind: FrameKind, barrier: int) -> None:
        for replica in self.members:
            for edges in replica.edges.values():
                for edge in edges:
                    if not isinstance(edge, DirectEdge):
                        edge.control(kind, barrier)


class OperatorUnit(Unit):
    """A unit whose head takes input by channels, in the order its gate decides."""

    def __init__(self, worker: Worker, head: Replica, lanes: list[InLane], gate: Gate) -> None:
        super().__init__(worker, head)
        self.in_lanes = lanes
        self.gate = gate
        self.alignment = Alignment(lanes)
        self.follow_frontier = False
        self._frontier = FRONTIER_MIN
        self._events: list[Any] = []  # events of a batch that one turn did not finish
        self._at = 0
        self._source = ""
        self._chunk = 256

    def work(self) -> Status:
        deadline = monotonic_ns() + TURN_NS
        head, gate = self.head, self.gate
        for _ in range(TURN_FRAMES):
            if self._events and not self._run_events(deadline):
                return Status.BLOCKED if self.blocked else Status.READY
            if self.blocked:
                return Status.BLOCKED
            lane = gate.next()
            if lane is None:
                if self.follow_frontier:
                    self._follow()
                return Status.IDLE
            frame = lane.channel.peek()
            if frame.kind == FrameKind.DATA:
                batch = lane.decode(frame)
                batch.entry_min, batch.entry_max = frame.min_entry, frame.max_entry
                call = head.calls[lane.input]
                if call.is_async:
                    return self.spawn(self._run_async(lane, batch))
                if call.takes_batch:
                    head.accept(batch, lane.input)
                else:
                    head.begin(batch, lane.input)
                    self._events, self._at, self._source = batch.events(), 0, lane.input
                lane.channel.consume()
            elif frame.kind == FrameKind.BARRIER:
                lane.channel.consume()
                self._complete(self.alignment.deliver(lane, frame.barrier))
            elif frame.kind == FrameKind.END:
                lane.channel.consume()
                lane.ended = True
                self._complete(self.alignment.ended(lane))
                if all(each.ended for each in self.in_lanes):
                    return self.spawn(self.finish())
            if monotonic_ns() > deadline:
                return Status.READY
        return Status.READY

    def _complete(self, barrier: int | None) -> None:
        if barrier is not None:
            self.pass_barrier(barrier)

    def _run_events(self, deadline: int) -> bool:
        """Goes on with the events of the current batch, in chunks that keep a turn short; whether all are through."""
        head, events, at = self.head, self._events, self._at
        call = head.calls[self._source]
        while at < len(events):
            chunk = events[at : at + self._chunk] if at or len(events) > self._chunk else events
            started = monotonic_ns()
            call.run(chunk)  # type: ignore[arg-type]
            now = monotonic_ns()
            head.execute_ns += now - started
            at += len(chunk)
            self._at = at
            head.finish(len(chunk))
            self._chunk = max(1, min(1 << 16, len(chunk) * CHUNK_NS // max(now - started, 1)))
            if at < len(events) and (self.blocked or now > deadline):
                return False
        self._events = []
        return True

    async def _run_async(self, lane: InLane, batch: Batch) -> None:
        head = self.head
        call = head.calls[lane.input]
        head.begin(batch, lane.input)
        started = monotonic_ns()
        await call.run_async(batch if call.takes_batch else batch.events())  # type: ignore[arg-type]
        head.execute_ns += monotonic_ns() - started
        head.finish(batch.rows)
        lane.channel.consume()

    def publish(self) -> None:
        super().publish()
        self.head.row[Counter.KEPT_BLOCKS] = sum(lane.channel.statistics()["kept"] for lane in self.in_lanes)

    def _follow(self) -> None:
        """Reads the lanes' promises; what all of them promise is the head's frontier."""
        frontier = min(lane.frontier() for lane in self.in_lanes)
        if frontier > self._frontier and all(lane.head() is None for lane in self.in_lanes):
            self._frontier = frontier
            self.head.advance(frontier)
