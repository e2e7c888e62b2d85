"""How many replicas each operator gets: Algorithm 1, from sink to source, with what appendix D adds. Pure.

Each round places the replicas there are, then raises those of the over-supplied operator nearest to the sinks, by the ratio of
its input to what it processes. From one replica each this is Algorithm 1; from a larger start it needs fewer rounds. Where no
replica may be added any more, replicas are shared out anew by what each operator needs in the best plan so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from actorstream.placement.rlas.costs import MADE, Costs
from actorstream.placement.rlas.instance import Instance, groups_of, instance_of
from actorstream.placement.rlas.machine_model import MachineModel
from actorstream.placement.rlas.options import PlanOptions
from actorstream.placement.rlas.packing import first_fit
from actorstream.placement.rlas.rates import group_rates

ROUNDS = 48
"""Of Algorithm 1 at most."""
EXCHANGES = 10
"""Of a replica between two operators at most."""
MOST_GROUPS = 2000
"""That branch and bound places: it calls itself for each, with some 2 KiB of the stack, which may have 8 MiB."""
SHARES = (1.0, 0.94, 0.88, 0.8, 0.65, 0.5)
"""Of all replicas there may be, when they are shared out anew."""


class PlacedGroups(msgspec.Struct):
    """Replicas on sockets. `instance` has a group for every replica."""

    instance: Instance
    places: list[int]
    peak: float


class Scaling(msgspec.Struct):
    """One optimisation: what was placed, and what it cost. `latency`: other nanoseconds than the machine's."""

    costs: Costs
    machine: MachineModel
    options: PlanOptions
    latency: list[list[float]] | None = None
    steps: int = 0
    complete: bool = True
    placed: dict[tuple[int, ...], PlacedGroups] = {}

    @property
    def most(self) -> int:
        return self.options.most_replicas or self.machine.cores

    def place(self, replicas: list[int], effort: float = 1.0) -> PlacedGroups:
        """The best placement found of so many replicas; found once."""
        key = tuple(replicas)
        if key not in self.placed:
            self.placed[key] = self._searched(replicas, effort)
        return self.placed[key]

    def _searched(self, replicas: list[int], effort: float) -> PlacedGroups:
        options = self.options
        whole = self._instance(replicas, 1)
        compression = options.compression
        while len(groups_of(replicas, compression)) > MOST_GROUPS and compression < max(replicas):
            compression *= 2
        coarse = self._instance(replicas, compression) if compression > 1 else whole
        budget = max(int(options.steps * effort), len(coarse.groups) + 1)
        start = first_fit(coarse) if options.heuristics else None
        found, _, used, ended = coarse.problem.search(budget, heuristics=options.heuristics, best=start)
        self.steps += used
        self.complete = self.complete and ended
        places = expanded(coarse, found or [0] * len(coarse.groups))
        if options.heuristics:
            places, _ = whole.problem.improved(places, budget)
            self.steps += budget
        return PlacedGroups(whole, places, whole.problem.peak(places))

    def _instance(self, replicas: list[int], compression: int) -> Instance:
        return instance_of(
            self.costs,
            self.machine,
            replicas,
            compression=compression,
            ingress=self.options.ingress,
            latency=self.latency,
        )

    def run(self, start: list[int]) -> PlacedGroups:
        """The best plan. `start`: replicas of each operator to begin with."""
        best = self.climb(start)
        if not any(self._scalable()):
            return best
        shared = shared_out(self._work(None), self._scalable(), start, self.most, self._equals)
        best = better(best, self.climb(shared))
        for part in SHARES:
            for _ in range(3):
                most = max(int(self.most * part), len(start))
                replicas = shared_out(self._work(best), self._scalable(), start, most, self._equals)
                if tuple(replicas) in self.placed:
                    break
                best = better(best, self.place(replicas, 0.2))
        best = self.exchanged(best, self._busiest)
        return self.exchanged(best, self._coarsest) if self.options.divide else best

    def exchanged(self, best: PlacedGroups, taker: Callable[[PlacedGroups], int]) -> PlacedGroups:
        """Moves a replica from the operator that needs it least to the one that `taker` names (-1: none), as long as that
        helps."""
        for _ in range(EXCHANGES):
            busy = self._work(best)
            replicas = list(best.instance.replicas)
            free = [number for number, each in enumerate(self._scalable()) if each]
            busiest = taker(best)
            if busiest < 0:
                break
            takers = self._equals[busiest]
            for _ in takers:  # a giver gives one at least
                if sum(replicas) + len(takers) <= self.most:
                    break
                givers = [each for each in free if replicas[each] > 1 and each not in takers]
                if not givers:
                    return best
                giver = min(givers, key=lambda each: (busy[each] / (replicas[each] - 1), each))
                self._add(replicas, giver, -1)
            self._add(replicas, busiest, 1)
            found = better(best, self.place(replicas, 0.2))
            if found is best:
                break
            best = found
        return best

    def _add(self, replicas: list[int], operator: int, count: int) -> None:
        """Changes the replicas of an operator, and with it of those that have as many."""
        for each in self._equals[operator]:
            replicas[each] += count

    def _busiest(self, placed: PlacedGroups) -> int:
        """The operator that may grow whose replicas have most to do."""
        busy, replicas = self._work(placed), placed.instance.replicas
        free = [number for number, each in enumerate(self._scalable()) if each]
        return max(free, key=lambda each: (busy[each] / replicas[each], -each))

    def _coarsest(self, placed: PlacedGroups) -> int:
        """The operator that may grow of which a replica takes most of what the limiting socket has too little of, its cores, its
        memory or a channel to it: the one that "failed to allocate" (appendix D). -1: a replica limits, or the ingress."""
        instance, places = placed.instance, placed.places
        machine, count = instance.machine, instance.sockets
        busy, cpu, memory, channels = (each.tolist() for each in instance.problem.loads(places))
        limits = [(cpu[n] / machine.sockets[n].cores, "cpu", n, n) for n in range(count)]
        limits += [(memory[n] / machine.bandwidth[n][n], "memory", n, n) for n in range(count)]
        limits += [
            (channels[i][j] / machine.bandwidth[i][j], "channel", i, j)
            for i in range(count)
            for j in range(count)
            if i != j
        ]
        peak, what, source, socket = max(limits)
        if peak < placed.peak * (1 - 1e-9):
            return -1
        parts: dict[int, float] = {}
        free = self._scalable()
        for number, group in enumerate(instance.groups):
            if places[number] == socket and free[group.operator]:
                links = (each for each in instance.entering[number] if places[each.group] == source)
                part = {
                    "cpu": busy[number],
                    "memory": instance.memory[number],
                    "channel": sum(each.bytes for each in links) if what == "channel" else 0.0,
                }[what]
                parts[group.operator] = max(parts.get(group.operator, 0.0), part)
        return max(parts, key=lambda each: (parts[each], -each), default=-1)

    def climb(self, start: list[int]) -> PlacedGroups:
        """Algorithm 1 from so many replicas."""
        replicas = list(start)
        best = self.place(replicas, 0.2)
        last = best
        for _ in range(ROUNDS):
            number, wanted = self.bottleneck(last, replicas)
            room = (self.most - sum(replicas)) // len(self._equals[number])
            if number < 0 or room <= 0:
                break
            self._add(replicas, number, min(wanted - replicas[number], room))
            last = self.place(replicas, 0.2)
            best = better(best, last)
        return best

    def bottleneck(self, placed: PlacedGroups, replicas: list[int]) -> tuple[int, int]:
        """The over-supplied operator nearest to the sinks that may grow, and how many replicas it should have; -1: none."""
        rates = group_rates(placed.instance, placed.places, self.options.ingress)
        count = len(replicas)
        arriving, processed = [0.0] * count, [0.0] * count
        for group, rate in zip(placed.instance.groups, rates):
            arriving[group.operator] += rate.arriving
            processed[group.operator] += rate.processed
        free = self._scalable()
        for number in reversed(range(count)):
            over = arriving[number] / processed[number] if processed[number] else 1.0
            if free[number] and over > 1.001:
                return number, max(math.ceil(replicas[number] * over), replicas[number] + 1)
        offered = self.options.ingress and not any(
            rate.busy > 0.999
            for group, rate in zip(placed.instance.groups, rates)
            if self._source(group.operator)
        )
        sources = [number for number in range(count) if free[number] and self._source(number)]
        if not sources or offered:
            return -1, 0
        number = min(sources, key=lambda each: replicas[each])
        return number, replicas[number] + max(1, replicas[number] // 4)

    def _source(self, operator: int) -> bool:
        return MADE in self.costs.entries[operator]

    @property
    def _equals(self) -> list[list[int]]:
        return self.costs.dataflow.equals()

    def _scalable(self) -> list[bool]:
        free = [
            each.scalable and not any(name in self.options.replicas for name in each.members)
            for each in self.costs.dataflow.operators
        ]
        return [all(free[each] for each in equal) for equal in self._equals]

    def _work(self, placed: PlacedGroups | None) -> list[float]:
        """Seconds of each operator per tuple of ingress, on the fastest socket or as it is placed. Operators that are tied to
        equal numbers of replicas all count as the one of them with most work."""
        found = [0.0] * len(self.costs.dataflow.operators)
        if placed is None:
            ones = [each.replicas for each in self.costs.dataflow.operators]
            instance = instance_of(self.costs, self.machine, ones)
            busy = [min(each) for each in instance.execute]
        else:
            instance = placed.instance
            busy = instance.problem.loads(placed.places)[0].tolist()
        for group, each in zip(instance.groups, busy):
            found[group.operator] += each
        return [max(found[each] for each in equal) for equal in self._equals]


def better(first: PlacedGroups, second: PlacedGroups) -> PlacedGroups:
    """The one with the lower peak; of equals the one with fewer replicas, else the first."""
    if math.isclose(first.peak, second.peak, rel_tol=1e-9):
        return second if len(second.places) < len(first.places) else first
    return second if second.peak < first.peak else first


def expanded(coarse: Instance, places: list[int]) -> list[int]:
    """The places of single replicas, from those of groups."""
    return [place for group, place in zip(coarse.groups, places) for _ in range(group.size)]


def shared_out(
    work: list[float], free: list[bool], fixed: list[int], most: int, equals: list[list[int]]
) -> list[int]:
    """Replicas in proportion to work: one each, then always one more where a replica has most to do. `equals`: of each operator
    those that have as many."""
    found = [1 if each else count for each, count in zip(free, fixed)]
    candidates = [number for number, each in enumerate(free) if each]
    while candidates := [each for each in candidates if sum(found) + len(equals[each]) <= most]:
        for number in equals[max(candidates, key=lambda each: (work[each] / found[each], -each))]:
            found[number] += 1
    return found
