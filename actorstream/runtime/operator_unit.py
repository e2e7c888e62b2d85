"""A unit whose head takes input by channels. Its inbox says what comes next, whatever the order of the input."""

from __future__ import annotations

from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.metrics.counters import Counter
from actorstream.runtime.fast_paths.single_turns import SingleTurns
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
FAIR_NS = 250_000
"""A turn that has lasted so long ends, between two batches, if another operator of the worker could run. Another worker may wait
for rows of that operator, or for room in a ring that it reads. A ring holds about a millisecond of work."""
SOON_S, RARE_S = 0.001, 0.016
"""The shortest and the longest time between two looks at what a hook that awaits has made."""
FIRST_CHUNK, MOST_CHUNK = 16, 1 << 16
"""Events that a hook runs over at first, while nobody knows how long one takes, and at most."""


def chunk_after(chunk: int, rows: int, took_ns: int) -> int:
    """Over how many events the hook runs next: as many as take `CHUNK_NS`. It was to run over `chunk` of them, and took so
    long for `rows`. A rest of a batch says little, since each run costs something beside its rows; nor does one that took
    long, in which another process may have had the core: the number falls to a quarter at most."""
    if took_ns > CHUNK_NS:
        return max(rows * CHUNK_NS // took_ns, rows // 4, 1)
    if rows < chunk:
        return chunk
    return min(rows * CHUNK_NS // max(took_ns, 1), 4 * chunk, MOST_CHUNK)


class OperatorUnit(Unit):
    """Gives its head the rows that its inbox has, and passes on promises, barriers and the end."""

    wait: Callable[[Doorbell, int], list[int] | None]
    """Waits for the next single event (`SingleTurns.wait`), where the unit can take any."""

    def __init__(self, worker: WorkerPort, head: Replica, make_inbox: Callable[[Ports], Inbox]) -> None:
        super().__init__(worker, head)
        self.inbox = make_inbox(self)
        self.in_lanes = self.inbox.lanes
        self.follow_frontier = False
        self.at_head: KernelEdge | None = None
        """The edge that runs the head in chains, or its kernels on threads. None: the loop calls the head's hooks."""
        self.events: list[Any] | Feed = []  # events of a batch that the last turn did not finish
        self._at = 0
        self.aged_ns = self.queued_ns = 0
        """How old batches were when their hook began, and for how long of that this unit had its turn."""
        self._worked: int | None = None
        """How long the members had worked when rows first came past the channels since the last turn; None: none have."""
        self._working: Batch | None = None
        """The batch of `_events`."""
        self._chunk = FIRST_CHUNK
        self.singles = SingleTurns.of(self)
        if self.singles is not None:
            self.wait = self.singles.wait

    def step(self) -> Status:
        """One turn. If single events are all that waits, the turn only runs the hook on them."""
        if self.singles is not None and not self.events and not self.ready and self.is_free:
            status = self.singles.take()
            if status is not None:
                return self.settle_turn(status)
        return super().step()

    def work(self) -> Status:
        status = self._take()
        if self.async_hooks.task is None:
            if self.blocked:
                self.inbox.look()
            self.follow(resting=status is Status.IDLE)
        return Status.READY if self.async_hooks.due and status is Status.IDLE else status

    def admits(self, lane: InLane) -> bool:
        """Whether a producer here may give rows of an empty lane to the head itself: nothing waits before them in the unit."""
        return self.is_free and self.inbox.admits(lane)

    def take(self, batch: Batch, lane: InLane) -> None:
        """Takes rows that a producer in this process gives to the head itself, which is a kernel edge's."""
        assert self.at_head is not None
        self.came(batch.entry_max)
        self.at_head.push(self.inbox.admitted(lane, batch))

    def came(self, entered: int) -> None:
        """Rows that entered at some time have come past the channel. The unit gets a turn, which sends on what waits here."""
        if entered:
            self.aged_ns += monotonic_ns() - entered
        if self._worked is None:
            self._worked = self._execute_ns()
        self.worker.mark(self)

    def count_wait(self, now: int) -> None:
        """Does not count the time for which members worked meanwhile in turns of their producers."""
        if self._worked is not None:
            self._since += self._execute_ns() - self._worked
            self._worked = None
        super().count_wait(now)

    def _execute_ns(self) -> int:
        return sum(member.execute_ns for member in self.members)

    def while_blocked(self) -> None:
        if self.inbox.follows_while_blocked and self.async_hooks.task is None and not self.ending:
            self.inbox.look()
            self.follow(resting=False)

    def _take(self) -> Status:
        now = began = monotonic_ns()
        deadline, fair = now + self.worker.turn_ns, now + FAIR_NS
        inbox = self.inbox
        for _ in range(TURN_FRAMES):
            if self.events and not self._run_events(deadline):
                return Status.BLOCKED if self.blocked else Status.READY
            if self.blocked:
                return Status.BLOCKED
            if inbox.by_number and any(kernel.is_under_way() for kernel in self.kernels):
                return Status.BLOCKED
            if self.async_hooks.due:
                return Status.READY
            step = inbox.next()
            if step is Step.ROWS:
                if entered := inbox.batch.entry_max:
                    self.aged_ns += now - entered
                    self.queued_ns += now - began
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
                self.follow(resting=False)
                return self.spawn(self.finish())
            now = monotonic_ns()
            if now > deadline or (now > fair and self.worker.turns.others_wait(self)):
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
            self.events, self._at, self._working = batch.feed(), 0, batch
        return False

    def _run_events(self, deadline: int) -> bool:
        """Runs more events of the current batch, in chunks that keep a turn short; returns whether none is left."""
        head, events, at = self.head, self.events, self._at
        call = head.calls[head.context.input]
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
            self._chunk = chunk_after(self._chunk, len(chunk), now - started)
            if at < len(events) and (self.blocked or now > deadline):
                return False
        self.events, self._working = [], None
        return True

    async def _run_async(self, batch: Batch, source: str) -> None:
        """Runs a hook that awaits. What it yields is sent on while it awaits."""
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
                if head.descent is None:  # it is settled once an event, or what goes on early would have none
                    chunk = max(1, min(2 * chunk, len(part) * CHUNK_NS // max(took, 1)))
        head.busy -= 1
        self.inbox.done()

    async def _await_call(self, call: Any, part: Any, rows: int, first: int) -> int:
        started = monotonic_ns()
        self._meanwhile = self.worker.loop.call_later(SOON_S, self._send_meanwhile, call, SOON_S)
        try:
            if self.head.descent is not None and not call.takes_batch:
                await self.head.descent.run_async(call, part, first)
            else:
                await call.run_async(part)
        finally:
            self._meanwhile.cancel()
        took = monotonic_ns() - started
        self.head.execute_ns += took
        self.head.finish(rows)
        if took >= CHUNK_NS:
            self.flush()
        return took

    def _send_meanwhile(self, call: Any, waited: float) -> None:
        """Sends what the hook has made while it awaits, and does so again, so that no row waits for the end of the hook."""
        try:
            if self.head.descent is None and not call.whole:
                self.head.dispatch()
                wait = min(2 * waited, RARE_S)
                self._meanwhile = self.worker.loop.call_later(wait, self._send_meanwhile, call, wait)
            self.unblock()
            self.flush()
        except Exception as error:
            self.worker.fail(error)

    def publish(self) -> None:
        super().publish()
        row = self.head.row
        row[Counter.AGE_NS], row[Counter.QUEUED_NS] = self.aged_ns, self.queued_ns
        row[Counter.KEPT_BLOCKS] = sum(lane.channel.statistics()["kept"] for lane in self.in_lanes)

    def follow(self, *, resting: bool) -> None:
        """Advances event time as far as the inbox says."""
        if not self.follow_frontier or self.paused.replicas:
            return
        rest = None if self._working is None else (self._working, self._at)
        while (frontier := self.inbox.follow(rest, resting=resting)) is not None:
            self.advance(frontier)
            if self.paused.replicas:
                return
        for replica in self.holding:
            replica.promises.renew()

    def advance(self, frontier: int) -> None:
        """The input has reached `frontier`, behind all rows that the head was given."""
        if self.at_head is None:
            self.head.advance(frontier)
        else:
            self.at_head.advance(frontier)

    def late(self, batch: Batch) -> None:
        """Sends rows that came too late to get their place to the output `late`."""
        self.head.context.count_late(batch.rows)
        self.head.forward(batch.cast(self.head.schemas["late"]), "late")

    def snapshot(self, replica: Replica) -> Any:
        return self.inbox.snapshot() if replica is self.head else None

    def restore(self, snapshot: Any) -> None:
        self.inbox.restore(snapshot)
