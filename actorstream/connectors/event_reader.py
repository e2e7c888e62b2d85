"""EventReader: the rows of a plain `events`, as many at once as are wanted and as fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from actorstream.actors.size import ENTRY_BYTES, estimate, measure
from actorstream.connectors.position import Position, unexpected
from actorstream.events.fields import Kind
from actorstream.native.take import take

if TYPE_CHECKING:
    from actorstream.connectors.position import Places
    from actorstream.events.schema import Schema

TAKEN_BYTES = 4 << 20
"""Events that are read at once have about so many bytes, or there is one of them."""
_WIDE = frozenset({Kind.STRING, Kind.BYTES, Kind.MSGPACK})


class EventReader:
    """Takes rows of `schema` from an iterator; the first `skip` of them are dropped.

    Args:
        places: is told of each row and each `Position`; None: nobody needs to know.
        only: the name of the partition that a `Position` of a number alone is about.
    """

    def __init__(
        self, events: Iterator[Any], schema: Schema, skip: int, places: Places | None, only: str
    ) -> None:
        self._events, self._skip, self._places, self._only = events, skip, places, only
        self._wide = tuple(field.name for field in schema.fields if field.kind in _WIDE)
        self._each = ENTRY_BYTES + 32 * len(schema.fields)

    def take(self, most: int) -> list[Any]:
        """At least one event, at most `most`; none when the iterator has ended, or `most` is 0."""
        if most > 0:
            while self._skip:
                passed = len(self._take(self._skip))
                if not passed:
                    return []
                self._skip -= passed
        return self._take(most)

    def _take(self, most: int) -> list[Any]:
        if self._places is None:
            taken = take(self._events, most, TAKEN_BYTES, self._each, self._wide, measure, Position)
            if taken and type(taken[-1]) is Position:
                raise unexpected(taken[-1])
            return taken
        taken = []
        room = TAKEN_BYTES
        while len(taken) < most and room > 0:
            event = next(self._events, self)
            if event is self:
                break
            if type(event) is Position:
                self._places.place(event, self._only)
                continue
            self._places.row()
            taken.append(event)
            room -= estimate(event)
        return taken
