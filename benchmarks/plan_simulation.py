"""A synchronization plan on more cores than there are: the engine's optimizer, mailboxes and worker protocols, with costs
that were measured in place of work, and a clock of events in place of time. Starts nothing and measures nothing.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorstream.dgs.adding import AddingChildren
from actorstream.dgs.dependence import Dependence
from actorstream.dgs.joining import JoinedChildren
from actorstream.dgs.mailbox import ENDED
from actorstream.dgs.messages import Request
from actorstream.dgs.optimizer.base import Question
from actorstream.dgs.optimizer.communication import communication
from actorstream.dgs.plan import PlanWorker
from actorstream.dgs.program import Program
from actorstream.dgs.tags import ImplementationTag, Tag
from actorstream.dgs.worker import WorkerProtocol

BATCH = 65_536
"""Rows that a source makes at a time."""
HELD = 4 * BATCH
"""Rows that wait for a leaf before its source waits."""
SYNCHRONIZING = 256
"""Synchronizing events that arrive at a time."""
CHUNKS, CHUNK = 100, 10
"""Batches of a stream in a period, where events come by the clock, of so many rows at least."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds: of a value, to be made and to be worked on; of a slice beside its values; of a message between
    processes, on either side; until it is noticed there; of a join with its fork and the event that asked for it."""

    make: float
    row: float
    slice: float
    message: float
    hop: float
    join: float


@dataclass(frozen=True, slots=True)
class Load:
    """What a program is given.

    Attributes:
        program: an instance.
        values: tag names of values on a stream, by its number, cyclic: what `keys` of pages are dealt to.
        synchronizing: the tags of the synchronizing events, which come in turn.
        per: values of each stream between two events of one synchronizing tag.
    """

    program: Program
    values: Callable[[int], Tag]
    synchronizing: Sequence[Tag]
    per: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of it: events/s, and nanoseconds from the arrival of each synchronizing event to its end."""

    rate: float
    latencies: np.ndarray
    joins: int


class _Core:
    """One process: its clock, and the workers of the plan in it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked = False
        """Whether its source is about to make a batch."""


class _Calls:
    """The program's work as time that passes."""

    def __init__(self, simulation: Simulation, core: _Core, values: set[int]) -> None:
        self.simulation, self.core, self.values = simulation, core, values

    def update(self, state: Any, tag: int, item: Any, first: int, last: int) -> Any:
        costs, core = self.simulation.costs, self.core
        if tag in self.values:
            core.now += costs.slice + costs.row * (last - first)
        else:
            core.now += costs.join * (last - first)
            self.simulation.done(item[first:last], core.now)
        return state

    def join(self, left: Any, right: Any) -> Any:
        return left

    def fork(self, state: Any) -> tuple[Any, Any]:
        return state, state

    def finish(self, state: Any) -> None: ...

    def empty(self) -> Any:
        return 0

    def add(self, state: Any, part: Any, child: int) -> Any:
        return state


class Simulation:
    """A run of a load on so many cores: a stream of values and a leaf on each, the plan's other workers beside the first
    of the leaves below them.

    Args:
        windows: events of each synchronizing tag.
        period: nanoseconds from one to the next as they arrive; 0: everything is there, and goes as fast as it can.
        heartbeats: how often in a period the synchronizing streams promise, where there is one (dgs-flumina D.1).
    """

    def __init__(
        self, load: Load, cores: int, costs: Costs, windows: int, *, period: float = 0.0, heartbeats: int = 1
    ) -> None:
        self.load, self.costs, self.windows = load, costs, windows
        self.period, self.heartbeats = period, heartbeats
        self.cores = [_Core() for _ in range(cores)]
        streams = max(2, cores)
        self.streams = streams
        tags = [ImplementationTag(tag, "synchronizing") for tag in load.synchronizing]
        tags += [ImplementationTag(load.values(number), f"s{number}") for number in range(streams)]
        self.tags, self._values = tags, set(range(len(load.synchronizing), len(tags)))
        self._first = len(load.synchronizing)
        dependence = Dependence(tags, load.program.depends)
        places = {tag: str(number % cores) for number, tag in enumerate(tags[self._first :])}
        rates = dict.fromkeys(tags[: self._first], 1.0 / load.per)
        question = Question(dependence, rates, places, load.program.state_types(), cores)
        self.workers: list[WorkerProtocol] = []
        self.core_of: list[_Core] = []
        self.parents: dict[int, tuple[int, int]] = {}
        """Worker -> its parent, and which child it is."""
        self.children: dict[int, list[int]] = {}
        self.owner: dict[int, int] = {}
        self._build(communication(question).root, dependence, (), None)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._made = [0] * streams
        self._links: dict[tuple[int, int], deque[list[Any]]] = {}
        self._clock = 0.0
        self._asked: dict[int, int] = {}
        """Workers that were asked for their state, and the tag of the request."""
        self._arrived: dict[int, float] = {}
        self._latencies: list[float] = []

    # -- the plan

    def _build(
        self, node: PlanWorker, dependence: Dependence, above: tuple[int, ...], parent: int | None
    ) -> int:
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        own = tuple(numbers[tag] for tag in node.tags)
        worker = len(self.workers)
        leaf = node
        while leaf.children:
            leaf = leaf.children[0]
        at = [numbers[tag] for tag in leaf.tags if numbers[tag] in self._values]
        core = self.cores[(at[0] - self._first) % len(self.cores) if at else 0]
        program = self.load.program
        adds = bool(node.children) and all(
            program.adds(tag.tag) for tag in node.handled.difference(node.tags)
        )
        joined = JoinedChildren() if node.children else None
        self.workers.append(
            WorkerProtocol(
                own,
                above,
                ranks=range(len(self.tags)),
                depends={
                    number: [numbers[other] for other in self.tags if dependence.depends(tag, other)]
                    for tag, number in numbers.items()
                },
                calls=_Calls(self, core, self._values),
                children=AddingChildren() if adds else joined,
                is_root=parent is None,
                adds=parent is not None and isinstance(self.workers[parent].children, AddingChildren),
            )
        )
        self.core_of.append(core)
        self.owner.update(dict.fromkeys(own, worker))
        self.children[worker] = []
        for which, child in enumerate(node.children):
            below = self._build(child, dependence, (*above, *own), worker)
            self.children[worker].append(below)
            self.parents[below] = worker, which
        return worker

    # -- the run

    def run(self) -> Simulated:
        self.workers[0].start(0)
        self._run(0)
        if self.period:
            self._pace()
        else:
            self._at(0.0, self._synchronize)
            for core in self.cores:
                self._want(core)
        while self._due:
            self._clock, _, action = heapq.heappop(self._due)
            action()
        if not all(worker.done for worker in self.workers):
            raise RuntimeError("the simulated plan has stopped before its end")
        rows = self.streams * self.load.per * self.windows
        took = max(core.now for core in self.cores)
        joins = sum(worker.joins for worker in self.workers)
        return Simulated(rows / took * 1e9, np.array(self._latencies), joins)

    def done(self, times: Sequence[int], now: float) -> None:
        """Synchronizing events that were worked on."""
        self._latencies += [now - self._arrived.get(int(time), now) for time in times]

    def _at(self, time: float, action: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._due, (time, self._number, action))

    def _times(self, which: int) -> np.ndarray:
        """Of the events of one synchronizing tag: window n ends between its last row and the next one's first."""
        every, count = self.streams * self.load.per, len(self.load.synchronizing)
        return (np.arange(1, self.windows + 1) * count - which) * every // count

    def _synchronize(self) -> None:
        """All synchronizing events, as batches that lie ready."""
        for tag in range(self._first):
            times, worker = self._times(tag), self.workers[self.owner[tag]]
            for first in range(0, len(times), SYNCHRONIZING):
                some = times[first : first + SYNCHRONIZING]
                worker.insert(tag, some, some)
            worker.promise(tag, ENDED)
        for worker_number in dict.fromkeys(self.owner[tag] for tag in range(self._first)):
            self._run(worker_number)

    def _want(self, core: _Core) -> None:
        """The core's source makes a batch as soon as nothing else is due, unless enough waits."""
        if core.asked:
            return
        number = self.cores.index(core)
        stream = min(range(number, self.streams, len(self.cores)), key=self._made.__getitem__)
        worker = self.workers[self.owner[self._first + stream]]
        if self._made[stream] < self.load.per * self.windows and worker.mailbox.waiting < HELD:
            core.asked = True
            self._at(core.now, lambda: self._make(core, stream))

    def _make(self, core: _Core, stream: int) -> None:
        core.asked = False
        rows = min(BATCH, self.load.per * self.windows - self._made[stream])
        core.now = max(core.now, self._clock) + self.costs.make * rows
        self._bring(stream, rows)
        self._run(self.owner[self._first + stream])

    def _bring(self, stream: int, rows: int) -> None:
        """The next rows of a stream reach their leaf."""
        tag, first = self._first + stream, self._made[stream]
        worker = self.workers[self.owner[tag]]
        self._made[stream] = first + rows
        if rows:
            times = np.arange(first, first + rows) * self.streams + stream
            worker.insert(tag, times, times, checked=True)
        if self._made[stream] == self.load.per * self.windows:
            worker.promise(tag, ENDED)

    def _pace(self) -> None:
        """Rows and synchronizing events as they happen: time in the stream is time on the clock."""
        scale = self.period / (self.streams * self.load.per)
        for tag in range(self._first):
            for time in self._times(tag).tolist():
                self._at(time * scale, lambda tag=tag, time=time: self._arrive(tag, time, time * scale))
        chunks = max(1, min(CHUNKS, self.load.per // CHUNK))
        every = self.period / chunks
        for stream in range(self.streams):
            for beat in range(1, self.windows * chunks + 2):
                now = (beat + stream / self.streams - 1) * every  # the streams' batches do not come at once
                self._at(now, lambda stream=stream, now=now: self._beat(stream, now))
        for beat in range(self.windows * self.heartbeats):
            now = beat * self.period / self.heartbeats
            self._at(now, lambda now=now: self._promise(int(now / scale)))

    def _arrive(self, tag: int, time: int, now: float) -> None:
        number = self.owner[tag]
        core = self.core_of[number]
        core.now = max(core.now, now)
        self._arrived[time] = now
        worker = self.workers[number]
        worker.insert(tag, np.array([time]), np.array([time]))
        if time + self.streams * self.load.per > self.windows * self.streams * self.load.per:
            worker.promise(tag, ENDED)
        self._run(number)

    def _promise(self, time: int) -> None:
        """A heartbeat of the synchronizing streams."""
        for tag in range(self._first):
            self.workers[self.owner[tag]].promise(tag, time)
        for number in dict.fromkeys(self.owner[tag] for tag in range(self._first)):
            self.core_of[number].now = max(self.core_of[number].now, self._clock)
            self._run(number)

    def _hurry(self, number: int) -> bool:
        """Has the streams of a worker say what they can where a request waits for that; whether it did."""
        tag = self._asked.pop(number, None)
        if not self.period or tag is None or not self.workers[number].mailbox.waits(tag):
            return False
        core, asked = self.core_of[number], False
        for stream in range(self.streams):
            if self.owner[self._first + stream] == number:
                core.now += self.costs.slice
                self._tell(stream, core.now)
                asked = True
        return asked

    def _beat(self, stream: int, now: float) -> None:
        """A stream's rows up to now, and the promise that none before follows."""
        worker = self.owner[self._first + stream]
        core = self.core_of[worker]
        core.now = max(core.now, now)
        self._tell(stream, now)
        self._run(worker)

    def _tell(self, stream: int, now: float) -> None:
        tag, whole = self._first + stream, self.load.per * self.windows
        upto = min(whole, int(now / self.period * self.load.per + 1e-9))
        self._bring(stream, max(0, upto - self._made[stream]))
        if upto < whole:
            self.workers[self.owner[tag]].promise(tag, upto * self.streams)

    # -- messages

    def _run(self, number: int) -> None:
        """Lets a worker run, and those in its process that it speaks to, until nothing follows."""
        core = self.core_of[number]
        waiting = [number]
        while waiting:
            worker = waiting.pop()
            more = self.workers[worker].run(8)
            waiting += [each for each in self._deliver(worker) if each not in waiting]
            if (more or self._hurry(worker)) and worker not in waiting:
                waiting.append(worker)
        if not self.period:
            self._want(core)

    def _deliver(self, number: int) -> list[int]:
        """Hands on what a worker has said; the workers of its own process that heard something."""
        worker, core, heard = self.workers[number], self.core_of[number], []
        ways: list[tuple[int, list[Any]]] = list(zip(self.children[number], worker.to_children))  # type: ignore[arg-type]
        if number in self.parents:
            ways.append((self.parents[number][0], worker.to_parent))  # type: ignore[arg-type]
        for other, messages in ways:
            if not messages:
                continue
            said = list(messages)
            messages.clear()
            if self.core_of[other] is core:
                self._hear(number, other, said)
                heard.append(other)
            else:
                core.now += self.costs.message
                self._links.setdefault((number, other), deque()).append(said)
                self._at(core.now + self.costs.hop, lambda other=other: self._receive(number, other))
        return heard

    def _receive(self, sender: int, receiver: int) -> None:
        core = self.core_of[receiver]
        core.now = max(core.now, self._clock) + self.costs.message
        self._hear(sender, receiver, self._links[sender, receiver].popleft())
        self._run(receiver)

    def _hear(self, sender: int, receiver: int, messages: list[Any]) -> None:
        worker = self.workers[receiver]
        if receiver in self.parents and self.parents[receiver][0] == sender:
            for message in messages:
                worker.from_parent(message)
                if type(message) is Request:
                    self._asked[receiver] = message.tag
        else:
            which = self.parents[sender][1]
            for message in messages:
                worker.from_child(which, message)
