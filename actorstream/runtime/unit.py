"""A unit of scheduling: a replica with its inputs, and the neighbours that are called directly behind it.

A unit runs in turns: some jumbo tuples or some milliseconds, then it lets the loop go on (docs/architecture.md).
"""

from __future__ import annotations

import asyncio
from enum import IntEnum
from functools import cached_property
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.metrics.batch_sizes import BatchSizes
from actorstream.metrics.counters import Counter
from actorstream.runtime.async_hooks import AsyncHooks
from actorstream.runtime.pausing import PausedHooks
from actorstream.runtime.replica import Replica
from actorstream.runtime.send_lane import SendLane
from actorstream.runtime.size_policy import RowBudget
from actorstream.runtime.timers import UnitTimers
from actorstream.transports.base import FrameKind

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from actorstream.runtime.fast_paths.merged_edge import MergedEdge
    from actorstream.runtime.ports import WorkerPort
    from actorstream.runtime.schedule.kernel_edge import KernelEdge
    from actorstream.runtime.static_inputs import StaticInputs

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
    """What every unit has: members (the head first), the lanes they send by, timers, async hooks, ends and barriers."""

    def __init__(self, worker: WorkerPort, head: Replica) -> None:
        self.worker = worker
        self.head = head
        self.members: list[Replica] = []
        self.holding: list[Replica] = []
        """Members that promise less than their input, since they hold rows back."""
        self.lanes: list[SendLane] = []
        """The lanes by which members send, in topological order."""
        self.merged: list[MergedEdge] = []
        """Edges of members whose batches may pass their lanes by."""
        self.blocked: list[SendLane] = []
        self.paused = PausedHooks(self)
        self.timers = UnitTimers(self)
        self.async_hooks = AsyncHooks(self)
        self.ready = False
        """Whether the worker's ready queue holds this unit."""
        self.status = Status.IDLE
        """Of a turn that the unit ran while its worker waited (`Turns.watched`)."""
        self.done = False
        self.runs = False
        """Whether an output gathers what a turn sends, to hand it over together at its end."""
        self.ending = False
        self.kernels: list[KernelEdge] = []
        """Edges between members whose kernels threads may run, in topological order."""
        self.closers: list[Callable[[], None]] = []
        """Called at the end of each turn, and before barriers and ends: they close what a turn leaves open for more rows."""
        self.barrier = 0
        """The last one that was passed on."""
        self.static: StaticInputs | None = None
        """What is read whole before the unit works; None: nothing, or not any more."""
        self._rests = Status.READY
        self._since = 0
        self.published = 0
        self.dirty = False
        """Whether counters have changed since they were published."""
        self.add(head)

    @cached_property
    def row_budget(self) -> RowBudget | None:
        """Bounds the rows that are taken in at once; None: nothing does. Asked for once rows flow."""
        return RowBudget.of([*self.members, *(each for edge in self.merged for each in edge.reached())])

    def add(self, replica: Replica) -> None:
        """Makes a replica part of this unit: the head, then neighbours that are called directly."""
        replica.unit = self
        self.members.append(replica)
        if replica.promises.holds_back:
            self.holding.append(replica)

    @property
    def is_free(self) -> bool:
        """Whether the unit can take input now; if it is not `ready`, only input is a reason for another turn."""
        hooks = self.async_hooks
        return not (
            self.done
            or self.blocked
            or self.paused.replicas
            or hooks.due
            or hooks.task is not None
            or hooks.beside
            or self.timers.fired
            or self.ending
            or self.static is not None
        )

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

    def flush(self) -> None:
        """Sends what waits on every output; before the worker parks nothing stays behind unless a channel is full."""
        for kernel in self.kernels:
            if not kernel.at_head:
                kernel.flush()
        for lane in self.lanes:
            if lane.pending and not lane.blocked:
                lane.flush()

    def tell_idle(self, count: int) -> None:
        """The unit has become idle (odd `count`) or busy again: tells the consumers that ask (runtime/idleness.py)."""
        self.settle()
        for lane in self.lanes:
            lane.tell_idle(count)

    def settle(self) -> None:
        """Sends on what kernels on threads are still working on, and closes what is open for more rows."""
        for kernel in self.kernels:
            kernel.settle()
        for close in self.closers:
            close()

    def control(self, kind: FrameKind, barrier: int) -> None:
        """Sends a barrier or end mark on every output, behind everything before it."""
        self.settle()
        for lane in self.lanes:
            lane.control(kind, barrier)

    def publish(self) -> None:
        """Writes the members' counters to shared memory, and takes back what consumers have returned."""
        self.published = monotonic_ns()
        self.dirty = False
        for replica in self.members:
            replica.publish()
        jumbos = sum(edge.batches for edge in self.merged)
        peak = transfer = sent = gathered = 0
        for lane in self.lanes:
            transfer += lane.transfer_ns
            gathered += lane.gathered_ns
            jumbos += lane.sequence
            if not lane.sequence:  # nothing was sent: a source has a lane to every worker of a plan
                continue
            channel = lane.channel
            channel.poll()
            found = channel.statistics()
            peak = max(peak, found["peak_bytes"])
            sent += found["sent_bytes"] * channel.channel.is_remote
        row = self.head.row
        BatchSizes.publish([lane.sizes for lane in self.lanes], row)
        row[Counter.SENT_BYTES] = sent
        row[Counter.GATHERED_NS], row[Counter.JUMBO_OUT] = gathered, jumbos
        row[Counter.TRANSFER_NS] = transfer
        row[Counter.QUEUE_MAX_BYTES] = peak

    # -- turns

    def step(self) -> Status:
        """One turn. Raises OperatorError where a hook failed under on_error = "fail"."""
        if self.done:
            return Status.DONE
        for kernel in self.kernels:
            kernel.collect()
        hooks = self.async_hooks
        if hooks.task is not None or hooks.beside:
            self.paused.tell_room()
            return Status.BUSY
        if self._rests is not Status.READY:
            self.count_wait(monotonic_ns())
        if self.ending:
            return self._end()
        if self.timers.fired and not self.paused.replicas and (not self.blocked or self.unblock()):
            self.timers.run()
        elif self.blocked:
            self.unblock()
        if hooks.due:  # also while an output is full: the actor that asks may be the one that reads it
            status = self.spawn(self.async_hooks.run_due())
        elif self.blocked or (self.paused.replicas and not self.paused.resume()):
            self.while_blocked()
            status = Status.BLOCKED
        else:
            status = self.work() if self.static is None else self._read_static(self.static)
        return self.settle_turn(status)

    def settle_turn(self, status: Status) -> Status:
        """The end of a turn: what waits here goes out before the unit rests. Returns what it rests for."""
        for close in self.closers:
            close()
        if status is Status.IDLE or status is Status.BUSY:  # nothing waits here for the next row
            self.flush()
            if self.blocked and status is Status.IDLE:
                status = Status.BLOCKED
        elif self.runs:
            self.flush()
        elif self.merged:
            for edge in self.merged:
                edge.flush()
        now = monotonic_ns()
        if now - self.published > PUBLISH_NS:
            self.publish()
        else:
            self.dirty = True
        if status is not Status.READY:
            self._rests = status
            self._since = now
        return status

    def count_wait(self, now: int) -> None:
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

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> Status:
        """Runs an async hook, or the end; the unit is busy until it is through."""
        self.async_hooks.start(coroutine)
        return Status.BUSY

    def stop(self) -> list[asyncio.Task[Any]]:
        """Ends timers and cancels the hook that awaits; returns its task, to be waited for."""
        self.timers.stop()
        return self.async_hooks.stop()

    # -- ends and barriers

    async def finish(self) -> None:
        """The input has ended: on_end of each member in order, last rows, then end marks behind them."""
        self.timers.stop()
        await self.async_hooks.run_due()
        for replica in self.members:
            await self.async_hooks.wait_beside()
            self.settle()
            if replica.stamp is not None:
                replica.stamp.end()
            await self.paused.wait_resumed()
            coroutine = None if replica.ended else replica.call("on_end")
            if coroutine is not None:
                await coroutine
            await self.paused.wait_resumed()
            replica.ended = True
            replica.promises.end()
        await self.async_hooks.run_due()
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

    def snapshot(self, replica: Replica) -> Any:
        """What the unit keeps in a checkpoint beside the state of a member, as plain values; None: nothing."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Restores what `snapshot` returned for the head, before the first turn."""
