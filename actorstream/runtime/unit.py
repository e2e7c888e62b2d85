"""A unit of scheduling: a replica with its inputs, and the neighbours that are called directly behind it.

A unit runs in turns: some jumbo tuples or some milliseconds, then it lets the loop go on (docs/architecture.md).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterator
from enum import IntEnum
from functools import cached_property
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.metrics.counters import Counter
from actorstream.runtime.direct_edge import DirectEdge
from actorstream.runtime.replica import Replica
from actorstream.runtime.row_budget import row_budget_of
from actorstream.runtime.send_lane import SendLane
from actorstream.runtime.static_inputs import StaticInputs
from actorstream.transports.base import FrameKind

if TYPE_CHECKING:
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.ports import WorkerPort
    from actorstream.runtime.row_budget import RowBudget
    from actorstream.runtime.schedule.kernel_edge import KernelEdge

TURN_FRAMES = 64
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


class Unit:
    """What every unit has: members (the head first), their blocked lanes, timers, ends and barriers."""

    def __init__(self, worker: WorkerPort, head: Replica) -> None:
        self.worker = worker
        self.head = head
        self.members: list[Replica] = []
        self.holding: list[Replica] = []
        """Members that promise less than their input, since they hold rows back."""
        self.blocked: list[SendLane] = []
        self.paused: list[Replica] = []
        """Members with a hook that waits for room, those first that the others call."""
        self.may_pause = False
        """Whether hooks may wait for room: no order anywhere needs the promise that comes behind their rows."""
        self._room: asyncio.Future[None] | None = None
        """The end of the unit waits for it while a hook is paused."""
        self.task: asyncio.Task[None] | None = None
        self.beside: set[asyncio.Future[Any]] = set()
        """Hooks for messages that await while another member's hook does; input waits for them."""
        self.ready = False
        """Whether the worker's ready queue holds this unit."""
        self.status = Status.IDLE
        """Of a turn that the unit ran while its worker waited (`OperatorUnit.wait`)."""
        self.done = False
        self.runs = False
        """Whether an output gathers what a turn sends, to hand it over together at its end."""
        self.ending = False
        self.kernels: list[KernelEdge] = []
        """Edges between members whose kernels threads may run, in topological order."""
        self.barrier = 0
        """The last one that was passed on."""
        self.static: StaticInputs | None = None
        """What is read whole before the unit works; None: nothing, or not any more."""
        self._timers: dict[tuple[int, str], asyncio.TimerHandle] = {}
        self._fired: dict[tuple[Replica, str], None] = {}  # in order; what fires again meanwhile fires once
        self._awaiting: deque[Coroutine[Any, Any, None]] = deque()
        self._rests = Status.READY
        self._since = 0
        self.published = 0
        self.dirty = False
        """Whether counters have changed since they were published."""
        self.add(head)

    @cached_property
    def row_budget(self) -> RowBudget | None:
        """Bounds the rows that are taken in at once; None: nothing does. Asked for once rows flow."""
        return row_budget_of(self.members)

    def add(self, replica: Replica) -> None:
        """Makes a replica part of this unit: the head, then neighbours that are called directly."""
        replica.unit = self
        self.members.append(replica)
        if replica.promises:
            self.holding.append(replica)

    def add_static(self, replica: Replica, lane: InLane) -> None:
        """A channel of a static input of a member."""
        if self.static is None:
            self.static = StaticInputs()
        self.static.add(replica, lane)

    # -- outputs

    def on_blocked(self, lane: SendLane) -> None:
        if lane not in self.blocked:
            self.blocked.append(lane)

    def unblock(self) -> bool:
        """Tries the blocked lanes again; whether none is left."""
        if self.blocked:
            waiting, self.blocked = self.blocked, []
            for lane in waiting:
                lane.flush()
        return not self.blocked

    def resume(self) -> bool:
        """Goes on with hooks that wait for room; whether none is left."""
        while self.paused and not self.blocked:
            waiting, self.paused = self.paused, []
            waiting[0].pausing.resume()
            self.paused += waiting[1:]
        return not self.paused

    async def _until_resumed(self) -> None:
        """Waits until no hook is paused."""
        while self.paused:
            self._room = self.worker.loop.create_future()
            self.worker.mark(self)
            await self._room
            self.resume()

    def flush(self) -> None:
        """Sends what waits on every output; before the worker parks nothing stays behind unless a channel is full."""
        for replica in self.members:
            for edges in replica.edges.values():
                for edge in edges:
                    edge.flush()

    def lanes(self) -> Iterator[SendLane]:
        """Every outgoing lane of every member."""
        for replica in self.members:
            for edges in replica.edges.values():
                for edge in edges:
                    yield from getattr(edge, "lanes", ())

    def tell_idle(self, count: int) -> None:
        """The unit has become idle (odd `count`) or busy again: tells the consumers that ask (runtime/idleness.py)."""
        self.settle()
        for lane in self.lanes():
            lane.tell_idle(count)

    def settle(self) -> None:
        """Sends on what kernels on threads are still working on."""
        for kernel in self.kernels:
            kernel.settle()

    def publish(self) -> None:
        """Writes the members' counters to shared memory, and takes back what consumers have returned."""
        self.published = monotonic_ns()
        self.dirty = False
        for replica in self.members:
            replica.publish()
        peak = transfer = sent = 0
        for lane in self.lanes():
            transfer += lane.transfer_ns
            if not lane.sequence:  # nothing was sent: a source has a lane to every worker of a plan
                continue
            channel = lane.channel
            channel.poll()
            found = channel.statistics()
            peak = max(peak, found["peak_bytes"])
            sent += found["sent_bytes"] * channel.channel.is_remote
        row = self.head.row
        row[Counter.SENT_BYTES] = sent
        row[Counter.TRANSFER_NS] = transfer
        row[Counter.QUEUE_MAX_BYTES] = peak

    # -- turns

    def step(self) -> Status:
        """One turn. Raises OperatorError where a hook failed under on_error = "fail"."""
        if self.done:
            return Status.DONE
        for kernel in self.kernels:
            kernel.collect()
        if self.task is not None or self.beside:
            if self._room is not None and not self._room.done() and self.unblock():
                self._room.set_result(None)
            return Status.BUSY
        self._waited(monotonic_ns())
        if self.ending:
            return self._end()
        if self._fired and not self.paused and (not self.blocked or self.unblock()):
            self._run_timers()
        elif self.blocked:
            self.unblock()
        if self._awaiting:  # also while an output is full: who asks this actor may be who reads it
            status = self.spawn(self._await_all())
        elif self.blocked or (self.paused and not self.resume()):
            self.while_blocked()
            status = Status.BLOCKED
        else:
            status = self.work() if self.static is None else self._read_static(self.static)
        return self._settle(status)

    def _settle(self, status: Status) -> Status:
        """The end of a turn: what waits here goes out before the unit rests."""
        if status is Status.IDLE or status is Status.BUSY:  # nothing waits here for the next row
            self.flush()
            if self.blocked and status is Status.IDLE:
                status = Status.BLOCKED
        elif self.runs:
            self.flush()
        return self._rest(status)

    def _rest(self, status: Status) -> Status:
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

    def while_blocked(self) -> None:
        """An output is full: promises may be made nevertheless."""

    def _read_static(self, static: StaticInputs) -> Status:
        """A turn for the static inputs, and the first own one behind them."""
        done = static.read(self)
        if done is None:
            return Status.BLOCKED if self.blocked else Status.READY
        if not done:
            return Status.IDLE
        self.static = None
        return self.work()

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
        self._fired.pop((replica, name), None)
        handle = self._timers.pop((replica.id, name), None)
        if handle is not None:
            handle.cancel()

    def _fire(self, replica: Replica, name: str, every: float | None) -> None:
        self._timers.pop((replica.id, name), None)
        if self.done:
            return
        self._fired[replica, name] = None
        if every is not None:
            self._timers[replica.id, name] = self.worker.loop.call_later(
                every, self._fire, replica, name, every
            )
        self.worker.mark(self)

    def _run_timers(self) -> None:
        while self._fired and not self._awaiting and not self.paused:
            replica, name = next(iter(self._fired))
            del self._fired[replica, name]
            coroutine = replica.call("on_timer", name)
            if coroutine is not None:
                self.await_soon(coroutine)

    def await_soon(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """An async hook that is due: it runs before the next input, one at a time and in this order."""
        self._awaiting.append(coroutine)

    async def _await_all(self) -> None:
        while self._awaiting:
            await self._awaiting.popleft()

    def stop_timers(self) -> None:
        for handle in self._timers.values():
            handle.cancel()
        self._timers.clear()

    def stop(self) -> list[asyncio.Task[Any]]:
        """Ends timers and cancels the hook that awaits; answers it, to be waited for."""
        self.stop_timers()
        while self._awaiting:
            self._awaiting.popleft().close()
        if self.task is None:
            return []
        self.task.cancel()
        return [self.task]

    # -- ends and barriers

    async def finish(self) -> None:
        """The input has ended: on_end of each member in order, last rows, then end marks behind them."""
        self.stop_timers()
        await self._await_all()
        for replica in self.members:
            while self.beside:
                await asyncio.wait(self.beside)
            self.settle()
            if replica.stamp is not None:
                replica.stamp.end()
            await self._until_resumed()
            coroutine = None if replica.ended else replica.call("on_end")
            if coroutine is not None:
                await coroutine
            await self._until_resumed()
            replica.ended = True
        await self._await_all()
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

    def start_barrier(self, barrier: int) -> None:
        """The run starts a barrier; it comes in with the input, unless this unit is where it comes from."""

    def pass_barrier(self, barrier: int) -> None:
        """Takes the members' snapshots, and passes the barrier on behind everything they have sent."""
        self.settle()
        self.barrier = barrier
        for replica in self.members:
            self.worker.barriers.snapshot(replica, barrier)
            replica.row[Counter.BARRIERS] += 1
        self.control(FrameKind.BARRIER, barrier)

    def kept(self) -> Any:
        """What the unit itself keeps in a checkpoint beside its members' states: plain values; None: nothing."""
        return None

    def kept_of(self, replica: Replica) -> Any:
        """What the unit keeps with one of its members: with the head, what `kept` answers."""
        return self.kept() if replica is self.head else None

    def take_back(self, kept: Any) -> None:
        """What `kept` answered, in a run that goes on from there; before the first turn."""

    def control(self, kind: FrameKind, barrier: int) -> None:
        self.settle()
        for replica in self.members:
            for edges in replica.edges.values():
                for edge in edges:
                    if not isinstance(edge, DirectEdge):
                        edge.control(kind, barrier)
