"""From replicas on sockets to workers: each socket gets a worker for each of its cores, and its replicas are dealt to them.
Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from actorstream.placement.base import Assignment
from actorstream.placement.rlas import MachineModel, SocketPlan
from actorstream.topology.machine import Core

if TYPE_CHECKING:
    from actorstream.placement.rlas import Dataflow


def deal(
    plan: SocketPlan,
    dataflow: Dataflow,
    machine: MachineModel,
    seats: Sequence[int] | None = None,
    most: int | None = None,
) -> tuple[Assignment, dict[int, Core]]:
    """(actor, replica) -> worker, and worker -> its core and memory node.

    The busiest first, each unit (a replica of an operator, with the actors that it calls) goes to the worker of its socket
    with the least to do; so no worker is much busier than another, and chains stay whole. A socket has as many workers as
    cores, at most one for each unit and at most `most`. `seats`: the socket of each worker, where they are there already."""
    load = {each.operator: each.utilisation for each in plan.rates}
    socket_of = {(each.actor, each.index): each.socket for each in plan.replicas}
    units: dict[int, list[tuple[float, int, list[str], int]]] = {}
    for number, operator in enumerate(dataflow.operators):
        head = operator.members[0]
        for index in range(len(plan.sockets_of(head))):
            unit = (-load.get(operator.name, 0.0), number, operator.members, index)
            units.setdefault(socket_of[head, index], []).append(unit)
    workers = _workers(units, machine, most) if seats is None else _seated(units, seats)
    found: Assignment = {}
    cores: dict[int, Core] = {}
    for socket, mine in workers.items():
        _share_out(sorted(units[socket]), mine, found)
        there = machine.sockets[socket]
        cores.update({worker: Core(_at(there.cpus, n), there.node) for n, worker in enumerate(mine)})
    return found, cores


def _share_out(
    units: Sequence[tuple[float, int, list[str], int]], workers: Sequence[int], found: Assignment
) -> None:
    busy = dict.fromkeys(workers, (0.0, 0))
    for load, _, members, index in units:
        worker = min(workers, key=lambda each: (*busy[each], each))
        busy[worker] = (busy[worker][0] - load, busy[worker][1] + 1)
        found.update({(actor, index): worker for actor in members})


def _workers(
    units: Mapping[int, Sequence[object]], machine: MachineModel, most: int | None
) -> dict[int, list[int]]:
    """Socket -> new workers."""
    found: dict[int, list[int]] = {}
    first = 0
    for socket in sorted(units):
        cores = machine.sockets[socket].cores
        count = min(cores, len(units[socket]), cores if most is None else most)
        found[socket] = list(range(first, first + count))
        first += count
    return found


def _seated(units: Mapping[int, Sequence[object]], seats: Sequence[int]) -> dict[int, list[int]]:
    """Socket -> the workers that sit there."""
    return {socket: [n for n, seat in enumerate(seats) if seat == socket] for socket in sorted(units)}


def _at(cpus: Sequence[int], number: int) -> int:
    return cpus[number] if number < len(cpus) else -1
