"""Placements that need no search: first-fit, round-robin and random (briskstream-rlas table 6 and figure 14). Pure.

First-fit and round-robin keep within what each socket has at the rates that the operators would reach without remote memory;
where no socket has room, all sockets are taken to have a tenth more, and packing starts again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from actorstream.placement.rlas.instance import Instance

ROUNDS = 60
"""Of 10 % more each: a 300-fold room, after which all is put as if there were no limits."""


def first_fit(instance: Instance) -> list[int]:
    """Each group, in topological order, on the first socket with room."""
    return _packed(instance, lambda number: range(instance.sockets))


def round_robin(instance: Instance) -> list[int]:
    """Each group, in topological order, on the next socket with room."""
    count = instance.sockets
    return _packed(instance, lambda number: [(number + each) % count for each in range(count)])


def random_places(instance: Instance, draw: random.Random) -> list[int]:
    """Each group on any socket."""
    return [draw.randrange(instance.sockets) for _ in instance.groups]


def random_replicas(
    scalable: list[bool],
    fixed: list[int],
    most: int,
    draw: random.Random,
    equals: Sequence[Sequence[int]] | None = None,
) -> list[int]:
    """Replicas of operators drawn one by one until there are `most` in all. `equals`: of each operator those that have as many as
    it; None: no others have."""
    found = list(fixed)
    equals = equals or [[number] for number in range(len(found))]
    free = [number for number, each in enumerate(scalable) if each]
    while free := [each for each in free if sum(found) + len(equals[each]) <= most]:
        for number in equals[draw.choice(free)]:
            found[number] += 1
    return found


def _packed(instance: Instance, order: Callable[[int], Sequence[int]]) -> list[int]:
    room = 1.0
    for _ in range(ROUNDS):
        found = _fitted(instance, order, room)
        if found is not None:
            return found
        room *= 1.1
    return [order(number)[0] for number in range(len(instance.groups))]


def _fitted(instance: Instance, order: Callable[[int], Sequence[int]], room: float) -> list[int] | None:
    machine, count = instance.machine, instance.sockets
    least = [min(each) for each in instance.execute]
    alone = max((each / divisor for each, divisor in zip(least, instance.divisor)), default=0.0)
    target = max(alone, sum(least) / machine.cores, 1 / instance.ingress if instance.ingress else 0.0) * room
    cpu, memory = [0.0] * count, [0.0] * count
    channels = [[0.0] * count for _ in range(count)]
    places: list[int] = []
    for number in range(len(instance.groups)):
        for socket in order(number):
            busy = instance.execute[number][socket]
            entering = [0.0] * count
            for link in instance.entering[number]:
                place = places[link.group]
                busy += link.lines * instance.latency[socket][place]
                entering[place] += link.bytes * (place != socket)
            if (
                cpu[socket] + busy <= machine.sockets[socket].cores * target
                and memory[socket] + instance.memory[number] <= machine.bandwidth[socket][socket] * target
                and all(
                    channels[each][socket] + entering[each] <= machine.bandwidth[each][socket] * target
                    for each in range(count)
                )
            ):
                break
        else:
            return None
        places.append(socket)
        cpu[socket] += busy
        memory[socket] += instance.memory[number]
        for each in range(count):
            channels[each][socket] += entering[each]
    return places
