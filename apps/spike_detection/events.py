"""The events of spike detection. Readings and motes (sensors) may be named by texts or by whole numbers: what comes out is of
the type that came in."""

from __future__ import annotations

from actorstream import Event, Schema


class Reading(Event):
    """A row of the input."""

    reading: str
    mote_id: str
    humidity: float
    temperature: float


class Average(Event):
    """The value of a reading, and the mean of the last values of its mote, this one included."""

    mote_id: str
    reading: str
    value: float
    moving_avg: float


class Spike(Event):
    """A reading whose value is further from the moving average than it may be."""

    mote_id: str
    reading: str
    value: float
    moving_avg: float


class Signal(Event):
    """Any reading, and whether it is a spike."""

    mote_id: str
    reading: str
    value: float
    moving_avg: float
    spike: bool


def named_as_in(given: Schema, made: type[Event]) -> Schema:
    """The schema of the class `made`, with the types that `given` has for motes and readings."""
    fields = [
        given.field(each.name) if each.name in {"mote_id", "reading"} else each
        for each in Schema.of(made).fields
    ]
    return Schema(made.__name__, tuple(fields))
