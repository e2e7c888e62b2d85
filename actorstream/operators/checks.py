"""What several operators ask of their keys and inputs before a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorstream.errors import Problem
from actorstream.events.schema import Schema
from actorstream.topology.suggestions import listed


def one_of(keys: dict[str, Any], ways: Sequence[str]) -> list[Problem]:
    """The problems of keys of which not exactly one is given, or of `native`'s own keys beside another one."""
    given = [way for way in ways if keys.get(way) not in (None, {}, [])]
    if len(given) == 1:
        return [
            Problem(name, f"is given with `{given[0]}`, which does not use it", "beside `native`")
            for name in ("columns", "returns")
            if given != ["native"] and keys.get(name)
        ]
    what = f"has {listed(given)}" if given else "is missing"
    where = given[1] if given else ways[0]
    return [Problem(where, what, f"one of {listed(ways)}")]


def same_inputs(inputs: list[Schema]) -> list[Problem]:
    """Problems of inputs that do not have the fields of the first."""
    first = inputs[0]
    return [
        Problem(
            f"inputs.{number}",
            f"has rows {_difference(first, other)}",
            f"inputs of one schema: {', '.join(map(str, first.fields))}",
            "a map with `set` and `select` in between can make them the same",
        )
        for number, other in enumerate(inputs)
        if other != first
    ]


def _difference(first: Schema, other: Schema) -> str:
    """How the rows of `other` are not those of `first`."""
    found = [f"without {field.name!r}" for field in first.fields if field.name not in other]
    found += [f"with {field}" for field in other.fields if field not in first.fields]
    if not found and first.names() != other.names():
        found = [f"ordered {', '.join(other.names())}"]
    if not found:
        found = [f"with the event time {other.event_time!r} ({other.time_unit}), not {first.event_time!r}"]
    return ", ".join(found)
