"""Replicas of a socket on its workers so that the busiest worker has little to do: moves and exchanges of single replicas. Pure.

A worker is one core here, so the search is that of replicas on sockets, with each worker as a socket. A replica stays on its
socket; what it fetches from others costs the same on any of the socket's workers.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorstream.native.placement import MOST_SOCKETS, PlacementProblem
from actorstream.placement.rlas.instance import Instance
from actorstream.placement.rlas.worker_rates import receiving, sending

STEPS = 4000
"""Placements that are looked at for each socket."""
WIDE = 1e30
"""Bytes per second between workers of a socket: Eq. 4 and 5 are about sockets."""


def balanced(instance: Instance, places: Sequence[int], workers: Sequence[int]) -> list[int]:
    """The worker of each group; on no socket is the busiest one busier than with `workers`.

    Args:
        instance: a group for each replica. places: the socket of each group. workers: the worker of each group."""
    found = list(workers)
    busy = instance.problem.loads(places)[0].tolist()
    for socket in sorted(set(places)):
        mine = [group for group, place in enumerate(places) if place == socket]
        seats = sorted({workers[group] for group in mine})
        if 1 < len(seats) <= MOST_SOCKETS:
            problem = _problem(instance, places, mine, len(seats), busy)
            better, _ = problem.improved([seats.index(workers[group]) for group in mine], STEPS)
            for group, seat in zip(mine, better):
                found[group] = seats[seat]
    return found


def _problem(
    instance: Instance, places: Sequence[int], mine: Sequence[int], seats: int, busy: Sequence[float]
) -> PlacementProblem:
    """Each link costs its consumer something if both are in different workers; so what it costs its producer is a link back."""
    number = {group: n for n, group in enumerate(mine)}
    work = [busy[group] for group in mine]
    links: list[tuple[int, int, float, float]] = []
    for n, group in enumerate(mine):
        for link in instance.entering[group]:
            seconds = receiving(instance, link, places[group], near=link.group in number)
            if link.group in number:
                links.append((number[link.group], n, seconds, 0.0))
            else:
                work[n] += seconds
        for link in instance.leaving[group]:
            seconds = sending(instance, link, places[group])
            if link.group in number:
                links.append((number[link.group], n, seconds, 0.0))
            else:
                work[n] += seconds
    return PlacementProblem(
        [[each] * seats for each in work],
        [0.0] * len(mine),
        [instance.divisor[group] for group in mine],
        [instance.alike[group] for group in mine],
        links,
        [[float(i != j) for j in range(seats)] for i in range(seats)],
        [1.0] * seats,
        [[WIDE] * seats for _ in range(seats)],
    )
