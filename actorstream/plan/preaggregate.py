"""Two-step aggregation (AIR section 4.3): puts a local pre-aggregation in front of aggregates that allow it.

Rewrites a checked graph before it is placed: each replica of the producer aggregates what it has, the keyed edge then
carries partial results, and the aggregate merges them. What the local stage finds late, or cannot take, goes where
the aggregate's late rows and dead letters go. `pre_aggregation = false` in a deployment switches it off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from actorstream.plan.event_time import behind_ends, behind_idle_sources
from actorstream.topology.graph import FIRST_STEP, Edge, Graph, GraphActor, Redrawn

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.topology.deploy import DeploySpec

BESIDE = ("late", "dead")
"""Outputs that both steps have."""


def pre_aggregated(graph: Graph, deploy: DeploySpec) -> Graph:
    """The graph with a local stage before every aggregate that offers one; the same graph if there is none."""
    stages = _stages(graph) if deploy.pre_aggregation else {}
    if not stages:
        return graph
    made = Redrawn(graph)
    for actor in graph.actors.values():
        stage = stages.get(actor.name)
        if stage is None:
            inputs, schemas = _inputs(graph, actor, stages)
            made.add(replace(actor, input_schemas=schemas), inputs)
            continue
        cls, keys, schema = stage
        edge = actor.inputs[0]
        local = f"{actor.name}{FIRST_STEP}"
        outputs = {"default": schema, "late": actor.outputs["late"], "dead": actor.outputs["dead"]}
        made.add(
            GraphActor(
                local,
                actor.type_name,
                cls,
                "operator",
                keys,
                graph.actors[edge.producer].replicas,
                auto=graph.actors[edge.producer].auto,
                on_error=actor.on_error,
                outputs=outputs,
                input_schemas=list(actor.input_schemas),
                file=actor.file,
                line=actor.line,
            ),
            [replace(edge, consumer=local, route="forward", key=(), bounds=(), tied=True)],
        )
        merging_cls, merging_keys = actor.cls.second_stage(actor.keys, actor.input_schemas[0])  # type: ignore[attr-defined]
        merging = replace(actor, cls=merging_cls, keys=merging_keys, input_schemas=[schema])
        made.add(merging, [replace(edge, producer=local, output="default", name=local)])
    return made.graph()


def _stages(graph: Graph) -> dict[str, tuple[type, dict[str, Any], Any]]:
    """Aggregate -> class, keys and output schema of its local stage (see Aggregate.local_stage)."""
    found = {}
    # partial results of late rows are no rows that could go out as late
    timed_out = behind_idle_sources(graph) | behind_ends(graph)
    for actor in graph.actors.values():
        if not actor.contract.two_steps or len(actor.inputs) != 1 or actor.inputs[0].order != "none":
            continue
        if actor.name in timed_out:
            continue
        if ":" in actor.inputs[0].route:  # a function, which may read fields that partial results lack
            continue
        if actor.inputs[0].output in BESIDE:  # these come from both steps of the aggregate before
            continue
        stage = actor.cls.local_stage(actor.keys, actor.input_schemas[0])  # type: ignore[attr-defined]
        if stage is not None:
            found[actor.name] = stage
    return found


def _inputs(graph: Graph, actor: GraphActor, stages: dict[str, Any]) -> tuple[list[Edge], list[Schema]]:
    """The inputs of an actor and their schemas; late rows and dead letters of an aggregate also come from its local stage."""
    inputs: list[Edge] = []
    schemas: list[Schema] = []
    for edge, schema in zip(actor.inputs, actor.input_schemas):
        inputs.append(edge)
        schemas.append(schema)
        if edge.output in BESIDE and edge.producer in stages:
            local = graph.actors[graph.actors[edge.producer].inputs[0].producer].replicas
            route = "shuffle" if edge.route == "forward" and local != actor.replicas else edge.route
            inputs.append(replace(edge, producer=f"{edge.producer}{FIRST_STEP}", route=route, tied=False))
            schemas.append(schema)
    return inputs, schemas
