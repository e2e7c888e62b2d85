"""What flows between the operators. Times are seconds since the start, speeds miles an hour, positions feet.

A segment is a mile of one direction of an expressway: (xway, dir, seg). Minute m is the seconds 60 (m - 1) to 60 m - 1.
"""

from __future__ import annotations

from actorstream import Event, Int32


class Report(Event, event_time="time", time_unit="s"):
    """A line of the input. Type 0: a position report; 2 to 4: requests, most of whose fields are -1."""

    type: Int32
    time: int
    vid: Int32
    spd: Int32
    xway: Int32
    lane: Int32
    dir: Int32
    seg: Int32
    pos: Int32
    qid: Int32
    sinit: Int32
    send: Int32
    dow: Int32
    tod: Int32
    day: Int32


class Position(Event, event_time="time", time_unit="s"):
    """A position report, which each car sends every 30 seconds. Lane 0: entry, 1 to 3: travel, 4: exit."""

    time: int
    vid: Int32
    spd: Int32
    xway: Int32
    lane: Int32
    dir: Int32
    seg: Int32
    pos: Int32


class NewSegment(Event, event_time="time", time_unit="s"):
    """A car's first report, or one from another segment than its report before."""

    time: int
    vid: Int32
    xway: Int32
    dir: Int32
    seg: Int32


class Entry(Event, event_time="time", time_unit="s"):
    """A car is in another segment of its trip."""

    time: int
    vid: Int32
    xway: Int32
    dir: Int32
    seg: Int32
    first: bool
    """Its trip begins here."""
    leaves: bool
    """It is on the exit lane, and no toll is assessed."""


class Stop(Event, event_time="time", time_unit="s"):
    """A car stands at a place, after four reports from it (stands), or has left the place where it stood."""

    time: int
    xway: Int32
    dir: Int32
    seg: Int32
    lane: Int32
    pos: Int32
    stands: bool


class Accident(Event, event_time="time", time_unit="s"):
    """Two cars stand at one place now (begins), or no longer."""

    time: int
    xway: Int32
    dir: Int32
    seg: Int32
    lane: Int32
    pos: Int32
    begins: bool


class SegmentStats(Event):
    """A minute of a segment in which there were reports from it."""

    minute: int
    xway: Int32
    dir: Int32
    seg: Int32
    reports: int
    cars: int
    """Different ones."""
    speed_sum: int


class Toll(Event, event_time="time", time_unit="s"):
    """Told to a car when it enters a segment: average speed there in the last five minutes, and the toll."""

    time: int
    vid: Int32
    lav: int
    toll: int


class AccidentAlert(Event, event_time="time", time_unit="s"):
    """Told to a car when it enters a segment with an accident ahead."""

    time: int
    vid: Int32
    xway: Int32
    dir: Int32
    accident_seg: Int32


class Assessment(Event, event_time="time", time_unit="s"):
    """What a car will be charged when it goes on to another segment of its trip; first: its trip begins here."""

    time: int
    vid: Int32
    toll: int
    first: bool


class Charge(Event, event_time="time", time_unit="s"):
    """A car pays the toll of the segment before."""

    time: int
    vid: Int32
    toll: int
