"""Checks: what can be wrong with the keys that all sources share. Opens no files."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from actorstream.connectors.declared import declared_schema
from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.conversion import shown
from actorstream.topology.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.connectors.source import Source
    from actorstream.events.schema import Schema

TIME_UNITS = ("s", "ms", "us", "ns")


def common_problems(keys: Mapping[str, Any]) -> list[Problem]:
    """Problems of the keys of `Source`, as far as they can be told without the input."""
    problems = []
    unit = keys.get("time_unit")
    if unit is not None and unit not in TIME_UNITS:
        problems.append(Problem("time_unit", f"is {unit!r}", ", ".join(TIME_UNITS)))
    for name, allowed in (("repeat", "0 (without end) to 2^63 - 1"), ("count", "0 to 2^63 - 1")):
        value = keys.get(name)
        if isinstance(value, int) and not 0 <= value < 1 << 63:
            problems.append(Problem(name, f"is {shown(value)}", allowed))
    rate = keys.get("rate")
    if isinstance(rate, int | float) and not rate > 0:
        problems.append(
            Problem("rate", f"is {rate}", "more than 0 events per second", "leave it out for full speed")
        )
    for name in ("max_out_of_orderness", "idle_timeout"):
        value = keys.get(name)
        if value is not None and value.total_seconds() < 0:
            problems.append(Problem(name, f"is {value}", "0s or more"))
    if keys.get("streams") and not keys.get("stream"):
        problems.append(
            Problem("streams", "is given without `stream`", "together with `stream`, the field it lists")
        )
    if not problems:
        try:
            schema = declared_schema(keys)
        except ConfigurationError as error:
            problems.extend(error.problems)
        else:
            if schema is not None:
                problems.extend(field_problems(keys, schema))
    return problems


def clock_problems(cls: type[Source], keys: Mapping[str, Any]) -> list[Problem]:
    """Of a source that promises the clock: how far rows may come behind it must be known."""
    slack = keys.get("max_out_of_orderness")
    if (cls.max_out_of_orderness if slack is None else slack) is not None:
        return []
    return [
        Problem(
            "max_out_of_orderness",
            f"is not given, and {cls.__name__} promises the clock (clocked = True)",
            'how long a row may take from its event time until it is read, such as "500ms"',
        )
    ]


def live_problems(cls: type[Source], keys: Mapping[str, Any]) -> list[Problem]:
    """Of a source whose `events` is async, which is called once. A `repeat` that its constructor names is its own."""
    from actorstream.connectors.source import Source

    own = cls.__init__ is not Source.__init__ and "repeat" in inspect.signature(cls.__init__).parameters
    if keys.get("repeat", 1) == 1 or own:
        return []
    hint = "a live source (`async def events`) reads its input once"
    return [Problem("repeat", f"is {keys['repeat']}", "1", hint)]


def field_problems(keys: Mapping[str, Any], schema: Schema) -> list[Problem]:
    """Keys that name a field which `schema` lacks."""
    stream = keys.get("stream")
    if stream is None or stream in schema:
        return []
    names = list(schema.names())
    message = f"{schema.name} has no field {stream!r}"
    return [Problem("stream", message, ", ".join(names), did_you_mean(stream, names))]
