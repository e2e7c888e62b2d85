"""A placement problem in numbers: groups of replicas, what they cost per tuple of ingress, and what each socket has. Pure.

A group holds up to r replicas of an operator, which are placed together (the graph compression of section 4). All loads are
for an ingress of one tuple per second, so that the greatest ratio of a load to what there is (Eq. 3, 4, 5, and one second per
replica and second) is the inverse of the highest ingress that a placement sustains.
"""

from __future__ import annotations

import math
from functools import cached_property

import msgspec

from actorstream.native.placement import PlacementProblem
from actorstream.placement.rlas.costs import MADE, Costs
from actorstream.placement.rlas.machine_model import MachineModel


class Group(msgspec.Struct, frozen=True):
    """Replicas `first` to `first + size - 1` of an operator."""

    operator: int
    first: int
    size: int


class GroupLink(msgspec.Struct, frozen=True):
    """What goes from one group to another at an ingress of one tuple per second."""

    group: int
    """The other group."""
    tuples: float
    lines: float
    """Cache lines per second."""
    bytes: float
    flow: int


class Instance(msgspec.Struct, dict=True):
    """A problem. Seconds per tuple of ingress unless said."""

    costs: Costs
    machine: MachineModel
    replicas: list[int]
    groups: list[Group]
    execute: list[list[float]]
    """Of each group on each socket: T^e of all its tuples."""
    memory: list[float]
    """Of each group: bytes of memory traffic."""
    divisor: list[float]
    """Of each group: how many of its replicas share its work evenly."""
    entering: list[list[GroupLink]] = []
    leaving: list[list[GroupLink]] = []
    latency: list[list[float]] = []
    """Seconds: consumer's socket, producer's socket; 0 on the diagonal, as T^e has it in it."""
    alike: list[int] = []
    """Groups with the same number are interchangeable."""
    beside: list[float] = []
    """Of each group: seconds more, on a core of the profile, where another replica of its operator is on the same core."""
    ingress: float = 0.0
    """Offered tuples per second; 0: any number."""
    _sent: dict[tuple[int, int], float] = {}
    """(group, flow) -> tuples per second that the group sends, each once."""

    @property
    def sockets(self) -> int:
        return len(self.machine.sockets)

    def made(self, group: int) -> float:
        """The share of the whole ingress that a source's group makes."""
        costs, mine = self.costs, self.groups[group]
        weight = sum(
            each.weight for each, entries in zip(costs.dataflow.operators, costs.entries) if MADE in entries
        )
        return (
            costs.dataflow.operators[mine.operator].weight / weight * mine.size / self.replicas[mine.operator]
        )

    def spread(self, group: int, link: GroupLink) -> float:
        """The share of what a group sends on a flow that goes to one link's group (above 1 in all where it is broadcast)."""
        total = self._sent.get((group, link.flow))
        if total is None:
            copies = 1.0
            flow = self.costs.dataflow.flows[link.flow]
            if flow.route == "broadcast":
                copies = float(self.replicas[self.costs.flows[link.flow][1]])
            total = sum(each.tuples for each in self.leaving[group] if each.flow == link.flow) / copies
            self._sent[group, link.flow] = total
        return link.tuples / total

    @cached_property
    def problem(self) -> PlacementProblem:
        """The same for the search in C."""
        links = [
            (link.group, number, link.lines, link.bytes)
            for number, each in enumerate(self.entering)
            for link in each
        ]
        return PlacementProblem(
            self.execute,
            self.memory,
            self.divisor,
            self.alike,
            links,
            self.latency,
            [each.cores for each in self.machine.sockets],
            self.machine.bandwidth,
            1 / self.ingress if self.ingress else 0.0,
        )


def instance_of(
    costs: Costs,
    machine: MachineModel,
    replicas: list[int],
    *,
    compression: int = 1,
    ingress: float = 0.0,
    latency: list[list[float]] | None = None,
) -> Instance:
    """The problem of placing so many replicas of each operator.

    `latency`: other nanoseconds than the machine's (RLAS_fix), the diagonal included."""
    costs = costs.routed(replicas)
    totals = costs.totals(replicas)
    groups = groups_of(replicas, compression)
    of_operator: list[list[int]] = [[] for _ in replicas]
    for number, group in enumerate(groups):
        of_operator[group.operator].append(number)
    single = [_single(costs, operator) for operator in range(len(replicas))]
    clocks = [costs.hertz / socket.hertz for socket in machine.sockets]
    execute, memory, divisor, beside = [], [], [], []
    for group in groups:
        share = _share(group, replicas, single)
        work = sum(
            rate * costs.entries[group.operator][flow].execute_ns
            for flow, rate in costs.entering(group.operator, totals)
        )
        traffic = sum(
            rate * costs.entries[group.operator][flow].memory_bytes
            for flow, rate in costs.entering(group.operator, totals)
        )
        more = sum(
            rate * costs.entries[group.operator][flow].beside_ns
            for flow, rate in costs.entering(group.operator, totals)
        )
        beside.append(share * more * 1e-9)
        execute.append([share * work * 1e-9 * clock for clock in clocks])
        memory.append(share * traffic)
        divisor.append(1.0 if single[group.operator] else float(group.size))
    found = Instance(
        costs, machine, list(replicas), groups, execute, memory, divisor, beside=beside, ingress=ingress
    )
    found.latency = [
        [(0.0 if i == j else each * 1e-9) for j, each in enumerate(row)]
        for i, row in enumerate(machine.latency_ns)
    ]
    if latency is not None:
        found.latency = [[each * 1e-9 for each in row] for row in latency]
    found.entering = [[] for _ in groups]
    found.leaving = [[] for _ in groups]
    for number, (producer, consumer) in enumerate(costs.flows):
        if producer != consumer and costs.entries[consumer]:
            _link(found, number, totals[number], of_operator[producer], of_operator[consumer], single)
    paired = {n for n, each in enumerate(costs.flows) if _forward(found, n)}
    tied = {operator for flow in paired for operator in costs.flows[flow]}
    found.alike = [
        number if group.operator in tied else len(groups) + group.operator * 4096 + group.size
        for number, group in enumerate(groups)
    ]
    return found


def groups_of(replicas: list[int], compression: int) -> list[Group]:
    """Each operator's replicas in as few groups of at most `compression` as there can be, of nearly equal size."""
    found = []
    for operator, count in enumerate(replicas):
        parts = math.ceil(count / compression)
        edges = [count * part // parts for part in range(parts + 1)]
        found += [Group(operator, edges[n], edges[n + 1] - edges[n]) for n in range(parts)]
    return found


def fetched_lines(costs: Costs, flow: int, cache_line: int) -> float:
    """Cache lines per tuple: whole ones for a jumbo tuple, shared by its tuples."""
    return math.ceil(costs.bytes[flow] * costs.rows / cache_line) / costs.rows


def _single(costs: Costs, operator: int) -> bool:
    """Whether all input of an operator goes to its first replica."""
    routes = [costs.dataflow.flows[flow].route for flow in costs.entries[operator] if flow != MADE]
    return bool(routes) and all(route == "global" for route in routes)


def _share(group: Group, replicas: list[int], single: list[bool]) -> float:
    if single[group.operator]:
        return 1.0 if group.first == 0 else 0.0
    return group.size / replicas[group.operator]


def _forward(found: Instance, flow: int) -> bool:
    producer, consumer = found.costs.flows[flow]
    return (
        producer != consumer
        and found.costs.dataflow.flows[flow].route == "forward"
        and found.replicas[producer] == found.replicas[consumer]
    )


def _link(
    found: Instance, flow: int, total: float, producers: list[int], consumers: list[int], single: list[bool]
) -> None:
    groups, costs = found.groups, found.costs
    lines = fetched_lines(costs, flow, found.machine.cache_line)
    forward = _forward(found, flow)
    for p in producers:
        for c in consumers:
            if forward and groups[p].first != groups[c].first:
                continue
            rate = total * _share(groups[p], found.replicas, single)
            if not forward:
                rate *= _share(groups[c], found.replicas, single)
            if rate:
                size = rate * costs.bytes[flow]
                found.entering[c].append(GroupLink(p, rate, rate * lines, size, flow))
                found.leaving[p].append(GroupLink(c, rate, rate * lines, size, flow))
