"""The sequential reference: a program run by `update` alone over its merged input (Definition 3.4). Pure.

What every parallel run has to put out, up to the order of independent outputs (Theorem 3.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from actorstream.dgs.outputs import Gathering, Output
from actorstream.dgs.program import Program
from actorstream.dgs.tagging import Tick
from actorstream.dgs.tags import Tag
from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICKS = -1


class InputStream(msgspec.Struct, frozen=True):
    """One input stream: the input of the program that it belongs to, and its events in their order."""

    input: str
    events: Sequence[Event] = ()
    name: str = ""
    """Of the stream, for errors; "": the input's."""


class Placed(NamedTuple):
    """An event in the total order: (time, rank of its stream, position in it); ticks have rank -1."""

    time: int
    rank: int
    position: int
    tag: Tag
    event: Event


def merged(program: Program, streams: Sequence[InputStream]) -> list[Placed]:
    """All events of the input with their tags, ticks included, in the total order.

    streams: by rank: of two events at one time that of the first stream goes first.

    Raises:
        DataError: the times of a stream decrease (Definition 3.3); names the two rows.
    """
    taggings, found = program.taggings(), []
    for rank, stream in enumerate(streams):
        tagging = taggings[stream.input]
        time = 0
        for position, event in enumerate(stream.events):
            before, time = time, event_time(event)
            if position and time < before:
                raise DataError(
                    f"stream {stream.name or stream.input!r}: row {position} has time {time}, row {position - 1} {before}; "
                    "allowed: times that do not decrease along a stream"
                )
            found.append(Placed(time, rank, position, tagging.tag_of(event), event))
    if found and program.ticks():
        found.sort(key=lambda each: each[:3])
        unit = Schema.of(type(found[0].event)).time_unit_ns
        found += [
            Placed(time, TICKS, order, tag, Tick(time))
            for order, (tag, every) in enumerate(program.ticks().items())
            for time in every.between(found[0].time, found[-1].time, unit)
        ]
    return sorted(found, key=lambda each: each[:3])


def event_time(event: Event) -> int:
    """The event time, in the unit of its class; a datetime in microseconds since the epoch.

    Raises:
        DataError: its class has none.
    """
    schema = Schema.of(type(event))
    if schema.event_time is None:
        hint = "annotate one of its fields as EventTime"
        raise DataError(f"{type(event).__name__} has no event time; allowed: events with a time ({hint})")
    time = getattr(event, schema.event_time)
    return (time - EPOCH) // timedelta(microseconds=1) if isinstance(time, datetime) else int(time)


class SequentialRun:
    """A program and its one state.

    Attributes:
        state: as the last call left it.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.gathering = program, Gathering(program)
        self.state: Any = program.init()

    def update(self, event: Event, tag: Tag) -> list[Output]:
        """Processes one event; what it put out."""
        return self.gathering.take(self.program.update(self.state, event, tag))

    def update_batch(self, events: Sequence[Event], tag: Tag) -> list[Output]:
        """Processes successive events of one tag at once, if the program can, else one by one."""
        if hasattr(self.program, "update_batch") and not isinstance(events[0], Tick):
            batch = Batch.of_events(type(events[0]), list(events))
            answer = self.program.update_batch(self.state, batch, tag)
            if answer is not NotImplemented:
                return self.gathering.take(answer)
        return [output for event in events for output in self.update(event, tag)]

    def end(self) -> list[Output]:
        """What the program puts out after its last event."""
        return self.gathering.take(self.program.end(self.state)) if hasattr(self.program, "end") else []


def run_sequentially(
    program: Program, streams: Iterable[InputStream], *, batches: bool = False
) -> Iterator[Output]:
    """What the sequential program puts out, in its order.

    Args:
        streams: by rank (see `merged`).
        batches: use `update_batch`, where the program has it, for runs of events of one tag.
    """
    run = SequentialRun(program)
    events = merged(program, list(streams))
    if batches:
        for (tag, _), group in groupby(events, key=lambda each: (each.tag, type(each.event))):
            yield from run.update_batch([each.event for each in group], tag)
    else:
        for each in events:
            yield from run.update(each.event, each.tag)
    yield from run.end()
