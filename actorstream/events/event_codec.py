"""Rows: lists of events to columns and back, in bulk, by functions compiled once for each Event class.

Figures are ns an event (benchmark `python-map`). Fields that nobody asks for are never converted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorstream.errors import SchemaError
from actorstream.events.column import Column
from actorstream.native.cursor import Cursor

if TYPE_CHECKING:
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema


class EventCodec:
    """What is compiled for one schema: how its events are built and how a field of many events is read."""

    __slots__ = ("event_class", "formats", "positional", "readers", "schema", "single")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.event_class: type[Event] = schema.event_class()
        names = schema.names()
        # a comprehension compiled for this class, so that the interpreter specialises its attribute access: 10 ns;
        # map(attrgetter) 21, attrgetter of all names with zip 70 a field, structs.astuple with zip 59 a field
        self.readers: list[Callable[[list[Event]], list[Any]]] = [
            eval(f"lambda events: [event.{name} for event in events]") for name in names
        ]
        self.positional = tuple(getattr(self.event_class, "__match_args__", names)) == names
        self.single: Callable[..., Event] = (
            self.event_class if self.positional else _by_keyword(self.event_class, names)
        )
        """One event of its values in the order of the fields."""
        self.formats: dict[int, Any] = {}
        """RowFormats by the most bytes that they may take: channels of one schema share what is compiled for it."""

    def build(self, columns: tuple[Any, ...], rows: int) -> list[Event]:
        """The events of all rows of columns, which are given as a `Cursor` is told them."""
        return list(Cursor(self.single, columns, 0, rows))

    def column(self, events: list[Event], position: int) -> Column:
        """The column of one field of all events; SchemaError names the event, the field and the value."""
        field = self.schema.fields[position]
        try:
            values = self.readers[position](events)
        except AttributeError as error:
            raise self._stranger(events) from error
        return Column.from_values(field, values, f"{self.event_class.__name__} event")

    def _stranger(self, events: list[Event]) -> SchemaError:
        number, event = next((i, e) for i, e in enumerate(events) if not isinstance(e, self.event_class))
        return SchemaError(
            f"event {number} is a {type(event).__name__}: {event!r}; allowed: {self.event_class.__name__}"
        )


def lost_fields(schema: Schema, event: Any) -> SchemaError | None:
    """The error of an event that is none of `schema` and has fields that `schema` lacks; None: nothing of it would be lost.

    The class of a schema that has none of its own is made where it is asked for, so that equal fields are enough."""
    user = schema.user
    if type(event) is user._class or isinstance(event, user._class or ()):
        return None
    if {*getattr(event, "__struct_fields__", ())} <= {*user.names()}:
        return None
    return SchemaError(
        f"{event!r} is not of class {user.name}, so that fields of it would be lost; declare its class in `outputs` or as the "
        "hook's return annotation"
    )


def rows_of(schema: Schema) -> EventCodec:
    """The compiled functions of `schema`, made on first use."""
    found = schema._rows
    if found is None:
        found = schema._rows = EventCodec(schema.user)
    return found  # type: ignore[no-any-return]


def _by_keyword(event_class: type[Event], names: tuple[str, ...]) -> Callable[..., Event]:
    """Some fields are keyword-only."""
    targets = ", ".join(f"_{number}" for number in range(len(names)))
    keywords = ", ".join(f"{name}=_{number}" for number, name in enumerate(names))
    return eval(f"lambda {targets}: event_class({keywords})", {"event_class": event_class})  # type: ignore[no-any-return]
