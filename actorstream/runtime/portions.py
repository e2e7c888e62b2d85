"""Portions: runs a hook until it has made as much as should be sent at once, and goes on when that was sent.

The functions are generators that yield whenever the outbox should be emptied. They decide nothing about errors: that is what
the calls of hooks do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from actorstream.actors.size import measure
from actorstream.events.batch import BATCHES
from actorstream.events.event_columns import EventColumns
from actorstream.native.metered import Metered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.schema import Schema
    from actorstream.runtime.hooks import Outbox

BYTES = 4 << 20
"""What is sent at once should have no more bytes. The last row that was made may pass it."""
VALUE_BYTES = 32
"""What a Python object takes beside the bytes of a value."""


class Width(NamedTuple):
    """What is counted of a row of some output."""

    each: int
    """Bytes of every row."""
    names: tuple[str, ...]
    """Fields whose values are measured."""
    places: tuple[int, ...]
    """Which fields these are."""

    @classmethod
    def of(cls, schema: Schema) -> Width:
        """What is counted of a row of `schema`."""
        places = tuple(place for place, field in enumerate(schema.fields) if field.dtype is None)
        each = schema.row_bytes + VALUE_BYTES * len(schema.fields)
        return cls(each, tuple(schema.fields[place].name for place in places), places)


Widths = dict[str, Width]
"""Output -> what is counted of its rows."""


def taken_schemas(schemas: Mapping[str, Schema], edges: Mapping[str, Any]) -> dict[str, Schema]:
    """The schemas of all outputs that somebody takes, but for dead letters, which are short."""
    return {output: schema for output, schema in schemas.items() if edges.get(output) and output != "dead"}


def widths_of(schemas: Mapping[str, Schema], edges: Mapping[str, Any]) -> Widths:
    """The widths of these."""
    return {output: Width.of(schema.user) for output, schema in taken_schemas(schemas, edges).items()}


def metered(source: Iterator[Any], room: int, each: int, outbox: Outbox, widths: Widths) -> Metered:
    """The items of `source`, which count `each` bytes, until these and what `outbox` gets meanwhile fill `room`."""
    lists: list[tuple[list[Any], tuple[str, ...] | None, int]] = []
    for output, width in widths.items():
        target = outbox.events[output] if width.names else None
        if type(target) is EventColumns:
            counted = width.each
            for place in width.places:
                lists.append((target.values[place], None, counted))
                counted = 0
        elif target is not None:
            lists.append((target, width.names, width.each))  # type: ignore[arg-type]
    return Metered(source, room, each, tuple(lists), measure)


def result_portions(
    results: Iterator[Any], outbox: Outbox, widths: Widths, take: Callable[[Any], None]
) -> Iterator[None]:
    """Gives `take` what a hook yields, batches or events, which puts it into `outbox`. Yields after each batch that
    follows other rows, and whenever the events fill a portion."""
    width = widths.get("default")
    each = width.each if width is not None and not width.names else 0
    while True:
        some = metered(results, BYTES, each, outbox, widths)
        for item in some:
            take(item)
            if type(item) in BATCHES:
                break
        else:
            if not some.full:
                return
        yield
