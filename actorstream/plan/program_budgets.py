"""What part of `edge_bytes` each channel into a program's workers gets. Pure; only planned channels are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.topology.dependency import DependencyPlan
    from actorstream.topology.graph import Edge, Graph
    from actorstream.topology.plan import ExecutionPlan, PlannedChannel


def shared_out(graph: Graph, plan: ExecutionPlan, programs: Sequence[DependencyPlan]) -> list[PlannedChannel]:
    """The channels of a plan. The producers of a program's input share the budget of a worker as far as they bring rows
    that it is responsible for; on other channels there are only marks and promises."""
    of = {each.actor: each for each in programs}
    replicas, edges = plan.replicas, {edge.index: edge for edge in graph.edges}
    found = []
    for channel in plan.channels:
        edge = edges[channel.edge]
        program = of.get(edge.consumer)
        if program is not None:
            bring = _who_bring(
                program, edge, replicas[channel.consumer].index, graph.actors[edge.producer].replicas
            )
            mine = replicas[channel.producer].index in bring
            budget = max(1, plan.deploy.edge_bytes // len(bring)) if mine else 1
            channel = msgspec.structs.replace(channel, budget=budget)
        found.append(channel)
    return found


def _who_bring(program: DependencyPlan, edge: Edge, worker: int, replicas: int) -> set[int]:
    """The replicas of a producer that bring rows of one of a worker's tags."""
    streams = {program.tags[tag].stream for tag in program.workers[worker].tags}
    found: set[int] = set()
    for number in streams:
        stream = program.streams[number]
        if number >= 0 and stream.input == edge.name:
            found.update(range(replicas) if stream.partition < 0 else (stream.partition % replicas,))
    return found
