"""Several machines as one model, in which the network is the slowest channel, and the socket of each rank. Pure.

Ranks are workers that others start: what a host has beyond its ranks cannot be used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.placement.rlas.machine_model import MachineModel, Socket, check_machine_model
from actorstream.topology.suggestions import listed


def joined(hosts: Mapping[str, MachineModel], link: float) -> MachineModel:
    """One model of the machines of some hosts, by the names of these.

    All other hosts share a host's link of `link` bytes per second, and so do its sockets. A cache line from another host takes
    the time that the link takes for it, and never less than one from the farthest socket of the host itself."""
    sockets: list[Socket] = []
    owner: list[tuple[str, int]] = []
    for name, machine in hosts.items():
        sockets += [msgspec.structs.replace(each, host=name) for each in machine.sockets]
        owner += [(name, number) for number in range(len(machine.sockets))]
    others = max(len(hosts) - 1, 1)
    line = max(each.cache_line for each in hosts.values())
    slowest = max(ns for each in hosts.values() for row in each.latency_ns for ns in row)
    local = min(rate for each in hosts.values() for row in each.bandwidth for rate in row)

    def latency(i: int, j: int) -> float:
        (host, a), (other, b) = owner[i], owner[j]
        return hosts[host].latency_ns[a][b] if host == other else max(line / link * 1e9, slowest)

    def bandwidth(i: int, j: int) -> float:
        (host, a), (other, b) = owner[i], owner[j]
        if host == other:
            return hosts[host].bandwidth[a][b]
        pairs = len(hosts[host].sockets) * len(hosts[other].sockets)
        return min(link / others / pairs, local)

    every = range(len(sockets))
    model = MachineModel(
        name=" and ".join(f"{name} ({each.name})" for name, each in hosts.items()),
        sockets=sockets,
        latency_ns=[[latency(i, j) for j in every] for i in every],
        bandwidth=[[bandwidth(i, j) for j in every] for i in every],
        cache_line=line,
        core_ns=max(each.core_ns for each in hosts.values()),
    )
    return check_machine_model(model)


def seated(
    model: MachineModel, hosts: Sequence[str], cpus: Sequence[Sequence[int]] = ()
) -> tuple[MachineModel, list[int]]:
    """The part of a machine that ranks have, and the socket of each rank in it. `hosts`: of each rank. `cpus`: that each rank may
    use, where that is known.

    A host's ranks are dealt to its sockets, each to the one with most cores for a rank of its own, of those that have a core
    which the rank may use. A socket keeps a core for each of its ranks, in their order, but for ranks that share a core.
    ConfigurationError: the model has no socket on a host."""
    problems = []
    known = dict.fromkeys(each.host for each in model.sockets)
    places = hosts if list(known) != [""] or len(set(hosts)) > 1 else [""] * len(hosts)
    for name in dict.fromkeys(places):
        if name not in known:
            hint = 'give each of its [[sockets]] host = "NAME", as the ranks\' hosts are called'
            problems.append(
                Problem("deploy.rlas.machine", f"has no socket on host {name!r}", listed(known), hint)
            )
    if problems:
        raise ConfigurationError(problems)
    counts = [0] * len(model.sockets)
    chosen: list[int] = []
    masks = cpus or [()] * len(places)
    for name, mask in zip(places, masks):
        mine = [number for number, each in enumerate(model.sockets) if each.host == name]
        mine = [number for number in mine if not set(mask).isdisjoint(model.sockets[number].cpus)] or mine
        best = max(mine, key=lambda each: (model.sockets[each].cores / (counts[each] + 1), -each))
        counts[best] += 1
        chosen.append(best)
    used = [number for number, count in enumerate(counts) if count]
    sockets = []
    for number in used:
        socket = model.sockets[number]
        cores = min(socket.cores, counts[number])
        own = _own_cpus(socket.cpus, [mask for mask, seat in zip(masks, chosen) if seat == number])
        if own:
            cores = sum(cpu is not None for cpu in own)
        named = [cpu for cpu in own[:cores] if cpu is not None]  # the nth is the nth rank's
        named = named if len(named) == cores else []
        sockets.append(msgspec.structs.replace(socket, cores=cores, cpus=named))
    part = msgspec.structs.replace(
        model,
        sockets=sockets,
        latency_ns=[[model.latency_ns[i][j] for j in used] for i in used],
        bandwidth=[[model.bandwidth[i][j] for j in used] for i in used],
    )
    return part, [used.index(each) for each in chosen]


def _own_cpus(cpus: Sequence[int], masks: Sequence[Sequence[int]]) -> list[int | None]:
    """A core of its own for each rank of a socket, None for those that share one of others; empty: the socket names no cores.
    Ranks that may use few cores choose first. One that may use none of them is taken to be bound to nothing."""
    if not cpus:
        return []
    allowed = [[cpu for cpu in cpus if cpu in mask] or list(cpus) for mask in masks]
    free = set(cpus)
    found: list[int | None] = [None] * len(masks)
    for number in sorted(range(len(masks)), key=lambda each: (len(allowed[each]), each)):
        found[number] = next((cpu for cpu in allowed[number] if cpu in free), None)
        free.discard(found[number])  # type: ignore[arg-type]
    return found
