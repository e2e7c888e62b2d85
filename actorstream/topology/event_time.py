"""Event time through the graph: which actors' rows have one, as a field or by descent, and in which unit. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.errors import Problem
    from actorstream.topology.graph import Edge, GraphActor
    from actorstream.topology.written import Written


def timed_inputs(actor: GraphActor, actors: Mapping[str, GraphActor]) -> list[Edge]:
    """Inputs whose rows have an event time; static inputs are no streams, dead letters have none."""
    return [
        edge
        for edge in actor.inputs
        if not edge.static
        and edge.output != "dead"
        and actors[edge.producer].timed
        and not without_descent(actors[edge.producer], edge.output)
    ]


def without_descent(producer: GraphActor, output: str) -> bool:
    """Whether these rows have no event time, though the rows that their producer takes have: outputs of a program without a
    field for it. They follow from its state, and whether `update` makes them or `update_batch` is up to the run."""
    schema = producer.outputs.get(output)
    return producer.contract.program and schema is not None and schema.event_time is None


def check_event_time(
    actor: GraphActor,
    paths: list[tuple[str | int, ...]],
    actors: Mapping[str, GraphActor],
    written: Written,
    problems: list[Problem],
) -> None:
    """Adds a problem for each input without event time of an actor that needs one. `paths`: of its inputs, by rank."""
    if not actor.contract.uses_event_time:
        return
    timed = timed_inputs(actor, actors)
    for edge in actor.inputs:
        if not edge.static and edge not in timed:
            message = f"the rows of {edge.source!r} have no event time, which {actor.type_name!r} needs"
            hint = 'say event_time = "FIELD" at the source, or annotate the field as EventTime'
            if actors[edge.producer].contract.program:
                hint = f"annotate a field of the rows that {edge.producer!r} emits as EventTime"
            problems.append(written.problem(paths[edge.input], message, "rows with an event time", hint))


def carry_time(actor: GraphActor, actors: Mapping[str, GraphActor]) -> None:
    """Notes whether the actor's rows have an event time; rows that have it by descent have it in their input's unit."""
    inputs = timed_inputs(actor, actors)
    own = any(schema.event_time is not None for name, schema in actor.outputs.items() if name != "dead")
    actor.timed = own or bool(inputs)
    if not inputs:
        return
    unit = actors[inputs[0].producer].outputs[inputs[0].output].time_unit
    for name, schema in actor.outputs.items():
        if schema.event_time is None and schema.time_unit != unit and name != "dead":
            actor.outputs[name] = schema.with_event_time(None, unit)
