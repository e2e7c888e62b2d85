"""From replicas on sockets to workers: each socket gets a worker for each of its cores, and its replicas are dealt to them.
Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from actorstream.placement.base import Assignment
from actorstream.placement.rlas import MachineModel, SocketPlan
from actorstream.topology.machine import Core

if TYPE_CHECKING:
    from actorstream.placement.rlas import Dataflow


def deal(
    plan: SocketPlan, dataflow: Dataflow, machine: MachineModel, most: int | None = None
) -> tuple[Assignment, dict[int, Core]]:
    """(actor, replica) -> worker, and worker -> its core and memory node.

    The busiest first, each unit (a replica of an operator, with the actors that it calls) goes to the worker of its socket
    with the least to do; so no worker is much busier than another, and chains stay whole. A socket has as many workers as
    cores, at most one for each unit. `most`: workers in all; those of the same socket share what others would have done."""
    load = {each.operator: each.utilisation for each in plan.rates}
    socket_of = {(each.actor, each.index): each.socket for each in plan.replicas}
    units: dict[int, list[tuple[float, int, list[str], int]]] = {}
    for number, operator in enumerate(dataflow.operators):
        head = operator.members[0]
        for index in range(len(plan.sockets_of(head))):
            unit = (-load.get(operator.name, 0.0), number, operator.members, index)
            units.setdefault(socket_of[head, index], []).append(unit)
    counts = {socket: min(machine.sockets[socket].cores, len(units[socket])) for socket in sorted(units)}
    _cut(counts, most)
    found: Assignment = {}
    cores: dict[int, Core] = {}
    for socket, count in counts.items():
        workers = range(len(cores), len(cores) + count)
        _share_out(sorted(units[socket]), workers, found)
        there = machine.sockets[socket]
        cores.update({worker: Core(_at(there.cpus, n), there.node) for n, worker in enumerate(workers)})
    return found, cores


def _share_out(units: Sequence[tuple[float, int, list[str], int]], workers: range, found: Assignment) -> None:
    busy = dict.fromkeys(workers, (0.0, 0))
    for load, _, members, index in units:
        worker = min(workers, key=lambda each: (*busy[each], each))
        busy[worker] = (busy[worker][0] - load, busy[worker][1] + 1)
        found.update({(actor, index): worker for actor in members})


def _cut(counts: dict[int, int], most: int | None) -> None:
    """Takes workers from the sockets with the most of them until there are at most `most`, one for each socket at least."""
    while most is not None and sum(counts.values()) > most and max(counts.values()) > 1:
        largest = max(counts, key=lambda socket: (counts[socket], -socket))
        counts[largest] -= 1


def _at(cpus: Sequence[int], number: int) -> int:
    return cpus[number] if number < len(cpus) else -1
