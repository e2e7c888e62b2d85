"""An actor's keys against its constructor: all known, none missing, each of its annotated type. Pure."""

from __future__ import annotations

import functools
import inspect
import typing
from typing import Any

import msgspec
from msgspec.structs import replace

from actorstream.errors import Problem
from actorstream.topology.conversion import MismatchError, allowed_by, convert
from actorstream.topology.decode import mismatched, unknown_key
from actorstream.topology.programs import KEYS, is_program
from actorstream.topology.spec import RESERVED, ActorSpec
from actorstream.topology.suggestions import listed, nearest
from actorstream.topology.written import Written


class Keyword(msgspec.Struct, frozen=True):
    """One keyword of an actor's constructor."""

    name: str
    annotation: Any
    required: bool
    default: Any = None


class UnresolvedError(Exception):
    """An annotation of a constructor cannot be resolved."""


def constructor_keywords(cls: type) -> tuple[dict[str, Keyword], bool]:
    """The keywords that `cls(...)` takes, those of `**keys: Unpack[SomeTypedDict]` among them, and whether it takes any
    other (`**kwargs`). A `**kwargs` goes on to the next constructor, so its keywords are of the types that this one says.

    UnresolvedError names the annotation that cannot be resolved."""
    return _keywords_of(cls)


@functools.lru_cache
def _keywords_of(cls: type) -> tuple[dict[str, Keyword], bool]:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}, False
    signature = inspect.signature(cls)
    hints = _annotations(cls)
    found: dict[str, Keyword] = {}
    others = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            unpacked = _unpacked(hints.get(name))
            others = not unpacked
            found = found | {
                name: each for name, each in (unpacked or _passed_on(cls)).items() if name not in found
            }
        elif parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY):
            required = parameter.default is inspect.Parameter.empty
            found[name] = Keyword(
                name, hints.get(name, Any), required, None if required else parameter.default
            )
    return found, others


def check_keywords(
    actor: ActorSpec, cls: type, written: Written, problems: list[Problem]
) -> tuple[dict[str, Any], bool]:
    """The keys of `actor`, converted, and whether they suffice to make one (even if there are more)."""
    path = ("actors", actor.name)
    try:
        keywords, others = constructor_keywords(cls)
    except UnresolvedError as error:
        hint = "import the types it names at module level, not only under TYPE_CHECKING"
        problems.append(
            written.problem((*path, "type"), str(error), "annotations that can be resolved", hint)
        )
        return {}, False
    enough = True
    reserved = (*RESERVED, *KEYS) if is_program(cls) else RESERVED
    for name in reserved:
        if name in keywords:
            message = f"{cls.__name__}.__init__ has a keyword {name!r}, which is reserved"
            problems.append(
                written.problem((*path, "type"), message, f"keywords other than {listed(reserved)}")
            )
            enough = enough and not keywords[name].required
    values: dict[str, Any] = {}
    unknown = [key for key in actor.keys if key not in keywords]
    for key, value in actor.keys.items():
        keyword = keywords.get(key)
        if keyword is not None:
            try:
                values[key] = _converted(value, keyword, written, (*path, key))
            except MismatchError as mismatch:
                problems.append(mismatched(mismatch, (*path, key), written))
                enough = False
        elif others:
            values[key] = value
    allowed = [name for name in keywords if name not in reserved]
    if unknown and not others:
        problems.extend(unknown_key(key, [*allowed, *reserved], (*path, key), written) for key in unknown)
    for keyword in keywords.values():
        if keyword.required and keyword.name not in actor.keys and keyword.name not in reserved:
            enough = False
            if not others and nearest(keyword.name, unknown):
                continue  # the misspelt key is a problem already, and its hint names this one
            problems.append(
                written.problem((*path, keyword.name), "is missing", allowed_by(keyword.annotation))
            )
    return values, enough


def _converted(value: Any, keyword: Keyword, written: Written, path: tuple[str | int, ...]) -> Any:
    if value is None and keyword.default is None and not keyword.required:
        return None
    return convert(value, keyword.annotation, written.base_within(path))


def _passed_on(cls: type) -> dict[str, Keyword]:
    """The keywords of the constructor that the one of `cls` overrides. It may give them itself, so none is required."""
    constructors = (base for base in cls.__mro__ if "__init__" in vars(base))
    next(constructors)
    try:
        found, _ = _keywords_of(next(constructors, object))
    except (UnresolvedError, ValueError):  # a constructor in C may say nothing of its keywords
        return {}
    return {name: replace(keyword, required=False) for name, keyword in found.items()}


def _unpacked(annotation: Any) -> dict[str, Keyword]:
    """The keywords of `Unpack[SomeTypedDict]` (PEP 692); none of another annotation."""
    if typing.get_origin(annotation) is not typing.Unpack:
        return {}
    (keys,) = typing.get_args(annotation)
    plain, whole = typing.get_type_hints(keys), typing.get_type_hints(keys, include_extras=True)
    found = {}
    for name, hint in plain.items():
        # a marker that is an annotation of text does not reach __required_keys__
        marker = typing.get_origin(whole[name])
        required = marker is typing.Required or (
            name in keys.__required_keys__ and marker is not typing.NotRequired
        )
        found[name] = Keyword(name, hint, required, inspect.Parameter.empty)
    return found


def _annotations(cls: type) -> dict[str, Any]:
    constructor: Any = cls.__init__  # type: ignore[misc]
    holder = constructor if inspect.isfunction(constructor) else cls
    try:
        return typing.get_type_hints(holder, include_extras=True)
    except Exception as error:  # an annotation is any expression, so resolving it may raise anything
        raise UnresolvedError(
            f"an annotation of {cls.__name__}.__init__ cannot be resolved: {error}"
        ) from error
