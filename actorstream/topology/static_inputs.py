"""Static inputs: sources that an actor names in its keys and that are read whole before its first event. Pure.

An actor's class says which keys may name one (`Actor.static_inputs`); the edge is added here, and what would wait for
itself is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actorstream.topology.graph import topological_order
from actorstream.topology.spec import InputSpec

if TYPE_CHECKING:
    from actorstream.errors import Problem
    from actorstream.topology.graph import GraphActor
    from actorstream.topology.spec import ActorSpec, TopologySpec
    from actorstream.topology.written import Written

Statics = dict[str, dict[str, InputSpec]]
"""Actor -> its key -> the input that the key means."""


def input_name(key: str, source: str) -> str:
    """What `self.input` says for a static input: no name that a user can give an input."""
    return f"{key}:{source}"


def static_inputs(
    spec: TopologySpec, actors: Mapping[str, GraphActor], written: Written, problems: list[Problem]
) -> Statics:
    """The static inputs of every actor. The key of one becomes the plain name of its source."""
    found: Statics = {}
    for name, actor in actors.items():
        for key, source in _named(actor.cls, spec.actors[name]).items():
            if source not in spec.actors:
                continue  # no actor: what else it may be is the class's business
            path = ("actors", name, key)
            producer = actors.get(source)
            if producer is not None and producer.role != "source":
                message = f"{source!r} is no source, so it cannot be read whole before the first event"
                problems.append(written.problem(path, message, "a source, or what else the key may be"))
            elif producer is not None and producer.keys.get("repeat") == 0:
                message = (
                    f"{source!r} has repeat = 0 and never ends, but is read whole before the first event"
                )
                problems.append(written.problem(path, message, "a source that ends"))
            actor.keys[key] = source
            each = InputSpec(from_=source, route="broadcast", name=input_name(key, source))
            found.setdefault(name, {})[key] = each
    return found


def check_waits(spec: TopologySpec, statics: Statics, written: Written, problems: list[Problem]) -> None:
    """Adds a problem for sources that would wait for their own end: for a table to end, everybody who reads the table's
    source must go on, so no stream that is held back until then may come from it."""
    before: dict[str, list[str]] = {name: [] for name in spec.actors}
    held: dict[tuple[str, str], tuple[str, str]] = {}
    for name, keys in statics.items():
        for key, each in keys.items():
            for source in _sources_of(spec, name):
                before[source].append(each.actor)
                held.setdefault((each.actor, source), (name, key))
    for cycle in topological_order(before)[1]:
        first, then = cycle[0], cycle[1]
        actor, key = held.get((first, then)) or held[then, first]
        if len(set(cycle)) == 1:
            message = f"{first!r} also feeds the stream that waits until {first!r} has been read whole"
        else:
            message = f"the sources wait for each other to be read whole: {' -> '.join(cycle)}"
        hint = "read the table from a file, or from a second source actor of the same input"
        problems.append(written.problem(("actors", actor, key), message, "a source of its own", hint))


def _named(cls: Any, actor: ActorSpec) -> dict[str, str]:
    says = getattr(cls, "static_inputs", None)
    named = says(actor.keys) if says is not None else {}
    return {key: source for key, source in named.items() if isinstance(source, str)}


def _sources_of(spec: TopologySpec, actor: str) -> list[str]:
    """Sources from which the streams of `actor` come, in written order; static inputs are no streams."""
    seen: dict[str, None] = {}
    waiting = [each.actor for each in spec.actors[actor].inputs]
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in spec.actors:
            continue
        seen[name] = None
        waiting.extend(each.actor for each in spec.actors[name].inputs)
    return [name for name in spec.actors if name in seen and not spec.actors[name].inputs]
