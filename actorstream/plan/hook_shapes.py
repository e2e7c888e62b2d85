"""Which hook of an actor takes an input, and what hooks return, by their signatures. Calls none."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from actorstream.actors.actor import Actor, event_hooks
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event

_SEVERAL = frozenset((list, tuple, types.GeneratorType))
"""Types of results that are gathered item by item."""


def hook_for(actor: Actor, input_name: str) -> tuple[Callable[..., Any], bool]:
    """The hook that takes `input_name`, and whether it takes batches: on_NAME, else on_batch, else on_event."""
    plain = input_name.replace(".", "_").replace("-", "_")
    own = event_hooks(type(actor))  # not on_end, because an actor upstream is called "end"
    for name in (plain, plain.removesuffix("_default")):
        if name in own and name not in ("batch", "event"):
            hook = getattr(actor, f"on_{name}")
            return hook, _wants_batch(hook)
    if hasattr(actor, "on_batch"):
        return actor.on_batch, True
    if hasattr(actor, "on_event"):
        return actor.on_event, False
    raise OperatorError(
        type(actor).__name__,
        0,
        f"has no hook for input {input_name!r}; define on_event, on_batch or on_{plain}",
    )


def _wants_batch(hook: Callable[..., Any]) -> bool:
    try:
        hints = typing.get_type_hints(hook)
    except (NameError, TypeError):
        return False
    return any(hint is Batch for name, hint in hints.items() if name != "return")


def is_async(hook: Callable[..., Any]) -> bool:
    """Whether a hook must be awaited."""
    return inspect.iscoroutinefunction(hook) or inspect.isasyncgenfunction(hook)


def shape_of(hook: Callable[..., Any]) -> str:
    """What a sync event hook returns: "generator", "one", "single" (or None), "many", "nothing"; "": look at it."""
    return "generator" if inspect.isgeneratorfunction(hook) else _annotated_shape(hook)


def _nested(hook: Callable[..., Any]) -> dict[str, Any]:
    """The names in the classes that a method is found in: a program's `update` is annotated with its class `State`."""
    mro = type(getattr(hook, "__self__", None)).__mro__
    return {name: value for base in reversed(mro) for name, value in vars(base).items()}


def collector(shape: str) -> Callable[[list[Any], Iterable[Any]], None]:
    """How what hooks of a shape have returned is gathered into a list: single, many, or decided by a look at each."""
    if shape == "one":
        return list.extend
    if shape in ("single", "nothing"):
        return lambda out, results: out.extend(filter(None, results))
    if shape in ("generator", "many"):
        return lambda out, results: out.extend(chain.from_iterable(filter(None, results)))

    return _gather_any


def _gather_any(out: list[Any], results: Iterable[Any]) -> None:
    """Looks at each result before the hook is called for the next event, since a generator may depend on the actor's state. A
    loop of C would take some 10 ns less an event."""
    for result in filter(None, results):
        if type(result) in _SEVERAL:
            out.extend(result)
        else:
            out.append(result)


def _annotated_shape(hook: Callable[..., Any]) -> str:
    try:
        annotation = typing.get_type_hints(hook, localns=_nested(hook)).get("return", Any)
    except (NameError, TypeError):
        return ""
    if annotation is type(None):
        return "nothing"
    if inspect.isclass(annotation) and issubclass(annotation, Event):
        return "one"
    options = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    options = tuple(option for option in options if option is not type(None))
    if all(
        inspect.isclass(option) and issubclass(option, Event) and _is_truthy(option) for option in options
    ):
        return "single"
    if all(
        typing.get_origin(option) in (list, tuple, Iterable, Iterator) or _is_iterable(option)
        for option in options
    ):
        return "many"
    return ""


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _is_truthy(event_class: type) -> bool:
    return not any(hasattr(event_class, name) for name in ("__bool__", "__len__"))


def _is_iterable(option: Any) -> bool:
    origin = typing.get_origin(option)
    return inspect.isclass(origin) and issubclass(origin, Iterable)


def flatten(results: Iterable[Any]) -> Iterator[Any]:
    """Events out of what hooks have returned: events, lists of them, generators, nothing."""
    for result in results:
        if result is None:
            continue
        if isinstance(result, (list, tuple)) or inspect.isgenerator(result):
            yield from result
        else:
            yield result
