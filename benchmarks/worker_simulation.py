"""A discrete-event simulation of a pool of workers under the real scheduler and heuristics, for more workers than a
machine has. Costs and selectivities are measured ones, given as arguments; time is simulated, nothing is drawn."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from actorstream.scheduling.base import UNBOUNDED, Heuristic, Operator
from actorstream.scheduling.scheduler import Allotment, Scheduler


@dataclass(frozen=True)
class Stage:
    """One operator of a simulated chain.

    Args:
        cost_ns: a tuple. turn_ns: a jumbo tuple more, whatever its tuples.
        selectivity: outputs a tuple.
        limit: workers that may be in it at once.
        pooled: whether every worker may run it; else only worker 0, the thread of the event loop.
        locked: the part of its time in which no other worker may hold the interpreter's lock (1.0: a Python hook).
            `turn_ns` is always spent holding it.
        queue: tuples that may wait before it, if fewer than before the others.
    """

    name: str
    cost_ns: float
    selectivity: float = 1.0
    limit: float = UNBOUNDED
    pooled: bool = True
    turn_ns: float = 0.0
    locked: float = 0.0
    queue: float = UNBOUNDED


@dataclass
class Simulated:
    """What came of it. Throughput: ingress tuples a second over the 20th to 80th percentile of them; latency: from the
    ingress to the end of the last operator, ns."""

    throughput_eps: float
    latency_mean_ns: float
    latency_p99_ns: float
    busy: float
    """The part of the workers' time that was spent in operators."""
    worker_time: dict[str, float] = field(default_factory=dict)
    """Operator -> its part of that."""


@dataclass(frozen=True, slots=True)
class _Done:
    """A jumbo tuple that a worker is through with: its rows, those that came out, and when they entered."""

    rows: int
    out: int
    entered: int


@dataclass
class _Turn:
    """Jumbo tuples that a worker has taken; the outputs of each that he is through with wait here until those before them
    have left."""

    done: bool = False
    outputs: list[tuple[int, int]] = field(default_factory=list)
    number: int = 0
    rows: int = 0
    begun: int = 0
    taken: list[tuple[int, int]] = field(default_factory=list)
    parts: deque[tuple[bool, float, _Done | None]] = field(default_factory=deque)
    """What is left to do: whether with the interpreter's lock, for how long, ns, and what is done with then."""
    now: _Done | None = None
    """What he is through with after the part that he is at."""
    rows_out: int = 0


class Simulation:
    """A chain of stages and a number of workers.

    Args:
        stages: the ingress first; its tuples are always there (as fast as possible), or come at `rate` a second.
        heuristic: of the table SCHEDULES.
        workers: threads, the event loop's included.
        batch: tuples of a jumbo tuple. queue: tuples that may wait before an operator. window: turns of one operator
            that may be unfinished (the slots of its reordering buffer).
        slice_ns, window_ns: the time slice s, CT's window w.
        between_ns: what a worker spends between two turns: choosing, waiting for its lock, telling others, being woken.
        switch_ns: until a worker runs that has to be woken: since it had found nothing to do and there is something now, or
            since the interpreter's lock, which it has waited for, is free.

    The lock goes to whoever has waited longest. A worker wants it twice for each jumbo tuple, for half of the time each:
    before the kernel, and after it. What comes of a jumbo tuple leaves, and the room that it has taken is free, when the
    worker is through with it.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        heuristic: type[Heuristic],
        workers: int,
        *,
        batch: int = 4096,
        queue: int = 1 << 17,
        window: int = 1024,
        slice_ns: int = 2_000_000,
        window_ns: int = 100_000_000,
        rate: float = 0.0,
        between_ns: float = 0.0,
        switch_ns: float = 0.0,
    ) -> None:
        self.stages, self.batch, self.queue, self.window, self.rate = list(stages), batch, queue, window, rate
        self.between_ns, self.switch_ns = between_ns, switch_ns
        self.operators = [
            Operator(
                each.name,
                number,
                limit=each.limit,
                upstream=[(number - 1, 1.0)] if number else [],
            )
            for number, each in enumerate(stages)
        ]
        self._pooled = [self.operators[number] for number, each in enumerate(stages) if each.pooled]
        self._own = [self.operators[number] for number, each in enumerate(stages) if not each.pooled]
        settings = {"slice_ns": slice_ns, "window_ns": window_ns, "capacity": queue}
        self.scheduler = Scheduler(self.operators, heuristic, **settings)
        self._queues: list[deque[tuple[int, int]]] = [deque() for _ in stages]
        self._turns: list[deque[_Turn]] = [deque() for _ in stages]
        self._held = [0] * len(
            stages
        )  # tuples that workers have taken and are not through with: their room is not free yet
        self._rest = [0.0] * len(stages)
        self._idle = list(range(workers))[::-1]
        self._asleep: set[int] = set()
        self._workers = workers
        self._events: list[tuple[int, int, int, _Turn | None]] = []
        self._number = 0
        self._lock_free = 0
        self._taken: list[tuple[int, int]] = []  # (time, tuples so far) at the ingress
        self._left: list[tuple[int, int]] = []  # (latency, tuples) at the egress
        self._to_come = 0

    def run(self, tuples: int) -> Simulated:
        """Until `tuples` have gone in and everything behind them has come out."""
        self._to_come = tuples
        if self.rate:
            self._at(0, None)
        now = 0
        while True:
            self._give_work(now)
            if not self._events:
                break
            now, _, worker, turn = heapq.heappop(self._events)
            if turn is None:
                self._arrive(now)
                continue
            if turn.now is not None:
                self._held[turn.number] -= turn.now.rows
                if turn.now.out:
                    turn.outputs.append((turn.now.out, turn.now.entered))
                    self._send(turn.number)
            if turn.parts:
                self._go_on(now, worker, turn)
            else:
                self._finish(now, worker, turn)
        return self._result(now)

    # -- events

    def _at(self, time: int, turn: _Turn | None, worker: int = 0) -> None:
        self._number += 1
        heapq.heappush(self._events, (time, self._number, worker, turn))

    def _arrive(self, now: int) -> None:
        rows = min(self.batch, self._to_come)
        self._to_come -= rows
        self._queues[0].append((rows, now))
        if self._to_come:
            self._at(now + int(rows * 1e9 / self.rate), None)

    def _give_work(self, now: int) -> None:
        """Every idle worker asks; worker 0, which may run everything, last."""
        self._idle.sort()
        refused: list[int] = []
        while self._idle:
            worker = self._idle.pop()
            self._look()
            allotted = self._allot(now, worker, pool_rests=bool(refused))
            if allotted is None:
                refused.append(worker)
            else:
                woken = self.switch_ns if worker in self._asleep else 0.0
                self._begin(now + int(woken), worker, allotted.operator, allotted.tuples)
        self._idle, self._asleep = refused, set(refused)

    def _allot(self, now: int, worker: int, *, pool_rests: bool) -> Allotment | None:
        """What a worker gets. Worker 0 leaves what all may run to the others while it has something that only it may run,
        if the heuristic lets sources read ahead or no other worker finds work."""
        if worker > 0:
            return self.scheduler.decide(now, self._pooled)
        if self._workers > 1 and (self.scheduler.heuristic.reads_ahead or pool_rests):
            return self.scheduler.decide(now, self._own) or self.scheduler.decide(now)
        return self.scheduler.decide(now)

    def _look(self) -> None:
        for operator in self.operators:
            number = operator.index
            operator.worklist = sum(rows for rows, _ in self._queues[number])
            if number == 0 and not self.rate:
                operator.worklist = min(self.batch, self._to_come)
            full = any(self._room(each.index) <= 0 for each in operator.downstream)
            operator.is_open = not full and len(self._turns[number]) < self.window

    def _room(self, number: int) -> float:
        """Tuples that may still come before an operator."""
        most = min(self.queue, self.stages[number].queue)
        return most - self._held[number] - sum(rows for rows, _ in self._queues[number])

    def _begin(self, now: int, worker: int, operator: Operator, most: int) -> None:
        number, stage = operator.index, self.stages[operator.index]
        took: list[tuple[int, int]] = []
        rows = 0
        for each in operator.downstream:  # a turn ends when credit does
            room = self._room(each.index)
            most = min(most, max(1, int(room / max(stage.selectivity, 1e-6))))
        while rows < most:
            if number == 0 and not self.rate:
                part = min(self.batch, self._to_come)
                self._to_come -= part
                group = (part, now)
            elif self._queues[number]:
                group = self._queues[number].popleft()
            else:
                break
            if not group[0]:
                break
            took.append(group)
            rows += group[0]
        self._held[number] += rows
        turn = _Turn(number=number, rows=rows, begun=now + int(self.between_ns), taken=took)
        self._turns[number].append(turn)
        if number == 0:
            self._taken.append((now, rows + (self._taken[-1][1] if self._taken else 0)))
        for count, entered in took:
            work = stage.cost_ns * count
            held = stage.turn_ns + work * stage.locked
            self._rest[number] += count * stage.selectivity
            out = int(self._rest[number])
            self._rest[number] -= out
            turn.rows_out += out
            turn.parts += [(True, held / 2, None)] * (held > 0)
            turn.parts.append((False, work * (1.0 - stage.locked), None))
            turn.parts += [(True, held / 2, None)] * (held > 0)
            last, ns, _ = turn.parts.pop()
            turn.parts.append((last, ns, _Done(count, out, entered)))
        self._at(turn.begun, turn, worker)

    def _go_on(self, now: int, worker: int, turn: _Turn) -> None:
        """The next part of a turn: at once, or when the lock is free."""
        locked, ns, turn.now = turn.parts.popleft()
        if locked:
            free = self._lock_free
            ends = now + int(ns) if free <= now else free + int(self.switch_ns + ns)
            self._lock_free = ends
        else:
            ends = now + int(ns)
        self._at(max(ends, turn.begun + (not turn.parts)), turn, worker)

    def _finish(self, now: int, worker: int, turn: _Turn) -> None:
        turn.done, number = True, turn.number
        if number == len(self.stages) - 1:
            self._left.extend((now - entered, count) for count, entered in turn.taken)
        self._send(number)
        self.scheduler.finish(self.operators[number], turn.rows, turn.rows_out, now - turn.begun, now)
        self._idle.append(worker)

    def _send(self, number: int) -> None:
        """What an operator's turns have put out leaves in their order: of the first one what there is, of the next ones
        when those before them are done."""
        turns = self._turns[number]
        while turns:
            if number + 1 < len(self.stages):
                self._queues[number + 1].extend(turns[0].outputs)
            turns[0].outputs.clear()
            if not turns[0].done:
                break
            turns.popleft()

    # -- what came of it

    def _result(self, now: int) -> Simulated:
        total = sum(each.statistics.total_ns for each in self.operators) or 1
        latencies = sorted(self._left)
        count = sum(rows for _, rows in latencies)
        mean = sum(latency * rows for latency, rows in latencies) / max(count, 1)
        p99, seen = 0, 0
        for latency, rows in latencies:
            seen, p99 = seen + rows, latency
            if seen >= 0.99 * count:
                break
        parts = {each.name: each.statistics.total_ns / total for each in self.operators}
        return Simulated(self._throughput(now), mean, float(p99), total / max(now * self._workers, 1), parts)

    def _throughput(self, now: int) -> float:
        if not self._taken:
            return 0.0
        total = self._taken[-1][1]
        low = next(each for each in self._taken if each[1] >= 0.2 * total)
        high = next(each for each in self._taken if each[1] >= 0.8 * total)
        if high[0] == low[0]:
            return total / max(now, 1) * 1e9
        return (high[1] - low[1]) / (high[0] - low[0]) * 1e9
