"""Programs of a graph tried on random events, for `actorstream check`: examples that break Definition 2.3 of dgs-flumina."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from actorstream.dgs.consistency.conditions import Violation
    from actorstream.topology.graph import Graph

INSTALL = "pip install 'actorstream[test]'"


class Tried(NamedTuple):
    """What came of it, by names of actors."""

    broken: dict[str, list[Violation]]
    """Conditions that a program breaks."""
    refused: dict[str, str]
    """What a program put out that its class does not allow, whatever the events are."""
    notes: list[str]
    """For the user. An exception of a program's own code is one: random events may be none that it is made for."""


def try_programs(graph: Graph, examples: int) -> Tried:
    """Tries each program of a graph on so many random examples."""
    programs = [actor for actor in graph.actors.values() if actor.planning is not None]
    if not programs or not examples:
        return Tried({}, {}, [])
    from actorstream.dgs.outputs import OutputError

    try:
        from actorstream.dgs.consistency.check import find_violations
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        names = ", ".join(actor.name for actor in programs)
        return Tried(
            {}, {}, [f"{names}: not tested for consistency, hypothesis makes the examples: {INSTALL}"]
        )
    tried = Tried({}, {}, [])
    for actor in programs:
        program = actor.make()
        events = {edge.name: schema.event_class() for edge, schema in zip(actor.inputs, actor.input_schemas)}
        absent = program.taggings().keys() - events.keys()  # tags of inputs that this topology does not have
        program.tags = {name: how for name, how in program.tags.items() if name not in absent}
        try:
            violations = find_violations(program, events, examples=examples)
        except OutputError as error:
            tried.refused[actor.name] = str(error)
            continue
        except Exception as error:  # the program's code, on events that a user would not send
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            hint = "test it with check_program and events of your own (docs/dgs.md)"
            tried.notes.append(
                f"{actor.name}: not tested for consistency, it raised on a random event: {what}; {hint}"
            )
            continue
        if violations:
            tried.broken[actor.name] = violations
        else:
            tried.notes.append(f"{actor.name}: consistent in {examples} random examples (C1, C2, C3)")
    return tried
