"""What is wrong with a program, as far as it can be told without running it (dgs-flumina Definition 2.1). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.dgs.dependence import Dependence
from actorstream.dgs.signatures import problems_of_methods
from actorstream.dgs.tagging import Every, Tagging
from actorstream.dgs.tags import ImplementationTag
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.fields import INTEGERS, Kind
from actorstream.events.schema import Schema

if TYPE_CHECKING:
    from actorstream.dgs.program import Program
    from actorstream.dgs.tags import Tag

SAMPLE = (0, 1, 2)
"""Keys that `depends` is asked about where they are only found by reading the input."""


def problems_of(program: Program, inputs: Mapping[str, Schema]) -> list[Problem]:
    """Everything that is wrong. `where` is the name of an input, or ""."""
    from actorstream.dgs.program import Program  # which imports this only when it is asked

    methods = [*problems_of_methods(program, Program)]
    found = [*_tags(program)]
    if found:
        return found + methods
    found = [*_inputs(program, inputs), *methods, *_states(program), *_forks(program), *_additive(program)]
    if not found:
        found += _first_state(program, Program)
    if not found:
        found += _dependence(program)
    return found


def _tags(program: Program) -> Iterator[Problem]:
    allowed = 'input -> how its rows map to tags: {"barriers": "barrier", "views": keyed("view", "page")}'
    if not isinstance(program.tags, Mapping):
        yield Problem("", f"its tags are {program.tags!r}", allowed)
        return
    for name, how in program.tags.items():
        if not isinstance(how, str | Tagging | Every) or how == "":
            yield Problem(
                "", f"its tags have {how!r} for {name!r}", "a tag's name, by(...), keyed(...) or every(...)"
            )


def _first_state(program: Program, base: type) -> Iterator[Problem]:
    """`State()` is tried unless there is an `init`, which may do anything."""
    name = program.state_types().initial
    if type(program).init is not base.init:  # type: ignore[attr-defined]
        return
    if not hasattr(program, "State"):
        yield Problem("", f"it has no class State, and {name!r} is not made", "a class State, or init()")
        return
    try:
        program.init()
    except Exception as error:
        message = f"it begins with State(), which raised {error!r}"
        yield Problem("", message, "a default for each field of the state, or init()")


def _inputs(program: Program, inputs: Mapping[str, Schema]) -> Iterator[Problem]:
    taggings = program.taggings()
    for name, schema in inputs.items():
        tagging = taggings.get(name)
        if tagging is None:
            known = ", ".join(map(repr, taggings)) or "none"
            hint = 'give the input one of these names: { from = "...", name = "..." }'
            yield Problem(name, f"the program has no tags for an input {name!r}", known, hint)
            continue
        for column in tagging.columns:
            if column not in schema:
                fields = ", ".join(map(repr, schema.names()))
                yield Problem(
                    name, f"its tags are told by {column!r}, which {schema.name} does not have", fields
                )
        if tagging.key in schema and not _can_be_key(schema, tagging.key, hashed=bool(tagging.classes)):
            allowed = "an integer or text" if not tagging.classes else "an integer, text or bytes"
            yield Problem(name, f"the key of its tags is {schema.field(tagging.key)}", f"{allowed}, not null")


def _can_be_key(schema: Schema, name: str, *, hashed: bool) -> bool:
    field = schema.field(name)
    kinds = {Kind.STRING, *INTEGERS} | ({Kind.BYTES} if hashed else {Kind.DICTIONARY})
    return field.kind in kinds and not field.nullable


def _states(program: Program) -> Iterator[Problem]:
    types = program.state_types()
    for name in types.handles:
        try:
            strange = _strange(msgspec.inspect.type_info(program.state_class(name)), set())
        except ConfigurationError:
            yield Problem("", f"state type {name!r} has no class", "a class of that name inside the program")
        except Exception as error:  # an annotation is any expression, so resolving it may raise anything
            yield Problem("", f"state type {name!r} cannot be resolved: {error}", "annotations that can be")
        else:
            if strange is not None:
                allowed = "what msgpack can carry, and NumPy arrays"
                yield Problem(
                    "", f"states of type {name!r} hold a {strange.__name__}, which cannot be sent", allowed
                )
    tags = {tag for tagging in program.taggings().values() for tag in tagging.tags(SAMPLE)} | set(
        program.ticks()
    )
    refused = sorted(str(tag) for tag in tags if not types.handles[types.initial](tag))
    if refused:
        message = f"a state of type {types.initial!r}, the first, does not process {', '.join(refused[:5])}"
        yield Problem("", message, "every tag: the initial state is of this type")


def _strange(info: Any, seen: set[int]) -> type | None:
    """A type somewhere in a state that msgpack does not know, and that is no array; None: there is none."""
    if isinstance(info, msgspec.inspect.CustomType):
        return None if issubclass(info.cls, np.ndarray) else info.cls
    if id(info) in seen or not isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field):
        return None
    seen.add(id(info))
    for name in info.__struct_fields__:
        value = getattr(info, name)
        for each in value if isinstance(value, tuple) else (value,):
            found = _strange(each, seen)
            if found is not None:
                return found
    return None


def _forks(program: Program) -> Iterator[Problem]:
    known = program.state_types().handles
    if hasattr(program, "fork") != hasattr(program, "join") and not program.forks:
        there, missing = ("fork", "join") if hasattr(program, "fork") else ("join", "fork")
        yield Problem(
            "", f"it defines {there} and no {missing}", "both, or neither (then it runs on one worker)"
        )
    for fork, names in program.fork_methods().items():
        for name in fork:
            if name not in known:
                yield Problem("", f"forks has a state type {name!r}", ", ".join(map(repr, known)))
        for name in names:
            if not callable(getattr(program, name, None)):
                yield Problem("", f"forks has a method {name!r}", "methods of the program")


def _additive(program: Program) -> Iterator[Problem]:
    if not program.additive:
        return
    tags = {tag for tagging in program.taggings().values() for tag in tagging.tags(SAMPLE)} | set(
        program.ticks()
    )
    names = {tag.name for tag in tags}
    if not callable(program.additive):
        for name in sorted({program.additive} if isinstance(program.additive, str) else {*program.additive}):
            if name not in names:
                yield Problem("", f"additive has a tag {name!r}", ", ".join(map(repr, sorted(names))))
    for name, handles in program.state_types().handles.items():
        if any(program.adds(tag) and handles(tag) for tag in tags):
            try:
                program.state_class(name)()
            except TypeError as error:
                message = f"additive tags begin with an empty {name}, and {name}() fails: {error}"
                yield Problem("", message, "a default for each field of the state")


def _dependence(program: Program) -> list[Problem]:
    tags: set[Any] = set(program.ticks())
    for tagging in program.taggings().values():
        tags |= set(tagging.tags(SAMPLE)[:64])
    asked: tuple[Any, ...] = ()

    def depends(one: Tag, other: Tag) -> bool:
        nonlocal asked
        asked = one, other
        return program.depends(one, other)

    try:
        Dependence([ImplementationTag(tag) for tag in tags], depends, type(program).__name__)
    except ConfigurationError as error:
        return [
            Problem("", f"{each.where}: {each.message}", each.allowed, each.hint) for each in error.problems
        ]
    except Exception as error:
        message = f"depends({', '.join(map(str, asked))}) raised {error!r}"
        hint = "a tag has a name, and a key, which is None unless `tags` says one"
        return [Problem("", message, "True or False, for any two tags of the program", hint)]
    return []
