"""Declared: the schema that a source's keys name: `event`, `schema`, `event_time`, `time_unit`. Reads no
files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, Problem, SchemaError
from actorstream.topology.modules import NotFoundError, load_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.schema import Schema


def declared_schema(keys: Mapping[str, Any]) -> Schema | None:
    """The schema by the keys `event` or `schema`; None if neither is given. ConfigurationError lists what
    is wrong."""
    found, problems = _declared(keys)
    if found is not None and not problems:
        found, problems = with_time(found, keys)
    if problems:
        raise ConfigurationError(problems)
    return found


def with_time(schema: Schema, keys: Mapping[str, Any]) -> tuple[Schema, list[Problem]]:
    """`schema` with the event time of the keys `event_time` and `time_unit`, and what is wrong with those."""
    event_time, unit = keys.get("event_time"), keys.get("time_unit")
    if not event_time and not unit:
        return schema, []
    try:
        return schema.with_event_time(event_time or schema.event_time, unit), []
    except SchemaError as error:
        return schema, [Problem("event_time" if event_time else "time_unit", str(error))]


def _declared(keys: Mapping[str, Any]) -> tuple[Schema | None, list[Problem]]:
    from actorstream.events.schema import Schema

    event, fields = keys.get("event"), keys.get("schema")
    if event is not None and fields is not None:
        return None, [Problem("schema", "is given beside `event`", "one of the two")]
    if event is not None:
        try:
            return Schema.of(load_object(event, noun="Event class") if isinstance(event, str) else event), []
        except SchemaError as error:
            return None, [Problem("event", str(error), 'an Event class as "package.module:Name"')]
        except NotFoundError as error:
            return None, [Problem("event", error.message, error.allowed, error.hint)]
    if fields is None:
        return None, []
    problems = []
    for name, text in fields.items():
        try:
            Schema.from_dict({name: text})
        except SchemaError as error:
            problems.append(Problem(f"schema.{name}", str(error)))
    if problems or not fields:
        return None, problems or [Problem("schema", "names no field", '{ field = "type" }')]
    return Schema.from_dict(fields), []
