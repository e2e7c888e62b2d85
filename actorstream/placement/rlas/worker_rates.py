"""Computes how many tuples a plan lets in once its replicas are dealt to workers. Pure.

The model of the paper lets the replicas of a socket share all of its cores. A worker of ours is one thread, so replicas that were
dealt to it share one core. And the paper passes references between threads, where a row that leaves a worker of ours is written
for another process: that costs the producer a hop, and the consumer taking it in and the way from one core's cache to another's.
Cores at work slow each other down, since they share the memory. And operators that share a core share its caches: each of them
takes less time the fewer others its worker has, and two replicas of an operator take more than one with the rows of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from actorstream.placement.rlas.instance import GroupLink, Instance


class WorkerRates(msgspec.Struct, frozen=True):
    """`ingress`: tuples per second of all sources together. `busiest`: the worker that limits it; None: a socket or the offered
    ingress does. `crowded`: the socket that limits it, since its workers have more threads than it has cores."""

    ingress: float
    busiest: int | None
    crowded: int | None = None


def on_workers(
    instance: Instance, places: Sequence[int], workers: Sequence[int], *, pool: int = 0
) -> WorkerRates:
    """The ingress at which the busiest worker, or what limits the sockets, is just busy.

    Args:
        instance: the model with replicas placed one by one (a group for each). places: the socket of each group.
        workers: the worker of each group.
        pool: threads of each worker beside its loop, which share its work."""
    busy, _, memory, channels = instance.problem.loads(places)
    saved = caches_kept(instance, places, workers, busy.tolist())
    crowded = beside_each_other(instance, places, workers)
    work = [whole - less + more for whole, less, more in zip(busy.tolist(), saved, crowded)]
    loads = dict.fromkeys(workers, 0.0)
    for number, worker in enumerate(workers):
        loads[worker] += work[number]
        for link in instance.entering[number]:
            if workers[link.group] != worker:
                loads[workers[link.group]] += sending(instance, link, places[link.group])
                loads[worker] += receiving(
                    instance, link, places[number], near=places[link.group] == places[number]
                )
    work, loads = contended(instance, places, workers, work, loads)
    busiest = max(loads, key=lambda each: (loads[each], -each))
    peak, load = instance.problem.peak(places), loads[busiest] / (1 + pool)
    if work != busy.tolist():
        machine, sockets = instance.machine, range(instance.sockets)
        cpu = [0.0] * instance.sockets
        for number, place in enumerate(places):
            cpu[place] += work[number]
        peak = max(
            1 / instance.ingress if instance.ingress else 0.0,
            *(each / divisor for each, divisor in zip(work, instance.divisor)),
            *(cpu[n] / machine.sockets[n].cores for n in sockets),
            *(float(memory[n]) / machine.bandwidth[n][n] for n in sockets),
            *(float(channels[i, j]) / machine.bandwidth[i][j] for i in sockets for j in sockets if i != j),
        )
    shared = sharing_cores(instance, places, workers, loads, pool)
    socket = max(shared, key=lambda each: (shared[each], -each), default=None)
    if socket is not None and shared[socket] > max(load, peak):
        return WorkerRates(1 / shared[socket], None, socket)
    return WorkerRates(1 / max(load, peak, 1e-300), busiest if load > peak else None)


def sharing_cores(
    instance: Instance, places: Sequence[int], workers: Sequence[int], loads: Mapping[int, float], pool: int
) -> dict[int, float]:
    """Socket -> seconds per tuple of ingress for which each of its cores works, hand-overs included, where its workers have more
    threads than it has cores. Elsewhere no worker waits for a core, so the busiest one limits."""
    workers_of: dict[int, list[int]] = {}
    for worker, place in dict(zip(workers, places)).items():
        workers_of.setdefault(place, []).append(worker)
    cores = {place: instance.machine.sockets[place].cores for place in workers_of}
    return {
        place: sum(loads[each] for each in mine) / cores[place]
        for place, mine in workers_of.items()
        if len(mine) * (1 + pool) > cores[place]
    }


def caches_kept(
    instance: Instance, places: Sequence[int], workers: Sequence[int], busy: Sequence[float]
) -> list[float]:
    """Seconds per tuple of ingress that each group takes less than on a core on which all operators take turns.

    With its worker to itself an operator takes what the profile says for that (`apart`). In between it counts how much work of
    others its worker does for a second of its own, relative to all operators on one core."""
    costs = instance.costs
    if all(each >= 1 for each in costs.apart):
        return [0.0] * len(workers)
    of_worker = dict.fromkeys(workers, 0.0)
    of_operator = [0.0] * len(costs.apart)
    for group, worker, each in zip(instance.groups, workers, busy):
        of_worker[worker] += each
        of_operator[group.operator] += each
    total, found = sum(busy), []
    for number, group in enumerate(instance.groups):
        own, mine = of_operator[group.operator], busy[number]
        beside, everywhere = (of_worker[workers[number]] - mine) * own, (total - own) * mine
        free = 1 - min(1.0, beside / everywhere) if everywhere > 0 else 0.0
        less = 1 - costs.apart[group.operator]
        found.append(instance.execute[number][places[number]] * less * free)
    return found


def beside_each_other(instance: Instance, places: Sequence[int], workers: Sequence[int]) -> list[float]:
    """Seconds per tuple of ingress that each group takes more because its worker has another replica of its operator: as much as
    with two of them, however many there are."""
    seats = [(group.operator, worker) for group, worker in zip(instance.groups, workers)]
    count = Counter(seats)
    hertz = instance.costs.hertz
    return [
        more * hertz / instance.machine.sockets[place].hertz if count[seat] > 1 else 0.0
        for more, place, seat in zip(instance.beside, places, seats)
    ]


def contended(
    instance: Instance,
    places: Sequence[int],
    workers: Sequence[int],
    work: Sequence[float],
    loads: Mapping[int, float],
) -> tuple[list[float], dict[int, float]]:
    """The seconds per tuple of ingress of each group, and of each worker with its hand-overs, while the other workers of its
    socket work, too.

    The profile says how many times as long work takes while another core does as much (`contention`). If the other workers
    have half as much to do, half of the additional time counts. It never counts more than once, however many others there are.
    Hand-overs were measured while two cores work, so their cost stays as it is."""
    found, more = list(work), instance.costs.contention - 1
    of_socket: dict[int, float] = {}
    for worker, place in dict(zip(workers, places)).items():
        of_socket[place] = of_socket.get(place, 0.0) + loads[worker]
    slower = dict(loads)
    for number, (place, worker) in enumerate(zip(places, workers)):
        own = loads[worker]
        others = max(of_socket[place] - own, 0.0)
        found[number] *= 1 + more * (min(others / own, 1.0) if own else 0.0)
        slower[worker] += found[number] - work[number]
    return found, slower


def sending(instance: Instance, link: GroupLink, socket: int) -> float:
    """Seconds per tuple of ingress that a producer on `socket` takes more if the consumer is in another worker."""
    clock = instance.costs.hertz / instance.machine.sockets[socket].hertz
    return link.tuples * instance.costs.hops[link.flow] * 1e-9 * clock


def receiving(instance: Instance, link: GroupLink, socket: int, *, near: bool) -> float:
    """Seconds per tuple of ingress that a consumer on `socket` takes more if the producer is in another worker. `near`: that is
    on the same socket, so that what the consumer fetches is not counted yet (T^f). Fetching then costs what the machine model
    says (`core_ns`), or what the profile says of this consumer (`aways`) if that is more."""
    clock = instance.costs.hertz / instance.machine.sockets[socket].hertz
    fetched = 0.0
    if near:
        aways = instance.costs.aways
        away = link.tuples * aways[link.flow] * clock if aways else 0.0
        fetched = max(link.lines * instance.machine.core_ns, away)
    return (link.tuples * instance.costs.takes[link.flow] * clock + fetched) * 1e-9
