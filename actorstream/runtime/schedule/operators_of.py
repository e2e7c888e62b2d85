"""Makes the operators that a process's scheduler sees of its units. Runs once, before the first event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.scheduling.base import Operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.plan.job import Job
    from actorstream.runtime.unit import Unit


def operators_of(job: Job, units: Sequence[Unit]) -> tuple[list[Operator], dict[int, Operator]]:
    """The operators in topological order, and that of each unit by the unit's identity.

    An operator is an actor with the neighbours that it calls directly; its replicas here are its partitions."""
    by_head: dict[str, list[Unit]] = {}
    for unit in units:
        by_head.setdefault(unit.head.name, []).append(unit)
    heads = {member.name: unit.head.name for unit in units for member in unit.members}
    numbers = {name: index for index, name in enumerate(by_head)}
    operators = []
    for name, own in by_head.items():
        upstream = _upstream(job, name, heads, numbers)
        operators.append(Operator(name, numbers[name], limit=len(own), upstream=upstream))
    return operators, {id(unit): operators[numbers[name]] for name, own in by_head.items() for unit in own}


def _upstream(job: Job, name: str, heads: dict[str, str], numbers: dict[str, int]) -> list[tuple[int, float]]:
    """The operators of this process that feed an operator, with their shares. All outputs of an actor count alike."""
    found = []
    for edge in job.graph.actors[name].inputs:
        if edge.static or edge.producer not in heads or heads[edge.producer] == name:
            continue
        outputs = {each.output for each in job.graph.consumers(edge.producer) if not each.static}
        found.append((numbers[heads[edge.producer]], 1.0 / len(outputs)))
    return found
