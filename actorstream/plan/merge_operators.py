"""Merge-sort operators, which run the same merge as channels do: one before each instance that merges several channels, to
be compared with these (operator-layer determinism, viper-scalegate section 2.3; `merge = "operator"` in a deployment); or
one for all replicas that get the same rows, by broadcast (`merge = "shared"`).

Rewrites a checked graph before it is placed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.plan.event_time import behind_idle_sources
from actorstream.topology.graph import Edge, Graph, GraphActor, Redrawn
from actorstream.topology.timestamp import TIMESTAMP

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.topology.deploy import DeploySpec

SUFFIX = ".merge"


class MergeSort(Actor):
    """Hands on what it gets, in timestamp order: its input is merged before it sees it."""

    contract: ClassVar[Contract] = Contract(stateless=True, one_stream=True, fusible=False)

    def on_batch(self, batch: Batch) -> Batch:
        return batch


def merged_by_operators(graph: Graph, deploy: DeploySpec) -> Graph:
    """The graph with a merge-sort operator before every instance with timestamp input by several channels, or with one for
    all instances to which such input is broadcast; the same graph if there is none, or the deployment does not ask for
    them.

    Behind a source with an `idle_timeout` channels merge as ever: late rows go to the `.late` of who merges, and who reads
    them asks the actor.

    An actor whose inputs differ in type, or that asks which of them a row came by, gets one operator for each input that
    comes from several replicas, and merges what these give."""
    if deploy.merge in ("channel", "gate") or not any(edge.order == TIMESTAMP for edge in graph.edges):
        return graph
    shared = deploy.merge == "shared"
    with_late = behind_idle_sources(graph)
    made = Redrawn(graph)
    for actor in graph.actors.values():
        inputs: list[Edge] = []
        schemas: list[Any] = []
        for group in _groups(graph, actor, shared):
            schema = actor.input_schemas[group[0].input]
            schemas.append(schema)
            merges = _several(graph, group) and (not shared or _is_shared(actor, group))
            if not merges or actor.name in with_late:
                inputs += group
                continue
            name = f"{actor.name}{SUFFIX}" + (f".{group[0].name}" if group[0].input else "")
            merge = GraphActor(
                name,
                "merge-sort",
                MergeSort,
                "operator",
                {},
                1 if shared else actor.replicas,
                outputs={
                    **dict.fromkeys(("default", "late"), schema),
                    "dead": actor.outputs.get("dead", schema),
                },
                input_schemas=[actor.input_schemas[edge.input] for edge in group],
                timed=True,
                file=actor.file,
                line=actor.line,
            )
            made.add(merge, [replace(edge, consumer=name) for edge in group])
            inputs.append(
                replace(
                    group[0],
                    producer=name,
                    output="default",
                    route="broadcast" if shared else "forward",
                    key=(),
                    bounds=(),
                )
            )
        made.add(replace(actor, input_schemas=schemas), inputs)
    return made.graph()


def _groups(graph: Graph, actor: GraphActor, shared: bool) -> list[list[Edge]]:
    """The inputs of an actor by what one operator may merge."""
    timed = [edge for edge in actor.inputs if edge.order == TIMESTAMP]
    alike = len({graph.schema(edge).user.fingerprint for edge in timed}) == 1
    together = len(timed) == len(actor.inputs) > 1 and alike and actor.contract.one_stream
    if together and (not shared or _is_shared(actor, timed)):
        return [timed]
    return [[edge] for edge in actor.inputs]


def _is_shared(actor: GraphActor, group: list[Edge]) -> bool:
    """Whether several replicas of an actor get all rows of these inputs."""
    return actor.replicas > 1 and all(edge.route == "broadcast" for edge in group)


def _several(graph: Graph, group: list[Edge]) -> bool:
    if group[0].order != TIMESTAMP or group[0].static:
        return False
    return len(group) > 1 or (graph.actors[group[0].producer].replicas > 1 and group[0].route != "forward")
