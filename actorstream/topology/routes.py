"""Which route an input takes, and whether its key, bounds and replica numbers allow that. Pure.

Rules: `bounds` imply "range", a key "key"; else "forward" between equal replica numbers; else "shuffle".
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from actorstream.errors import Problem
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind
from actorstream.topology.conversion import shown
from actorstream.topology.modules import NotFoundError, load_object, qualified
from actorstream.topology.spec import ROUTES, InputSpec
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.topology.written import Written

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.topology.graph import GraphActor

KeyPath = tuple[str | int, ...]


def default_route(
    each: InputSpec, producers: int, consumers: int, together: tuple[str, ...] | None = ()
) -> str:
    """The route of an input that names none; `together`: fields by which the consumer's rows must meet; None: all."""
    if each.bounds:
        return "range"
    if each.keys or (together and consumers > 1):
        return "key"
    if together is None and consumers > 1:
        return "global"
    return "forward" if producers == consumers else "shuffle"


def check_route(
    each: InputSpec,
    producer: GraphActor | None,
    consumer: GraphActor,
    schema: Schema | None,
    path: KeyPath,
    written: Written,
    problems: list[Problem],
    together: tuple[str, ...] | None = (),
) -> tuple[str, tuple[str, ...]]:
    """The route and key fields of an input; what is wrong goes to `problems`, as far as it can be known.

    together: fields by which rows must meet in one replica of the consumer (None: all rows must); the key of an input
    that names none."""
    found: list[tuple[KeyPath, str, str, str]] = []
    planned = producer is not None and producer.planning is not None  # its replicas come with its plan
    producers = 0 if planned else producer.replicas if producer is not None else consumer.replicas
    route = each.route or default_route(each, producers, consumer.replicas, together)
    key = each.keys or ((together or ()) if route == "key" else ())
    route = _named(route, path, found)
    follows = route == "forward" and planned and consumer.auto  # as many replicas as the plan has workers
    if route == "forward" and producers != consumer.replicas and not follows:
        has = "as many as its plan has workers" if planned else str(producers)
        message = f"forward joins replica i to replica i, but {each.actor!r} has {has}"
        message += f" and {consumer.name!r} has {consumer.replicas}"
        allowed = 'replicas = "auto"' if planned else "equal numbers of replicas"
        found.append(((*path, "route"), message, f"{allowed}, or another route", ""))
    if route in ("key", "range") and not key:
        fields = listed(schema.names()) if schema is not None else "a field's name"
        found.append(
            (path, f'route = "{route}" has no key', f"key = FIELD, FIELD being one of: {fields}", "")
        )
    if (route in ("forward", "shuffle", "broadcast", "global") or ":" in route) and each.keys:
        message = f'is {shown(each.key)}, but route = "{route}" uses no key'
        found.append(((*path, "key"), message, 'no key, or route = "key"', ""))
    if (consumer.replicas > 1 or follows) and not _meet(route, key, together):
        way = f"key = {shown(list(key))}" if key else f"route = {route!r}"
        what = f"rows with equal {listed(together)}" if together else "rows that belong together"
        right = f"key = {shown(list(together))}" if together else 'route = "global"'
        found.append((path, f"{way} would spread {what} over replicas", f"{right}, or replicas = 1", ""))
    if schema is not None:
        _key_exists(each, schema, path, found)
    ascending = _bounds_fit(each, route, path, found)
    if ascending and schema is not None and key[0] in schema.names():
        _bounds_fit_field(each, schema.field(key[0]), path, found)
    problems.extend(written.problem(*problem) for problem in found)
    return route, key


def check_route_name(each: InputSpec, path: KeyPath, written: Written, problems: list[Problem]) -> None:
    """What can be said of the route of an input whose consumer is not known."""
    found: list[tuple[KeyPath, str, str, str]] = []
    if each.route:
        _named(each.route, path, found)
    problems.extend(written.problem(*problem) for problem in found)


def _named(route: Any, path: KeyPath, found: list[tuple[KeyPath, str, str, str]]) -> str:
    """The name of a route, which must be one of ours or that of a function."""
    if not isinstance(route, str):
        return _name_of(route, path, found)
    if ":" in route:
        _function_exists(route, path, found)
    elif route not in ROUTES:
        allowed = f'{listed(ROUTES)}, "package.module:function"'
        found.append(((*path, "route"), f"is {route!r}", allowed, did_you_mean(route, ROUTES)))
    return route


def _meet(route: str, key: tuple[str, ...], together: tuple[str, ...] | None) -> bool:
    """Whether rows that are equal in `together` go to one replica, as far as a route's name tells."""
    if together == ():
        return True
    if route in ("key", "range"):
        return together is not None and set(key) <= set(together)
    return route != "shuffle"  # forward: the producer may have them together; broadcast: everybody has all


def _key_exists(each: InputSpec, schema: Schema, path: KeyPath, found: list[Any]) -> None:
    for number, name in enumerate(each.keys):
        if name not in schema.names():
            where = (*path, "key") if isinstance(each.key, str) else (*path, "key", number)
            hint = did_you_mean(name, schema.names())
            found.append((where, f"{each.from_!r} has no field {name!r}", listed(schema.names()), hint))


def _bounds_fit(each: InputSpec, route: str, path: KeyPath, found: list[Any]) -> bool:
    """Whether an input has a range of one field and ascending bounds."""
    where = (*path, "bounds")
    if route != "range":
        if each.bounds:
            found.append((where, f'is given, but route = "{route}" has no bounds', 'route = "range"', ""))
        return False
    if len(each.keys) > 1:
        found.append(((*path, "key"), f"is {shown(each.key)}", "one field, for a range", ""))
    allowed = (
        "ascending values of one type; bounds = [10, 100] makes three ranges, the middle one 10 <= key < 100"
    )
    if not each.bounds:
        found.append((path, 'route = "range" has no bounds', allowed, ""))
        return False
    try:
        ascending = all(low < high for low, high in pairwise(each.bounds))
    except TypeError:
        ascending = False
    if not ascending:
        found.append((where, f"is {shown(each.bounds)}", allowed, ""))
    return ascending and len(each.keys) == 1


def _bounds_fit_field(each: InputSpec, field: Field, path: KeyPath, found: list[Any]) -> None:
    """The values of the key must be comparable with the bounds, and never null."""
    what = f"{str(field).partition(': ')[2]} in {each.from_!r}"
    comparable = None if field.nullable else _comparable(field)
    if comparable is None:
        where = (*path, "key") if isinstance(each.key, str) else (*path, "key", 0)
        why = ": null is in no range" if field.nullable else " and has no ranges"
        allowed = "a field of numbers, text, or dates and times that is never null"
        found.append((where, f"is {field.name!r}, which is {what}{why}", allowed, ""))
        return
    fits, values = comparable
    if not all(map(fits, each.bounds)):
        message = f"is {shown(each.bounds)}, but the key {field.name!r} is {what}"
        found.append(((*path, "bounds"), message, f"{values}, in ascending order", ""))


def _comparable(field: Field) -> tuple[Callable[[Any], bool], str] | None:
    """Which bounds the values of a field can be compared with, and how a message calls them; None: with none."""
    if field.kind in (Kind.BOOL, *INTEGERS, *FLOATS):
        return _is_number, "numbers"
    if field.kind is Kind.DATETIME:
        return _is_time, "dates and times with an offset, or microseconds since 1970"
    if field.kind is Kind.STRING or (field.categories and all(map(_is_text, field.categories))):
        return _is_text, "text"
    return None


def _is_number(bound: Any) -> bool:
    return isinstance(bound, int | float)


def _is_text(bound: Any) -> bool:
    return isinstance(bound, str)


def _is_time(bound: Any) -> bool:
    """Whether a datetime field can be compared with a bound."""
    return _is_number(bound) or (isinstance(bound, datetime) and bound.tzinfo is not None)


def _function_exists(route: str, path: KeyPath, found: list[Any]) -> None:
    try:
        function = load_object(route, noun="function")
    except NotFoundError as error:
        found.append(
            ((*path, "route"), error.message, error.allowed or '"package.module:function"', error.hint)
        )
        return
    if not callable(function):
        allowed = "a function (batch, replicas) -> one replica number a row"
        found.append(((*path, "route"), f"{route!r} is {shown(function)}", allowed, ""))


def _name_of(function: Any, path: KeyPath, found: list[Any]) -> str:
    """The importable name of a function given in Python: the plan carries names, never code."""
    if not callable(function):
        found.append(((*path, "route"), f"is {shown(function)}", f"{listed(ROUTES)}, or a function", ""))
        return "shuffle"
    name = qualified(function)
    try:
        same = load_object(name) is function
    except NotFoundError:
        same = False
    if not same:
        hint = "define it with def at the top of a module"
        found.append(
            ((*path, "route"), f"function {name!r} cannot be found by its name", "a module's function", hint)
        )
    return name
