"""Do the Event classes in the annotations of an actor's hooks fit what its inputs have? Calls no hook.

A hook gets events of the producer's class. What its annotation names must therefore be found in them: fields of the same names
whose values are of the same kind. What cannot be told (an annotation that is not resolved, a union with other types) is right.
"""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any

from actorstream.errors import Problem, SchemaError
from actorstream.events.event import Event
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind
from actorstream.events.schema import Schema
from actorstream.topology.graph import GraphActor
from actorstream.topology.suggestions import listed
from actorstream.topology.written import Written

LIFE_CYCLE = ("start", "timer", "heartbeat", "end", "stop", "failure", "message")
"""Hooks `on_…` of an actor that take no input."""


def check_hook_events(
    actor: GraphActor, paths: list[tuple[str | int, ...]], written: Written, problems: list[Problem]
) -> None:
    """Adds a problem for each input whose rows are not what its event hook is annotated to take. `paths`: of the inputs."""
    for edge, schema, path in zip(actor.inputs, actor.input_schemas, paths):
        found = None if edge.static else _event_hook(actor.cls, edge.name)
        classes = _annotated(actor.cls, found[1]) if found is not None else ()
        misfits = {each: _misfits(each, schema) for each in classes}
        if found is None or not misfits or not all(misfits.values()):
            continue
        nearest = min(misfits, key=lambda each: len(misfits[each]))
        message = f"{actor.cls.__name__}.{found[0]} takes {nearest.__name__}, but {listed(misfits[nearest])}"
        fields = listed(str(field) for field in schema.fields)
        allowed = f"an Event class with some of the fields that {edge.name!r} has: {fields}"
        problems.append(written.problem(path, message, allowed))


def _event_hook(cls: type, label: str) -> tuple[str, Any] | None:
    """Name and function of the hook that takes the events of an input; None: a batch hook takes it, or none does."""
    plain = label.replace(".", "_").replace("-", "_")
    own = [
        name
        for name in (plain, plain.removesuffix("_default"))
        if name not in ("batch", "event", *LIFE_CYCLE)
    ]
    for name in (*(f"on_{name}" for name in own), "on_batch", "on_event"):
        hook = getattr(cls, name, None)
        if hook is not None:
            return (name, hook) if inspect.isfunction(hook) and name != "on_batch" else None
    return None


def _annotated(cls: type, hook: Any) -> tuple[type[Event], ...]:
    """The Event classes that a hook's event may be of; none: its annotation does not say, or allows others."""
    parameters = list(inspect.signature(hook).parameters)[1:2]
    names = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    try:
        annotation = typing.get_type_hints(hook, localns=names).get(parameters[0]) if parameters else None
    except Exception:  # a name that only a type checker knows, or an annotation that is no type
        return ()
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    options = typing.get_args(annotation) if union else (annotation,)
    if all(inspect.isclass(each) and issubclass(each, Event) and each is not Event for each in options):
        return options
    return ()


def _misfits(event: type[Event], schema: Schema) -> list[str]:
    """Finds the reasons why rows of a schema cannot be read as events of a class."""
    try:
        wanted = Schema.of(event)
    except SchemaError:  # a base class without fields of its own, say
        return []
    found = []
    for field in wanted.fields:
        if field.name not in schema:
            found.append(f"the input has no {field.name!r}")
        elif not _reads_as(schema.field(field.name), field):
            found.append(f"the input's {schema.field(field.name)} is not its {field}")
    return found


def _reads_as(has: Field, wanted: Field) -> bool:
    """Whether values of a field may be annotated as another one: an int is a float too, a category a text or an integer."""
    order = (_family(has), _family(wanted))
    return (
        None in order
        or order[0] == order[1]
        or order in (("bool", "int"), ("bool", "float"), ("int", "float"))
    )


def _family(field: Field) -> str | None:
    """The kind of the values in Python; None: it may be any."""
    if field.kind in INTEGERS:
        return "int"
    if field.kind in FLOATS:
        return "float"
    return None if field.kind in (Kind.DICTIONARY, Kind.MSGPACK) else field.kind.value
