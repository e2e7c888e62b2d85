"""What a placement is: a pure function from graph, deployment and machine to a worker for each replica.

No I/O, no clock, no randomness: the same input gives the same plan. A new one is one file and one row of the
table PLACEMENTS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Edge, Graph
from actorstream.topology.machine import Core, Machine
from actorstream.topology.plan import (
    LONGEST_CHAIN,
    ExecutionPlan,
    PlannedChannel,
    PlannedReplica,
    planned_edges,
)
from actorstream.topology.suggestions import did_you_mean, listed

Assignment = dict[tuple[str, int], int]
"""(actor, replica index) -> worker."""
Placement = Callable[[Graph, DeploySpec, Machine], Assignment]


def replicas_of(graph: Graph) -> list[tuple[str, int]]:
    """All replicas, actor by actor in topological order: the order of their ids."""
    return [(actor.name, index) for actor in graph.actors.values() for index in range(actor.replicas)]


def forward_groups(graph: Graph) -> list[list[str]]:
    """Actors that forward edges join, each group in topological order; one without such an edge is alone."""
    group = {name: [name] for name in graph.actors}
    for edge in graph.edges:
        first, second = group[edge.producer], group[edge.consumer]
        if edge.route == "forward" and first is not second:
            first.extend(second)
            for name in second:
                group[name] = first
    rank = {name: number for number, name in enumerate(graph.actors)}
    unique = {id(each): sorted(each, key=rank.__getitem__) for each in group.values()}
    return sorted(unique.values(), key=lambda each: rank[each[0]])


def place(
    graph: Graph,
    deploy: DeploySpec,
    machine: Machine | None = None,
    *,
    direct: Callable[[Graph, Edge], bool] | None = None,
    decided: Assignment | None = None,
    cores: Mapping[int, Core] | None = None,
) -> ExecutionPlan:
    """The execution plan: for each replica its worker, thread, core and memory node.

    Args:
        decided: the workers of all replicas, where they are decided already.
        cores: worker -> its core and node, where they are decided already.
        machine: gives its cores to the workers in turn (more workers than cores share); without it the plan
            names no cores.
        direct: whether an edge's consumer may be called by its producer. With it the plan also says which
            replicas call each other and which channels join the others.
    """
    assignment = decided or find_placement(deploy.placement)(graph, deploy, machine or Machine(()))
    replicas = []
    for number, (actor, index) in enumerate(replicas_of(graph)):
        worker = assignment[actor, index]
        core = machine.cores[worker % len(machine.cores)] if machine and machine.cores else Core(-1, -1)
        core = core if cores is None else cores[worker]
        place = {"worker": worker, "core": core.id, "node": core.node}
        replicas.append(PlannedReplica(id=number, actor=actor, index=index, **place))
    calls = direct_calls(graph, deploy, replicas, direct) if direct is not None else {}
    return ExecutionPlan(
        name=graph.name,
        graph=graph.fingerprint,
        deploy=deploy,
        replicas=replicas,
        channels=channels_of(graph, deploy, replicas, calls) if direct is not None else [],
        chains=chains_of(calls),
        edges=planned_edges(graph),
    )


def direct_calls(
    graph: Graph,
    deploy: DeploySpec,
    replicas: list[PlannedReplica],
    direct: Callable[[Graph, Edge], bool],
) -> dict[int, tuple[int, int]]:
    """Replica -> (the replica that calls it, number of the edge), for forward neighbours in one worker.

    A chain of calls ends after LONGEST_CHAIN replicas, and a channel leads on."""
    if not deploy.pipelining:
        return {}
    ids = {(replica.actor, replica.index): replica for replica in replicas}
    calls: dict[int, tuple[int, int]] = {}
    length = dict.fromkeys(graph.actors, 1)  # of the chain that ends with an actor
    for edge in graph.edges:  # the consumers come in topological order
        if edge.route != "forward" or length[edge.producer] == LONGEST_CHAIN or not direct(graph, edge):
            continue
        numbers = range(graph.actors[edge.consumer].replicas)
        pairs = [(ids[edge.producer, number], ids[edge.consumer, number]) for number in numbers]
        if all(up.worker == down.worker for up, down in pairs):
            length[edge.consumer] = length[edge.producer] + 1
            calls |= {down.id: (up.id, edge.index) for up, down in pairs}
    return calls


def channels_of(
    graph: Graph, deploy: DeploySpec, replicas: list[PlannedReplica], calls: dict[int, tuple[int, int]]
) -> list[PlannedChannel]:
    """One channel for each pair of replicas that an edge joins and that do not call each other directly.

    The producers of an input share its budget."""
    by_actor: dict[str, list[PlannedReplica]] = {}
    for replica in replicas:
        by_actor.setdefault(replica.actor, []).append(replica)
    found: list[PlannedChannel] = []
    for edge in graph.edges:
        ups = by_actor[edge.producer]
        for up in ups:
            for down in by_actor[edge.consumer]:
                called = calls.get(down.id) == (up.id, edge.index)
                if called or (edge.route == "forward" and up.index != down.index):
                    continue
                budget = deploy.edge_bytes // (1 if edge.route == "forward" else len(ups))
                ends = {"edge": edge.index, "producer": up.id, "consumer": down.id}
                remote = up.worker != down.worker
                found.append(PlannedChannel(id=len(found), **ends, remote=remote, budget=max(budget, 1)))
    return found


def chains_of(calls: dict[int, tuple[int, int]]) -> list[list[int]]:
    """Replicas that run as one, head first, by what `direct_calls` says; in the order of their heads."""
    chains: dict[int, list[int]] = {}
    for called in sorted(calls):
        head = called
        while head in calls:
            head = calls[head][0]
        chains.setdefault(head, [head]).append(called)
    return [chains[head] for head in sorted(chains)]


def find_placement(name: str) -> Placement:
    """The placement of that name; ConfigurationError names those there are."""
    from actorstream.placement import PLACEMENTS

    if name not in PLACEMENTS:
        hint = did_you_mean(name, PLACEMENTS)
        raise ConfigurationError(Problem("deploy.placement", f"is {name!r}", listed(PLACEMENTS), hint))
    return PLACEMENTS[name]
