"""Is a program's table right, and what it reads? The keys that only a `dgs.Program` has, and `order = "dependency"`. What a
program itself says is asked through its class; of files it is only looked whether they are there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.topology.conversion import shown
from actorstream.topology.dependency import Planning
from actorstream.topology.spec import ActorSpec, InputSpec
from actorstream.topology.suggestions import did_you_mean
from actorstream.topology.written import Written

if TYPE_CHECKING:
    from actorstream.errors import Problem
    from actorstream.topology.graph import GraphActor

KEYS = ("plan", "plan_workers")
"""Keys that are reserved in a program's table, besides those of every actor."""
ROUTE = "tag"
"""How rows find the worker of a plan: by implementation tag."""
FILES = (".toml", ".json")


def is_program(cls: type) -> bool:
    """Whether the class is a `dgs.Program`."""
    return bool(cls.contract.program)  # type: ignore[attr-defined]


def take_planning(
    actor: ActorSpec, cls: type, written: Written, problems: list[Problem]
) -> tuple[ActorSpec, Planning | None]:
    """The table without the keys of the plan, and what they say; None for an actor that is no program."""
    if not is_program(cls):
        return actor, None
    path = ("actors", actor.name)
    own = {key: value for key, value in actor.keys.items() if key not in KEYS}
    plan, workers = actor.keys.get("plan", "communication"), actor.keys.get("plan_workers", "auto")
    names: Collection[str] = cls.plans  # type: ignore[attr-defined]
    if not isinstance(plan, str) or not (plan in names or plan.endswith(FILES)):
        allowed = f"{', '.join(names)}, or a file with a tree (.toml, .json)"
        hint = did_you_mean(plan, names) if isinstance(plan, str) else ""
        problems.append(written.problem((*path, "plan"), f"is {shown(plan)}", allowed, hint))
        plan = "communication"
    elif plan not in names:
        file = written.base((*path, "plan")) / plan
        if not file.is_file():
            allowed = f"{', '.join(names)}, or a file with a tree, which `actorstream plan --json` prints under trees"
            problems.append(written.problem((*path, "plan"), f"there is no file {str(file)!r}", allowed))
        plan = str(file)
    if workers == "auto":
        workers = None
    elif isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 4096:
        allowed = '"auto" (as many as there are processes), or a whole number from 1 to 4096'
        problems.append(written.problem((*path, "plan_workers"), f"is {shown(workers)}", allowed))
        workers = None
    if actor.replicas != 1:
        message = f"is {shown(actor.replicas)}, but the workers of a program are those of its plan"
        problems.append(written.problem((*path, "replicas"), message, "no replicas", "say plan_workers"))
    if actor.on_error != "fail":
        message = (
            f"is {shown(actor.on_error)}, and what an event that raises has changed would stay in the state"
        )
        hint = "catch what may be raised in `update`, and emit what is to be known of it"
        problems.append(written.problem((*path, "on_error"), message, '"fail", for a program', hint))
    return msgspec.structs.replace(actor, keys=own), Planning(plan, workers)


def check_dependency(
    actor: GraphActor,
    each: InputSpec,
    producer: GraphActor | None,
    path: tuple[str | int, ...],
    written: Written,
    problems: list[Problem],
) -> None:
    """Adds what is wrong with one input: dependency order is for programs, and programs have no other."""
    program = is_program(actor.cls)
    if each.order == "dependency" and not program:
        message = f'is "dependency", and {actor.type_name!r} is no dgs.Program'
        allowed = "none, serial or timestamp"
        problems.append(written.problem((*path, "order"), message, allowed, "see docs/dgs.md for programs"))
    if not program:
        return
    if each.order != "dependency":
        message = f"is {shown(each.order)}, and {actor.type_name!r} is a dgs.Program"
        problems.append(written.problem((*path, "order"), message, '"dependency"'))
    for key, value in (("route", each.route), ("key", each.key), ("bounds", each.bounds)):
        if value:
            message = f"is {shown(value)}, but the program's tags say which worker gets a row"
            problems.append(written.problem((*path, key), message, f"no {key}"))
    if producer is not None and (producer.role != "source" or each.output != "default"):
        message = f"reads {each.from_!r}, which is no source: its rows have no streams that a plan could be made for"
        hint = "do in `update` what the operator does, or let the program read the source beside it"
        problems.append(written.problem(path, message, "the rows of a source", hint))
    elif producer is not None and producer.keys.get("idle_timeout") is not None:
        message = (
            f"reads {each.from_!r}, which has an idle_timeout: events that it sends later would be too late"
        )
        hint = "let the source promise what it can while it waits (`lower_bound`, or `clocked`), heartbeats carry it"
        problems.append(written.problem(path, message, "sources without idle_timeout, for a program", hint))


def check_program(
    actor: GraphActor, paths: Mapping[str, tuple[str | int, ...]], written: Written, problems: list[Problem]
) -> None:
    """Adds what a program says is wrong with itself and its inputs. `paths`: of its inputs by name."""
    units = {
        edge.name: schema.time_unit
        for edge, schema in zip(actor.inputs, actor.input_schemas)
        if schema.event_time
    }
    if len(set(units.values())) > 1:
        said = ", ".join(f"{name!r} in {unit}" for name, unit in units.items())
        hint = "say time_unit at the sources"
        message = f"its inputs have their event times in different units: {said}"
        problems.append(written.problem(("actors", actor.name), message, "one unit for all", hint))
    schemas = {edge.name: schema for edge, schema in zip(actor.inputs, actor.input_schemas)}
    check: Any = actor.cls.check_inputs  # type: ignore[attr-defined]
    try:
        found: Iterable[Problem] = check(actor.keys, schemas)
    except Exception as error:  # the program's code: its constructor, `depends`
        problems.append(
            written.problem(("actors", actor.name), f"{actor.type_name} raised {error!r} when it was made")
        )
        return
    for problem in found:
        path = paths.get(problem.where, ("actors", actor.name))
        problems.append(written.problem(path, problem.message, problem.allowed, problem.hint))
