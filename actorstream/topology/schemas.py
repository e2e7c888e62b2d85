"""Schemas through the graph: what an actor's outputs look like, given its inputs; and its own checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorstream.errors import ActorstreamError, ConfigurationError, Problem, SchemaError
from actorstream.events.schema import Schema
from actorstream.topology.graph import GraphActor
from actorstream.topology.modules import NotFoundError, load_object
from actorstream.topology.spec import ActorSpec
from actorstream.topology.written import Written

DEAD = {"event": "str", "error": "str", "operator": "str"}
"""Fields of a dead letter."""


def dead_letters() -> Schema:
    """The schema of every actor's output `dead`."""
    return Schema.from_dict(DEAD, name="DeadLetter")


def output_schemas(
    spec: ActorSpec,
    actor: GraphActor,
    written: Written,
    problems: list[Problem],
    given: Mapping[str, Schema] | None = None,
) -> dict[str, Schema]:
    """Output -> schema: declared in the topology, else by the class; and `late` and `dead`.

    `given`: what `output_types` returns on a host that has the actor's files.

    Raises whatever the class's `output_types` raises (SchemaError, a file that is missing, ...)."""
    found: dict[str, Schema] = {}
    cls: Any = actor.cls
    if given is None:
        types: Mapping[str, Any] = cls.output_types(actor.keys, list(actor.input_schemas))
    else:
        types = {**given, **getattr(cls, "outputs", {})}
    for name, kind in types.items():
        if name not in spec.outputs:
            found[name] = Schema.of(kind)
    for name, declared in spec.outputs.items():
        try:
            found[name] = _declared(declared, f"{actor.name}.{name}")
        except (SchemaError, NotFoundError) as error:
            allowed = 'an Event class as "package.module:Name", or { field = "type" }'
            hint = error.hint if isinstance(error, NotFoundError) else ""
            problems.append(
                written.problem(("actors", actor.name, "outputs", name), str(error), allowed, hint)
            )
    if "late" not in found:
        late = actor.input_schemas[0] if actor.input_schemas else found.get("default")
        if late is not None:
            found["late"] = late
    found["dead"] = dead_letters()
    return found


def possible_outputs(spec: ActorSpec, actor: GraphActor) -> set[str] | None:
    """The outputs that an actor may have, whatever its inputs are; None: its class does not say."""
    says = getattr(actor.cls, "output_names", None)
    if says is None or _own_since(actor.cls, "output_types") < _own_since(actor.cls, "output_names"):
        return None
    try:
        return {*says(actor.keys), *spec.outputs, "late", "dead"}
    except Exception:  # keys that are wrong, which is reported already
        return None


def told_fields(spec: ActorSpec, actor: GraphActor, output: str) -> Schema | None:
    """The fields of an output that hang on nothing before the actor: declared in the topology, or by its class alone. For
    what can be checked although its inputs are not known, since something is wrong there; None: they hang on it."""
    if actor.outputs:
        return None
    try:
        if output in spec.outputs:
            return _declared(spec.outputs[output], f"{actor.name}.{output}")
        kind = actor.cls.output_types(actor.keys, []).get(output)  # type: ignore[attr-defined]
        return None if kind is None else Schema.of(kind)
    except Exception:  # it wants to know its inputs, or its keys are wrong, which is reported already
        return None


def _own_since(cls: type, name: str) -> int:
    """How many classes up its bases a class finds the attribute; it must have it."""
    return next(steps for steps, base in enumerate(cls.__mro__) if name in vars(base))


def keyed_by(actor: GraphActor, number: int) -> tuple[tuple[str, ...] | None, str]:
    """What `Actor.keyed_by` says of input `number`, and what is wrong with it: it is a class method, or the same for all
    inputs as an attribute."""
    says: Any = getattr(actor.cls, "keyed_by", ())
    try:
        found = says(actor.keys, number) if callable(says) else says
    except Exception as error:  # an outside class's code
        return (), f"its keyed_by raised {error!r}"
    if isinstance(found, str):
        return (found,), ""
    if found is None:
        return None, ""
    if isinstance(found, list | tuple) and all(isinstance(name, str) for name in found):
        return tuple(found), ""
    return (), f"its keyed_by is {found!r}"


def check_contract(actor: GraphActor, written: Written, problems: list[Problem]) -> bool:
    """Whether the actor's class has a contract for its keys; adds what is wrong with it."""
    try:
        found: object = actor.contract
        what = f"its contract_of returned {found!r}"
    except Exception as error:  # an outside class's code
        found, what = None, f"its contract_of raised {error!r}"
    if isinstance(found, type(actor.cls.contract)):  # type: ignore[attr-defined]
        if actor.replicas > 1 and found.alone:
            problems.append(
                written.problem(("actors", actor.name, "replicas"), f"is {actor.replicas}", "1", found.alone)
            )
        return True
    problems.append(written.problem(("actors", actor.name), what, "an actorstream.Contract"))
    return False


def check_class(actor: GraphActor, written: Written, problems: list[Problem]) -> None:
    """Adds what the actor's class finds wrong with its keys: a missing file, a field it lacks."""
    check: Any = getattr(actor.cls, "check", None)
    if check is None:
        return
    try:
        found: list[Problem] = check(actor.keys, list(actor.input_schemas), written.folder)
    except ConfigurationError as error:
        found = error.problems
    except OSError as error:
        what = f"{str(error.filename)!r} cannot be looked at: {error.strerror}"
        problems.append(
            written.problem(("actors", actor.name), what, "paths that this user may read or write")
        )
        return
    except Exception as error:  # an outside class's code
        what = str(error) if isinstance(error, ActorstreamError) else repr(error)
        problems.append(written.problem(("actors", actor.name), f"its check raised {what}"))
        return
    for problem in found:
        path = _path_of(problem.where, actor.name)
        own = written.problem(path, problem.message, problem.allowed, problem.hint)
        problems.append(own)


def _path_of(where: str, actor: str) -> tuple[str | int, ...]:
    """The key path of a problem that a class reports: ``path``, ``window.size``, ``inputs.1`` or ``actors.NAME.path``."""
    steps: list[str | int] = [step for step in where.removeprefix(f"actors.{actor}").split(".") if step]
    if len(steps) > 1 and steps[0] == "inputs":
        steps[1] = int(steps[1])
    return ("actors", actor, *steps) if steps != [actor] else ("actors", actor)


def _declared(kind: Any, name: str) -> Schema:
    if isinstance(kind, str):
        return Schema.of(load_object(kind, noun="Event class"))
    return Schema.from_dict(kind, name=name) if isinstance(kind, dict) else Schema.of(kind)
