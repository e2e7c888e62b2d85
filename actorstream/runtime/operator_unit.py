"""A unit whose head takes input by channels. Its inbox says what comes next, whatever the order of the input."""

from __future__ import annotations

from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.metrics.counters import Counter
from actorstream.runtime.inbox import Step
from actorstream.runtime.unit import TURN_FRAMES, Status, Unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.events.feed import Feed
    from actorstream.native.doorbell import Doorbell
    from actorstream.runtime.inbox import Inbox, Ports
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.ports import WorkerPort
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.schedule.kernel_edge import KernelEdge

CHUNK_NS = 1_000_000
"""How long a hook may run over events before the turn looks at the clock."""


class OperatorUnit(Unit):
    """Gives its head the rows that its inbox has, and passes on promises, barriers and the end."""

    def __init__(self, worker: WorkerPort, head: Replica, make_inbox: Callable[[Ports], Inbox]) -> None:
        super().__init__(worker, head)
        self.inbox = make_inbox(self)
        self.in_lanes = self.inbox.lanes
        self.follow_frontier = False
        self.at_head: KernelEdge | None = None
        """The edge that starts kernels of the head on threads; it is one of `kernels`. None: the loop runs the head."""
        self._events: list[Any] | Feed = []  # events of a batch that the last turn did not finish
        self._at = 0
        self._working: Batch | None = None
        """The batch of `_events`."""
        self._chunk = 256
        self._singles = self._can_take_singles()
        self._watched: InLane | None = None
        """The lane that brought the last single event, if the worker can wait for its next one."""

    def _can_take_singles(self) -> bool:
        """Whether a single event can go from its lane to the hook directly: the input has no order, and the hook is plain."""
        head = self.head
        calls = [head.calls[lane.input] for lane in self.in_lanes]
        return (
            self.inbox.passes_singles
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
            and not self.paused
            and not self._fired
            and self.task is None
            and self.static is None
            and not self.beside
            and not self.ending
        )

    def step(self) -> Status:
        """One turn. If single events are all that waits, the turn only runs the hook on them."""
        if self._singles and self._only_input():
            status = self._take_singles()
            if status is not None:
                return self._settle(status)
        return super().step()

    def _take_singles(self) -> Status | None:
        """Runs the hook on single events at the heads of lanes. None: there is none; READY: more waits."""
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
                more = self.head.calls[lane.input].run_one(event)  # type: ignore[union-attr]
                self._count_single(lane, started, entered, began)
                if more is not None:
                    self.head.pausing.run(more, self.head.dispatch)
                    break
        return self._after_singles() if found else None

    def wait(self, bell: Doorbell, ns: int) -> list[int] | None:
        """Returns what rings `bell` within `ns`. None: the lane that brought the last single event has brought another one;
        the hook has run on it before anything else was done, and `status` is that of the turn."""
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
        more = run_one(found)
        self._count_single(lane, started, *lane.watch.marks()[1:])  # type: ignore[union-attr]
        if more is not None:
            head.pausing.run(more, head.dispatch)
        self.status = self._settle(self._after_singles())
        return None

    def _count_single(self, lane: InLane, started: int, entered: int, began: int) -> None:
        """Counts an event that was run, and sends on what the hook returned. `began` 0: its processing began only now."""
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
        if lane.watch is not None and self.worker.turns.watches:
            self._watched, self.worker.turns.watched = lane, self

    def _after_singles(self) -> Status:
        self._follow(resting=False)
        waits = any(not (lane.held or lane.ended) and lane.head() is not None for lane in self.in_lanes)
        return Status.READY if waits or self._awaiting else Status.IDLE

    def work(self) -> Status:
        status = self._take()
        if self.task is None:
            if self.blocked:
                self.inbox.look()
            self._follow(resting=status is Status.IDLE)
        return Status.READY if self._awaiting and status is Status.IDLE else status

    def while_blocked(self) -> None:
        if self.inbox.follows_while_blocked and self.task is None and not self.ending:
            self.inbox.look()
            self._follow(resting=False)

    def _take(self) -> Status:
        deadline = monotonic_ns() + self.worker.turn_ns
        inbox = self.inbox
        for _ in range(TURN_FRAMES):
            if self._events and not self._run_events(deadline):
                return Status.BLOCKED if self.blocked else Status.READY
            if self.blocked:
                return Status.BLOCKED
            if inbox.by_number and any(kernel.is_under_way() for kernel in self.kernels):
                return Status.BLOCKED
            if self._awaiting:
                return Status.READY
            step = inbox.next()
            if step is Step.ROWS:
                if self._run(inbox.batch, inbox.source):
                    return Status.BUSY
                inbox.done()
            elif step is Step.NOTHING:
                return Status.IDLE
            elif step is Step.TIME:
                self.advance(inbox.time)
            elif step is Step.BARRIER:
                self.pass_barrier(inbox.barrier)
                inbox.passed()
            elif step is Step.END:
                self._follow(resting=False)
                return self.spawn(self.finish())
            if monotonic_ns() > deadline:
                return Status.READY
        return Status.READY

    def _run(self, batch: Batch, source: str) -> bool:
        """Runs the hook on a batch of an input, or begins to. Returns whether the hook awaits; `done` is called at its end."""
        head = self.head
        call = head.calls[source]
        if call.is_async:
            head.busy += 1
            self.spawn(self._run_async(batch, source))
            return True
        if self.at_head is not None:
            self.at_head.push(batch)
        elif call.takes_batch:
            head.accept(batch, source)
        else:
            head.begin(batch, source)
            self._events, self._at, self._working = batch.feed(), 0, batch
        return False

    def _run_events(self, deadline: int) -> bool:
        """Runs more events of the current batch, in chunks that keep a turn short; returns whether none is left."""
        head, events, at = self.head, self._events, self._at
        call = head.calls[head.input]
        budget = self.row_budget
        while at < len(events):
            most = self._chunk if budget is None else min(self._chunk, budget.rows)
            chunk = events[at : at + most] if at or len(events) > most else events
            started = monotonic_ns()
            portions = head.run_events(call, chunk, at)
            at += len(chunk)
            self._at = at
            if portions is not None:
                head.pausing.run(portions, partial(head.ran, started, len(chunk)))
                now = monotonic_ns()
            else:
                now = monotonic_ns()
                head.execute_ns += now - started
                head.finish(len(chunk))
            if budget is not None:
                budget.took(len(chunk))
            self._chunk = max(1, min(1 << 16, len(chunk) * CHUNK_NS // max(now - started, 1)))
            if at < len(events) and (self.blocked or now > deadline):
                return False
        self._events, self._working = [], None
        return True

    async def _run_async(self, batch: Batch, source: str) -> None:
        """Runs a hook that awaits. What it has returned is sent on a millisecond later at the latest."""
        head = self.head
        call = head.calls[source]
        head.begin(batch, source)
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
        self.inbox.done()

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
        """Sends what the hook has returned so far while it awaits, so that no row waits for its end."""
        try:
            if self.head.descent is None:
                self.head.dispatch()
            self.flush()
        except Exception as error:
            failed.append(error)

    def publish(self) -> None:
        super().publish()
        self.head.row[Counter.KEPT_BLOCKS] = sum(lane.channel.statistics()["kept"] for lane in self.in_lanes)

    def _follow(self, *, resting: bool) -> None:
        """Advances event time as far as the inbox says."""
        if not self.follow_frontier or self.paused:
            return
        rest = None if self._working is None else (self._working, self._at)
        while (frontier := self.inbox.follow(rest, resting=resting)) is not None:
            self.advance(frontier)
            if self.paused:
                return
        for replica in self.holding:
            replica.renew_promise()

    def advance(self, frontier: int) -> None:
        """The input has reached `frontier`, behind all rows that the head was given."""
        if self.at_head is None:
            self.head.advance(frontier)
        else:
            self.at_head.advance(frontier)

    def late(self, batch: Batch) -> None:
        """Sends rows that came too late to get their place to the output `late`."""
        self.head.count_late(batch.rows)
        self.head.forward(batch.cast(self.head.schemas["late"]), "late")

    def kept(self) -> Any:
        return self.inbox.kept()

    def take_back(self, kept: Any) -> None:
        self.inbox.take_back(kept)

    def statistics(self) -> dict[str, int]:
        """Rows and frames that wait in the inbox."""
        return self.inbox.statistics()
