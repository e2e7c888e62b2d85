"""A discrete-event simulation of a plan: jumbo tuples, bounded queues, back-pressure, shared cores and channels. Pure.

It takes the costs and the machine that the model takes, and none of its formulas: rates come out of single jumbo tuples that
wait, are fetched and are processed one after the other. The same input and seed give the same result.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from actorstream.placement.rlas.costs import MADE, EntryCost
from actorstream.placement.rlas.instance import Instance


@dataclass(frozen=True)
class SimulationOptions:
    """How much is simulated, and how."""

    batches: int = 60_000
    """Jumbo tuples processed in all; the first third is warm-up."""
    slots: int = 8
    """Jumbo tuples that fit into the queue between two replicas."""
    spread: float = 0.1
    """Standard deviation of a jumbo tuple's execution time, relative to its mean."""
    seed: int = 1


@dataclass(frozen=True)
class Simulated:
    """What a simulation measured after its warm-up. Rates in tuples per second, times in seconds."""

    throughput: float
    """Tuples that the sinks processed."""
    ingress: float
    """Tuples that the sources made."""
    seconds: float
    busy: list[float]
    """Share of the time for which each replica worked."""
    latency: list[float]
    """Of each jumbo tuple that a sink processed, since the oldest tuple in it was made; ascending."""

    def percentile(self, share: float) -> float:
        """Latency in seconds."""
        return (
            self.latency[min(int(len(self.latency) * share), len(self.latency) - 1)] if self.latency else 0.0
        )


@dataclass
class _Out:
    """One stream out of one replica: where the next jumbo tuple goes, and what is gathered for it."""

    flow: int
    readers: list[int]
    all: bool
    """Whether every reader gets every jumbo tuple (broadcast)."""
    gathered: float
    next: int
    origin: float = math.inf


@dataclass
class _Replica:
    number: int
    socket: int
    entries: dict[int, EntryCost]
    source: bool
    sink: bool
    outs: list[_Out]
    inbox: deque[tuple[int, int, float]] = field(default_factory=deque)
    """(producer, flow, origin) of jumbo tuples in the order in which they came."""
    unsent: deque[tuple[int, int, float]] = field(default_factory=deque)
    """(reader, flow, origin) of jumbo tuples that found no room."""
    active: bool = False
    """Working, or waiting for a core."""
    work: tuple[int, int, float] | None = None
    busy: float = 0.0


class Simulator:
    """One run of a placement with a group for each replica."""

    def __init__(
        self, instance: Instance, places: Sequence[int], options: SimulationOptions | None = None
    ) -> None:
        self.options = options or SimulationOptions()
        self._draw = random.Random(self.options.seed)
        costs, machine = instance.costs, instance.machine
        self._rows, self._line = costs.rows, machine.cache_line
        self._bytes, self._machine = costs.bytes, machine
        self._clock = [costs.hertz / each.hertz * 1e-9 for each in machine.sockets]
        self._now = 0.0
        self._events: list[tuple[float, int, int]] = []
        self._serial = 0
        self._free = [each.cores for each in machine.sockets]
        self._ready: list[deque[int]] = [deque() for _ in machine.sockets]
        self._channel_free: dict[tuple[int, int], float] = {}
        self._queued: dict[tuple[int, int, int], int] = {}
        self._waiting: dict[tuple[int, int, int], bool] = {}
        self._pace = [0.0] * len(instance.groups)
        self._due = [0.0] * len(instance.groups)
        sinks = set(costs.sinks())
        self._replicas = []
        for number, group in enumerate(instance.groups):
            entries = costs.entries[group.operator]
            outs: dict[int, list[int]] = {}
            for link in instance.leaving[number]:
                outs.setdefault(link.flow, []).append(link.group)
            streams = [
                _Out(
                    flow,
                    readers,
                    costs.dataflow.flows[flow].route == "broadcast",
                    self._draw.random() * self._rows,
                    self._draw.randrange(len(readers)),
                )
                for flow, readers in outs.items()
            ]
            place = places[number]
            self._replicas.append(
                _Replica(number, place, entries, MADE in entries, group.operator in sinks, streams)
            )
            if MADE in entries and instance.ingress:
                self._pace[number] = self._rows / (instance.ingress * instance.made(number))
        self._made = self._sunk = 0.0
        self._latency: list[float] = []

    def run(self) -> Simulated:
        """Simulates until so many jumbo tuples were processed."""
        for replica in self._replicas:
            if replica.source:
                self._start(replica)
        warm, total = self.options.batches // 3, self.options.batches
        begun = 0.0
        for done in range(total):
            if not self._events:
                break
            if done == warm:
                begun, self._made, self._sunk = self._now, 0.0, 0.0
                self._latency.clear()
                for replica in self._replicas:
                    replica.busy = 0.0
            self._now, _, number = heapq.heappop(self._events)
            self._finish(self._replicas[number])
        seconds = max(self._now - begun, 1e-12)
        return Simulated(
            self._sunk / seconds,
            self._made / seconds,
            seconds,
            [min(each.busy / seconds, 1.0) for each in self._replicas],
            sorted(self._latency),
        )

    def _start(self, replica: _Replica) -> None:
        """Takes the next jumbo tuple, if there is one and nothing that was sent is stuck; waits for a core if all work."""
        if replica.active or replica.unsent or not (replica.source or replica.inbox):
            return
        replica.active = True
        if self._free[replica.socket]:
            self._free[replica.socket] -= 1
            self._work(replica)
        else:
            self._ready[replica.socket].append(replica.number)

    def _work(self, replica: _Replica) -> None:
        start = self._now
        if replica.source:
            start = max(start, self._due[replica.number])
            self._due[replica.number] = start + self._pace[replica.number]
            replica.work = (-1, MADE, start)
            entry, fetch, ready = replica.entries[MADE], 0.0, 0.0
        else:
            replica.work = producer, flow, _ = replica.inbox.popleft()
            entry = replica.entries[flow]
            self._queued[producer, replica.number, flow] -= 1
            if self._waiting.pop((producer, replica.number, flow), False):
                self._resume(self._replicas[producer])
            fetch, ready = self._fetch(replica, producer, flow)
        time = entry.execute_ns * self._rows * self._clock[replica.socket]
        time = time * max(self._draw.gauss(1.0, self.options.spread), 0.2) + fetch
        memory = self._through(replica.socket, replica.socket, entry.memory_bytes * self._rows)
        end = max(start + time, ready, memory)
        replica.busy += end - start
        self._serial += 1
        heapq.heappush(self._events, (end, self._serial, replica.number))

    def _fetch(self, replica: _Replica, producer: int, flow: int) -> tuple[float, float]:
        """Seconds that the lines of a jumbo tuple take, and when the channel has brought the last of them."""
        origin = self._replicas[producer].socket
        if origin == replica.socket:
            return 0.0, 0.0
        size = self._bytes[flow] * self._rows
        lines = math.ceil(size / self._line)
        seconds = lines * self._machine.latency_ns[replica.socket][origin] * 1e-9
        return seconds, self._through(origin, replica.socket, size)

    def _through(self, first: int, second: int, size: float) -> float:
        """When a channel (or a socket's own memory) has moved so many bytes, after all that came before."""
        key = (first, second)
        begin = max(self._now, self._channel_free.get(key, 0.0))
        self._channel_free[key] = end = begin + size / self._machine.bandwidth[first][second]
        return end

    def _finish(self, replica: _Replica) -> None:
        assert replica.work is not None
        _, flow, origin = replica.work
        replica.active = False
        if self._ready[replica.socket]:
            self._work(self._replicas[self._ready[replica.socket].popleft()])
        else:
            self._free[replica.socket] += 1
        self._made += self._rows * replica.source
        if replica.sink:
            self._sunk += self._rows
            self._latency.append(self._now - origin)
        selected = replica.entries[flow].leaving
        for out in replica.outs:
            more = self._rows * selected.get(out.flow, 0.0)
            if not more:
                continue
            out.gathered += more
            out.origin = min(out.origin, origin)
            while out.gathered >= self._rows:
                out.gathered -= self._rows
                readers = out.readers if out.all else [out.readers[out.next]]
                out.next = (out.next + 1) % len(out.readers)
                replica.unsent.extend((reader, out.flow, out.origin) for reader in readers)
                out.origin = origin if out.gathered else math.inf
        self._resume(replica)

    def _resume(self, replica: _Replica) -> None:
        """Sends what found no room before, in order, then goes on."""
        while replica.unsent:
            reader, flow, origin = replica.unsent[0]
            key = (replica.number, reader, flow)
            queued = self._queued.get(key, 0)
            if queued >= self.options.slots:
                self._waiting[key] = True
                return
            replica.unsent.popleft()
            self._queued[key] = queued + 1
            consumer = self._replicas[reader]
            consumer.inbox.append((replica.number, flow, origin))
            self._start(consumer)
        self._start(replica)


def simulate(
    instance: Instance, places: Sequence[int], options: SimulationOptions | None = None
) -> Simulated:
    """What a placement reaches, jumbo tuple by jumbo tuple."""
    return Simulator(instance, places, options).run()
