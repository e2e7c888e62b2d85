"""Definition: what the keys of an `aggregate` ask of rows of one schema, checked. Pure; keeps no rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from actorstream.errors import Problem
from actorstream.events.fields import Field, Kind
from actorstream.events.schema import Schema
from actorstream.native.groups import MOST_KEYS
from actorstream.operators.aggregation.layout import CellLayout
from actorstream.operators.aggregation.outputs import AnyOutput, how_of, output_of
from actorstream.operators.expressions import ExpressionError
from actorstream.operators.joining.windowed import END, START, bound_kind
from actorstream.operators.native_aggregate import NativeAggregate, native_output
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.windows.spec import COUNT, SESSION, SLIDING, TUMBLING, WindowSpec, parse_window, units_of


class Definition(msgspec.Struct, frozen=True):
    """One aggregation.

    Attributes:
        schema: of the rows that come in. result: of those that come out.
        key: the fields that a group has in common.
        window: None: the whole stream is one.
        ttl: how long a key may have no row before it is let go of, in units of event time; None: for ever.
        rows, period: early results after so many rows of a replica, or each time that event time has gone so far on.
        updates: whether a window says again what late rows have changed.
    """

    schema: Schema
    result: Schema
    key: tuple[str, ...]
    outputs: list[AnyOutput]
    layout: CellLayout
    window: WindowSpec | None
    ttl: int | None = None
    rows: int | None = None
    period: int | None = None
    updates: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        """Of the key."""
        return tuple(self.schema.field(name) for name in self.key)

    @property
    def hows(self) -> list[tuple[int, bool]]:
        """How native code reads the key."""
        return [(how_of(field), field.nullable) for field in self.fields]

    @property
    def early(self) -> bool:
        return self.rows is not None or self.period is not None

    @property
    def paned(self) -> bool:
        """Whether its windows are put together from panes; else they are sessions, or so many rows."""
        if self.window is None:
            return self.ttl is None
        return self.window.type in (TUMBLING, SLIDING)


def key_names(key: Any) -> tuple[str, ...]:
    """The key `key` of a table as field names."""
    return () if key is None else (key,) if isinstance(key, str) else tuple(key)


def needs_time(keys: Mapping[str, Any]) -> bool:
    """Whether rows must have an event time."""
    window = keys.get("window")
    if window is not None and not (isinstance(window, Mapping) and window.get("type") == COUNT):
        return True
    every = keys.get("every")
    return keys.get("ttl") is not None or (every is not None and not isinstance(every, int))


def define(keys: Mapping[str, Any], schema: Schema) -> tuple[Definition | None, list[Problem]]:
    """The aggregation that these keys of an `aggregate` describe, or None with everything that is wrong with them."""
    schema = schema.user
    unit = schema.time_unit
    key = key_names(keys.get("key"))
    problems = _key_problems(key, schema)
    outputs: list[AnyOutput] = []
    aggregates = keys.get("aggregates") or {}
    if not aggregates:
        problems.append(Problem("aggregates", "names nothing", 'a table such as { total = "sum(price)" }'))
    bounds = [name for name in (START, END) if keys.get("window") is not None and name not in key]
    for name, text in aggregates.items():
        where = f"aggregates.{name}"
        if name in key or name in bounds:
            problems.append(Problem(where, "is a field of the result already", "another name"))
        if isinstance(text, Mapping | NativeAggregate):
            native, found = native_output(name, text, schema)
            problems += found
            outputs += [] if native is None else [native]
            continue
        if not isinstance(text, str):
            allowed = (
                'text such as "sum(price)", or a table { native = "package.module:name", columns, returns }'
            )
            problems.append(Problem(where, f"is {text!r}", allowed))
            continue
        try:
            outputs.append(output_of(name, text, schema))
        except ExpressionError as error:
            problems.append(error.problem(where))
    window = None
    if keys.get("window") is not None:
        window, found = parse_window(keys["window"], unit, keys.get("allowed_lateness"))
        problems += found
    elif keys.get("allowed_lateness") is not None:
        problems.append(Problem("allowed_lateness", "is given without a `window`", "together with one"))
    kind = _kind(keys)
    ttl = _ttl(keys, kind, unit, problems)
    rows, period = _every(keys, kind, unit, problems)
    updates = keys.get("emit", "final") == "updates"
    if updates and kind not in (TUMBLING, SLIDING):
        windows = f"{TUMBLING!r} or {SLIDING!r} windows"
        problems.append(Problem("emit", f"is 'updates' {_of(kind)}", f"'final', or {windows}"))
    if problems:
        return None, problems
    timed = schema.event_time is not None if window is None or window.type == COUNT else True
    try:
        layout = CellLayout(outputs, timed=timed or ttl is not None, schema=schema)
    except ValueError as error:
        return None, [Problem("aggregates", str(error), "fewer aggregates; several actors may share them")]
    fields = [Field(name, _bound_kind(schema, window)) for name in bounds]
    fields += [schema.field(name) for name in key]
    result = Schema("Aggregated", (*fields, *(output.field for output in outputs)), None, unit)
    return Definition(schema, result, key, outputs, layout, window, ttl, rows, period, updates), []


def _bound_kind(schema: Schema, window: WindowSpec | None) -> Kind:
    if window is not None and window.type == COUNT and schema.event_time is None:
        return Kind.INT64
    return bound_kind(schema)


def _kind(keys: Mapping[str, Any]) -> str | None:
    """The type of window that is asked for, whether there is one or not."""
    window = keys.get("window")
    return window.get("type") if isinstance(window, Mapping) else None


def _of(kind: str | None) -> str:
    return "without a window" if kind is None else f"of a {kind} window"


def _key_problems(key: tuple[str, ...], schema: Schema) -> list[Problem]:
    problems = []
    if len(key) > MOST_KEYS:
        problems.append(Problem("key", f"names {len(key)} fields", f"{MOST_KEYS} at the most"))
    for number, name in enumerate(key):
        if name not in schema:
            hint = did_you_mean(name, schema.names())
            message = f"{schema.name} has no field {name!r}"
            problems.append(Problem("key", message, listed(schema.names()), hint))
        elif name in key[:number]:
            problems.append(Problem("key", f"names {name!r} twice", "each field once"))
        elif schema.field(name).kind is Kind.MSGPACK:
            message = f"{schema.field(name)} is structured, which has no equality"
            problems.append(Problem("key", message, "numbers, text, times, bools, categories"))
    return problems


def _ttl(keys: Mapping[str, Any], kind: str | None, unit: str, problems: list[Problem]) -> int | None:
    given = keys.get("ttl")
    if given is None:
        return None
    if kind not in (None, COUNT):
        message = f"is set {_of(kind)}, which forgets its keys when it closes"
        problems.append(Problem("ttl", message, "with a count window, or without a window"))
        return None
    return _duration("ttl", given, unit, problems)


def _every(
    keys: Mapping[str, Any], kind: str | None, unit: str, problems: list[Problem]
) -> tuple[int | None, int | None]:
    given = keys.get("every")
    if given is None:
        return None, None
    if kind in (SESSION, COUNT) or keys.get("ttl") is not None:
        windows = f"{TUMBLING!r} or {SLIDING!r} windows, or without a window and `ttl`"
        problems.append(Problem("every", f"is set {_of(kind)}", windows))
        return None, None
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 1:
            problems.append(Problem("every", f"is {given}", "a number of rows, or a duration such as '1s'"))
        return given, None
    return None, _duration("every", given, unit, problems)


def _duration(where: str, given: Any, unit: str, problems: list[Problem]) -> int | None:
    units = units_of(given, unit)
    wrong = units if isinstance(units, str) else "is not longer than 0" if units < 1 else ""
    if wrong or isinstance(units, str):
        problems.append(Problem(where, f"is {given!r}, which {wrong}", 'a duration such as "10s"'))
        return None
    return units
