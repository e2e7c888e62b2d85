"""What `actorstream check` finds out about programs by trying them: examples that break Definition 2.3 of dgs-flumina."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.dgs.consistency import Violation
    from actorstream.topology.graph import Graph

INSTALL = "pip install 'actorstream[test]'"


def try_programs(graph: Graph, examples: int) -> tuple[dict[str, list[Violation]], list[str]]:
    """For each program of a graph the conditions that it breaks, and notes for the user.

    An exception of a program's own code is a note too: random events may be none that it is made for."""
    programs = [actor for actor in graph.actors.values() if actor.planning is not None]
    if not programs or not examples:
        return {}, []
    try:
        from actorstream.testing.program import find_violations
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        names = ", ".join(actor.name for actor in programs)
        return {}, [f"{names}: not tested for consistency, hypothesis makes the examples: {INSTALL}"]
    found: dict[str, list[Violation]] = {}
    notes: list[str] = []
    for actor in programs:
        program = actor.make()
        events = {edge.name: schema.event_class() for edge, schema in zip(actor.inputs, actor.input_schemas)}
        absent = program.taggings().keys() - events.keys()  # tags of inputs that this topology does not have
        program.tags = {name: how for name, how in program.tags.items() if name not in absent}
        try:
            violations = find_violations(program, events, examples=examples)
        except Exception as error:  # the program's code, on events that a user would not send
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            hint = "test it with check_program and events of your own (docs/dgs.md)"
            notes.append(
                f"{actor.name}: not tested for consistency, it raised on a random event: {what}; {hint}"
            )
            continue
        if violations:
            found[actor.name] = violations
        else:
            notes.append(f"{actor.name}: consistent in {examples} random examples (C1, C2, C3)")
    return found, notes
