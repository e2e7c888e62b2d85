"""A unit whose head takes input by channels, in the order that its gate decides."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.checkpoint.alignment import Alignment
from actorstream.metrics.counters import Counter
from actorstream.runtime.replica import FRONTIER_MIN, Replica
from actorstream.runtime.unit import TURN_FRAMES, Status, Unit
from actorstream.transports.base import FRONTIER_END, Frame, FrameKind, ReceiveChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.events.feed import Feed
    from actorstream.native.doorbell import Doorbell
    from actorstream.ordering.base import Gate
    from actorstream.runtime.idleness import Idleness
    from actorstream.runtime.schedule.kernel_edge import KernelEdge
    from actorstream.runtime.single_row import TakeSingle
    from actorstream.runtime.worker import Worker
    from actorstream.transports.base import EventWatch

CHUNK_NS = 1_000_000
"""How long a hook may run over events before the turn looks at the clock."""


class InLane:
    """One producer replica's channel into a unit."""

    __slots__ = ("channel", "decode", "ended", "held", "index", "input", "single", "taken", "watch")

    def __init__(
        self,
        index: int,
        input_name: str,
        channel: ReceiveChannel,
        decode: Callable[[Frame], Batch],
        single: TakeSingle | None = None,
        watch: EventWatch | None = None,
    ) -> None:
        """`single`: takes the head if it is an event that came by itself; `watch`: waits for one."""
        self.index, self.input, self.channel, self.decode = index, input_name, channel, decode
        self.single, self.watch = single, watch
        self.ended = False
        self.held = False
        self.taken = 0
        """Frames consumed."""

    def consume(self) -> None:
        self.channel.consume()
        self.taken += 1

    def head(self) -> Frame | None:
        return self.channel.peek()

    def frontier(self) -> int:
        return FRONTIER_END if self.ended else self.channel.frontier(0)


class OperatorUnit(Unit):
    """A unit whose head takes input by channels, in the order its gate decides."""

    def __init__(self, worker: Worker, head: Replica, lanes: list[InLane], gate: Gate) -> None:
        super().__init__(worker, head)
        self.in_lanes = lanes
        self.gate = gate
        self.alignment = Alignment(lanes)
        self.follow_frontier = False
        self.at_head: KernelEdge | None = None
        """Before the head, if threads run its kernels; it is one of `kernels`."""
        self.idleness: Idleness | None = None
        """Of the lanes, where a source has an `idle_timeout`."""
        self._frontier = FRONTIER_MIN
        self._promised: int | None = None
        """A frontier that was read; it waits until what it covers is taken: `_marks` frames of each lane."""
        self._marks: list[int] = []
        self._events: list[Any] | Feed = []  # events of a batch that one turn did not finish
        self._at = 0
        self._source = ""
        self._chunk = 256
        self._singles = self._can_take_singles()
        self._watched: InLane | None = None
        """The lane that brought the last event by itself, if it can be waited for."""

    def _can_take_singles(self) -> bool:
        """Whether a single event can go from its lane to the hook directly: no order, and a plain hook."""
        head = self.head
        calls = [head.calls[lane.input] for lane in self.in_lanes]
        return (
            type(self) is OperatorUnit
            and self.gate.name == "none"
            and head.descent is None
            and any(lane.single is not None for lane in self.in_lanes)
            and not any(call.takes_batch or call.is_async for call in calls)
        )

    def _only_input(self) -> bool:
        """Whether this unit has nothing to do but to take input."""
        return (
            not self._events
            and not self._awaiting
            and not self.blocked
            and not self._fired
            and self.task is None
            and self.static is None
            and not self.beside
            and not self.ending
        )

    def step(self) -> Status:
        """A turn that only runs the hook on an event that came by itself, if that is all there is to do."""
        if self._singles and self._only_input():
            status = self._take_singles()
            if status is not None:
                return self._settle(status)
        return super().step()

    def _take_singles(self) -> Status | None:
        """Runs the hook on what came by itself at the head of a lane. None: nothing did; READY: more waits."""
        found = False
        for lane in self.in_lanes:
            if lane.single is None or lane.held or lane.ended:
                continue
            taken = lane.single()
            if taken is not None:
                found = True
                event, entered, began = taken
                started = monotonic_ns()
                self.head.input = lane.input
                self.head.calls[lane.input].run_one(event)  # type: ignore[union-attr]
                self._count_single(lane, started, entered, began)
        return self._after_singles() if found else None

    def wait(self, bell: Doorbell, ns: int) -> list[int] | None:
        """What rings `bell` within `ns`. None: the lane that brought the last event by itself did, with another one: the
        hook has run on it, and `status` is that of the turn. The way to the hook is short; all else follows it."""
        lane = self._watched
        if lane is None or lane.held or lane.ended or self.done or self.ready or not self._only_input():
            return bell.wait(ns) if ns else bell.collect()
        head = self.head
        run_one = head.calls[lane.input].run_one  # type: ignore[union-attr]
        found = lane.watch.wait(ns)  # type: ignore[union-attr]
        if type(found) is list:
            return found
        head.input = lane.input
        started = monotonic_ns()
        run_one(found)
        self._count_single(lane, started, *lane.watch.marks()[1:])  # type: ignore[union-attr]
        self.status = self._settle(self._after_singles())
        return None

    def _count_single(self, lane: InLane, started: int, entered: int, began: int) -> None:
        """Notes an event that was run, and sends on what the hook answered. `began`: 0: only now."""
        head = self.head
        ended = monotonic_ns()
        head.entry_min = head.entry_max = entered
        head.began = began or started
        head.execute_ns += ended - started
        lane.taken += 1
        head.events_in += 1
        head.jumbo_in += 1
        head.finish(1)
        self._waited(started)
        if lane.watch is not None and self.worker.watches:
            self._watched, self.worker.watched = lane, self

    def _after_singles(self) -> Status:
        if self.follow_frontier:
            self._follow()
        waits = any(not (lane.held or lane.ended) and lane.head() is not None for lane in self.in_lanes)
        return Status.READY if waits or self._awaiting else Status.IDLE

    def work(self) -> Status:
        status = self._take()
        if self.follow_frontier and not self._events and self.task is None:
            self._follow()
        return Status.READY if self._awaiting and status is Status.IDLE else status

    def _take(self) -> Status:
        deadline = monotonic_ns() + self.worker.turn_ns
        gate = self.gate
        for _ in range(TURN_FRAMES):
            if self._events and not self._run_events(deadline):
                return Status.BLOCKED if self.blocked else Status.READY
            if self.blocked:
                return Status.BLOCKED
            if self._awaiting:
                return Status.READY
            lane = gate.next()
            if lane is None:
                return Status.IDLE
            frame = lane.channel.peek()
            if frame.kind == FrameKind.DATA:
                batch = lane.decode(frame)
                batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
                if self._run(batch, lane.input, lane):
                    return Status.BUSY
                lane.consume()
            elif self._control(lane, frame):
                return self.spawn(self.finish())
            if monotonic_ns() > deadline:
                return Status.READY
        return Status.READY

    def _run(self, batch: Batch, source: str, lane: InLane | _Taken | None = None) -> bool:
        """Runs the hook on a batch of an input, or begins to; whether it awaits. `lane`: its frame is still there, and is
        taken once what awaits is through."""
        head = self.head
        call = head.calls[source]
        if call.is_async:
            head.busy += 1
            self.spawn(self._run_async(lane or _Taken(source), batch))
            return True
        if self.at_head is not None:
            self.at_head.push(batch)
        elif call.takes_batch:
            head.accept(batch, source)
        else:
            head.begin(batch, source)
            self._events, self._at, self._source = batch.feed(), 0, source
        return False

    def _control(self, lane: InLane, frame: Frame) -> bool:
        """Takes a barrier or end mark; whether it was the end of the last lane."""
        lane.consume()
        if frame.kind == FrameKind.BARRIER:
            self._complete(self.alignment.deliver(lane, frame.barrier))
        elif frame.kind == FrameKind.END:
            lane.ended = True
            self._complete(self.alignment.ended(lane))
            if all(each.ended for each in self.in_lanes):
                if self.follow_frontier:
                    self._follow()
                return True
        return False

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
            head.run_events(call, chunk, at)
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

    async def _run_async(self, lane: InLane | _Taken, batch: Batch) -> None:
        """Runs a hook that awaits; what it answered goes on at the latest when it has taken a millisecond."""
        head = self.head
        call = head.calls[lane.input]
        head.begin(batch, lane.input)
        if call.takes_batch:
            await self._await_call(call, batch, batch.rows, 0)
        else:
            events = batch.events()
            at, chunk = 0, 1
            while at < len(events):
                part = events[at : at + chunk]
                took = await self._await_call(call, part, len(part), at)
                at += len(part)
                if (
                    head.descent is None
                ):  # which is settled once an event, or what goes on early would have none
                    chunk = max(1, min(2 * chunk, len(part) * CHUNK_NS // max(took, 1)))
        head.busy -= 1
        lane.consume()

    async def _await_call(self, call: Any, part: Any, rows: int, first: int) -> int:
        started = monotonic_ns()
        import asyncio

        failed: list[Exception] = []
        meanwhile = asyncio.get_running_loop().call_later(CHUNK_NS / 1e9, self._send_meanwhile, failed)
        try:
            if self.head.descent is not None and not call.takes_batch:
                await self.head.descent.run_async(call, part, first)
            else:
                await call.run_async(part)
        finally:
            meanwhile.cancel()
        if failed:
            raise failed[0]
        took = monotonic_ns() - started
        self.head.execute_ns += took
        self.head.finish(rows)
        if took >= CHUNK_NS:
            self.flush()
        return took

    def _send_meanwhile(self, failed: list[Exception]) -> None:
        """Sends what the hook has answered so far, since it awaits: nobody parks with unsent rows."""
        try:
            if self.head.descent is None:
                self.head.dispatch()
            self.flush()
        except Exception as error:
            failed.append(error)

    def publish(self) -> None:
        super().publish()
        self.head.row[Counter.KEPT_BLOCKS] = sum(lane.channel.statistics()["kept"] for lane in self.in_lanes)

    def _follow(self) -> None:
        """Follows the lanes' promises: acts on them once everything they cover has been taken."""
        while (frontier := self._next_frontier()) is not None:
            self.advance(frontier)
        if self.idleness is not None and self._promised is None and not self._awaiting:
            self.idleness.rest()

    def advance(self, frontier: int) -> None:
        """The input has got to `frontier`: behind everything that the head was given."""
        if self.at_head is None:
            self.head.advance(frontier)
        else:
            self.at_head.advance(frontier)

    def _next_frontier(self) -> int | None:
        """Reads the lanes' promises; answers one that has risen, once everything it covers has been taken."""
        if self._promised is None:
            if self.idleness is None:
                frontier = min(lane.frontier() for lane in self.in_lanes)
            else:
                frontier = self.idleness.frontier(self._frontier)
            if frontier <= self._frontier:
                return None
            # the frontier is read first: what it covers is among what waits now
            self._marks = [lane.taken + lane.channel.waiting() for lane in self.in_lanes]
            self._promised = frontier
        if any(lane.taken < mark for lane, mark in zip(self.in_lanes, self._marks)):
            return None
        self._frontier, self._promised = self._promised, None
        if self.idleness is not None:
            self.idleness.reach(self._frontier)
        return self._frontier


class _Taken:
    """Where a batch that awaits came from; its frame was consumed already."""

    __slots__ = ("input",)

    def __init__(self, source: str) -> None:
        self.input = source

    def consume(self) -> None:
        """Nothing is left to take."""
