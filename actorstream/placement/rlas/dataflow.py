"""The operators that RLAS places and the streams between them: a graph in which each chain of direct calls is one operator.

Pure data. A graph becomes one by `dataflow_of`; the paper's applications are written as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from actorstream.topology.graph import Edge, Graph, GraphActor, topological_order

Count = Annotated[int, Meta(ge=1, description="a whole number of at least 1")]


class Flow(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A stream from one actor to another."""

    producer: str
    """The actor."""
    consumer: str
    output: str = "default"
    route: str = "shuffle"
    """As in a topology: forward and global and broadcast mean what they say, all others spread rows evenly."""
    fetched: bool = True
    """Whether the consumer reads the bytes of its rows; a null sink counts rows and reads none."""

    @property
    def source(self) -> str:
        """ "actor" or "actor.output", as in the topology."""
        return self.producer if self.output == "default" else f"{self.producer}.{self.output}"


class PlannedOperator(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is placed as one: an actor, or a chain whose members call each other directly (operator fusion)."""

    members: list[str]
    """Actors, head first."""
    replicas: Count = 1
    """The number it has, or starts with if it is scalable."""
    scalable: bool = False
    """Whether RLAS may give it more replicas."""
    weight: Annotated[float, Meta(gt=0, description="a number above 0")] = 1.0
    """Of a source: its share of the ingress, relative to the other sources."""
    table: bool = False
    """Whether it is only read as a table before the stream starts, so that it costs nothing while the stream runs."""

    @property
    def name(self) -> str:
        return "+".join(self.members)


class Dataflow(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Operators in topological order, and the flows while the stream runs; those inside an operator are direct calls."""

    name: str
    operators: list[PlannedOperator]
    flows: list[Flow]
    topology: int = 0
    """Fingerprint of the graph; 0: of none."""
    tied: list[list[str]] = []
    """Groups of actors with equal numbers of replicas, whatever plan is made; those of one operator are tied anyway."""

    def operator_of(self) -> dict[str, int]:
        """Actor -> number of its operator."""
        return {actor: number for number, each in enumerate(self.operators) for actor in each.members}

    def equals(self) -> list[list[int]]:
        """Of each operator the numbers of those that have as many replicas as it, itself among them, in ascending order."""
        places = self.operator_of()
        found = [[number] for number in range(len(self.operators))]
        for actors in self.tied:
            equal = sorted({places[actor] for actor in actors})
            for number in equal:
                found[number] = equal
        return found


def dataflow_of(
    graph: Graph,
    *,
    direct: Callable[[Graph, Edge], bool] | None = None,
    scale: bool = False,
    apart: bool = False,
) -> Dataflow:
    """The dataflow of a graph.

    Args:
        direct: whether an edge's consumer may be called by its producer; such operators become one.
        scale: whether operators with a written number of replicas are scalable too, besides those with "auto".
        apart: whether scalable actors are not called by others, nor call them: an operator of both cannot grow. What such a call
            becomes spreads rows evenly."""
    free: dict[str, bool] = {}
    for group in actors_joined(graph, lambda edge: edge.tied):
        free |= dict.fromkeys(group, all(_scalable(graph.actors[name], scale) for name in group))

    def may_call(edge: Edge) -> bool:
        return direct is not None and direct(graph, edge)

    def is_call(edge: Edge) -> bool:
        return may_call(edge) and (not apart or free[edge.producer] == free[edge.consumer])

    groups = actors_joined(graph, lambda edge: edge.tied or is_call(edge))
    group_of = {name: group for group in groups for name in group}
    operators = []
    for chain in actors_joined(graph, is_call):
        scalable = all(free[name] for name in group_of[chain[0]])
        leaving = [edge for name in chain for edge in graph.consumers(name)]
        table = bool(leaving) and all(edge.static for edge in leaving)
        replicas = 1 if scalable else graph.actors[chain[0]].replicas
        operators.append(PlannedOperator(members=chain, replicas=replicas, scalable=scalable, table=table))
    flows = [
        Flow(
            producer=edge.producer,
            consumer=edge.consumer,
            output=edge.output,
            route="shuffle" if may_call(edge) and not is_call(edge) else edge.route,
            fetched=graph.actors[edge.consumer].contract.reads_rows,
        )
        for edge in graph.edges
        if not edge.static
    ]
    operators = in_order(operators, flows)
    return Dataflow(
        name=graph.name, operators=operators, flows=flows, topology=graph.fingerprint, tied=groups
    )


def _scalable(actor: GraphActor, scale: bool) -> bool:
    """Whether an actor by itself may have any number of replicas. `scale`: as in `dataflow_of`."""
    chosen = actor.auto or (scale and actor.role == "operator" and not actor.contract.one_replica)
    return chosen and actor.planning is None


def actors_joined(graph: Graph, joins: Callable[[Edge], bool]) -> list[list[str]]:
    """The graph's actors in groups: each holds those that such edges join, or one actor alone."""
    group: dict[str, list[str]] = {name: [name] for name in graph.actors}
    for edge in graph.edges:
        first, second = group[edge.producer], group[edge.consumer]
        if first is not second and joins(edge):
            first.extend(second)
            group.update(dict.fromkeys(second, first))
    return list({id(each): each for each in group.values()}.values())


def in_order(operators: list[PlannedOperator], flows: list[Flow]) -> list[PlannedOperator]:
    """Operators so that each comes after those that it reads from, else as given."""
    names = {actor: each.name for each in operators for actor in each.members}
    reads: dict[str, list[str]] = {each.name: [] for each in operators}
    for flow in flows:
        if names[flow.producer] != names[flow.consumer]:
            reads[names[flow.consumer]].append(names[flow.producer])
    order, _ = topological_order(reads)
    by_name = {each.name: each for each in operators}
    return [by_name[name] for name in order]
