"""The performance model (briskstream-rlas section 3.1): the rates of a plan at a given ingress, by Formula 1. Pure.

An operator that gets more than it can process keeps what its capacity allows, of each producer in proportion (case 1); one
that gets less passes all of it on (case 2). Nothing here holds producers back: an over-supplied operator is a bottleneck.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actorstream.placement.rlas.costs import MADE
from actorstream.placement.rlas.instance import Instance


class GroupRate(msgspec.Struct, frozen=True):
    """Rates of one group of replicas, in tuples per second."""

    arriving: float
    """r_i."""
    processed: float
    """r_o of Formula 1, with a bar: what it processes of what arrives."""
    busy: float
    """Seconds per second that it would need for all that arrives, divided by its replicas; above 1 it is over-supplied."""
    shares: dict[tuple[int, int], float]
    """(producer group, flow) -> what it processes of that producer's tuples."""


def group_rates(instance: Instance, places: Sequence[int], ingress: float = 0.0) -> list[GroupRate]:
    """The rates of all groups when the sources are offered `ingress` tuples per second; 0: as many as they can make."""
    costs, found = instance.costs, []
    sent: list[dict[tuple[int, int], float]] = [{} for _ in instance.groups]
    """Of each group: (producer group, flow) -> tuples per second that arrive."""
    for number, group in enumerate(instance.groups):
        entries = costs.entries[group.operator]
        socket = places[number]
        clock = costs.hertz / instance.machine.sockets[socket].hertz * 1e-9
        arriving: dict[int, float] = {}
        busy = 0.0
        for link in instance.entering[number]:
            rate = sent[number].get((link.group, link.flow), 0.0)
            arriving[link.flow] = arriving.get(link.flow, 0.0) + rate
            fetch = link.lines / link.tuples * instance.latency[socket][places[link.group]]
            busy += rate * (entries[link.flow].execute_ns * clock + fetch)
        if MADE in entries:
            time = entries[MADE].execute_ns * clock
            share = instance.made(number)
            able = instance.divisor[number] / time if time else float("inf")
            arriving[MADE] = min(ingress * share, able) if ingress else able
            busy += arriving[MADE] * time
        load = busy / instance.divisor[number]
        kept = min(1.0, 1 / load) if load else 1.0
        for link in instance.leaving[number]:
            out = sum(
                rate * kept * entries[flow].leaving.get(link.flow, 0.0) for flow, rate in arriving.items()
            )
            sent[link.group][number, link.flow] = out * instance.spread(number, link)
        shares = {key: rate * kept for key, rate in sent[number].items()}
        total = sum(arriving.values())
        found.append(GroupRate(total, total * kept, load, shares))
    return found


class Shortage(msgspec.Struct, frozen=True):
    """A constraint of Eq. 3, 4 or 5 that a plan does not satisfy. `needed` and `there` in the constraint's unit."""

    constraint: str
    """cpu (seconds per second), memory or channel (bytes per second)"""
    socket: int
    producer: int
    """The producers' socket of a channel; else the socket itself."""
    needed: float
    there: float


def violations(instance: Instance, places: Sequence[int], ingress: float = 0.0) -> list[Shortage]:
    """What a plan needs more of than its sockets have, at the rates of Formula 1."""
    machine, costs, count = instance.machine, instance.costs, instance.sockets
    rates = group_rates(instance, places, ingress)
    cpu, memory = [0.0] * count, [0.0] * count
    channels = [[0.0] * count for _ in range(count)]
    for number, group in enumerate(instance.groups):
        rate, socket, entries = rates[number], places[number], costs.entries[group.operator]
        cpu[socket] += min(rate.busy, 1.0) * instance.divisor[number]
        flows: dict[int, float] = {} if rate.shares else {MADE: rate.processed}
        for (producer, flow), share in rate.shares.items():
            flows[flow] = flows.get(flow, 0.0) + share
            if places[producer] != socket:
                channels[places[producer]][socket] += share * costs.bytes[flow]
        memory[socket] += sum(share * entries[flow].memory_bytes for flow, share in flows.items())
    wanted = [("cpu", n, n, cpu[n], float(machine.sockets[n].cores)) for n in range(count)]
    wanted += [("memory", n, n, memory[n], machine.bandwidth[n][n]) for n in range(count)]
    wanted += [
        ("channel", j, i, channels[i][j], machine.bandwidth[i][j])
        for i in range(count)
        for j in range(count)
        if i != j
    ]
    return [Shortage(*each) for each in wanted if each[3] > each[4] * (1 + 1e-9)]
