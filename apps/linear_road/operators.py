"""The operators of the topology, each one call of Python a batch. All but `PosRep` take rows in the order of their time.

Segment statistics are a built-in aggregate.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np

from actorstream import Actor, Batch, Contract
from apps.linear_road.events import (
    Accident,
    AccidentAlert,
    Assessment,
    Charge,
    Entry,
    NewSegment,
    Position,
    Report,
    SegmentStats,
    Stop,
    Toll,
)
from apps.linear_road.kernel import State

POSITION_REPORT = 0
NEW_SEGMENTS, ENTRIES, STOPS = range(3)
"""Outputs of the kernel's `cars`."""
STOP_FIELDS = ("xway", "dir", "seg", "lane", "pos")


class PosRep(Actor):
    """Forwards what is a position report; requests of any type go to the output `requests`."""

    outputs: ClassVar = {"default": Position, "requests": Report}
    contract = Contract(stateless=True)

    def on_batch(self, batch: Batch) -> Batch:
        reports = batch["type"] == POSITION_REPORT
        if not reports.all():
            self.emit(batch.take(~reports), to="requests")
            batch = batch.take(reports)
        return batch.with_columns(event=Position)


class Native(Actor):
    """An operator with a state in C."""

    kept: State

    def snapshot(self) -> Any:
        return self.kept.save()

    def restore(self, snapshot: Any) -> None:
        self.kept.load(snapshot)


class NewSeg(Native):
    """Reports from another segment than the car's report before, or its first: the paper's new_seg. Keyed by vid."""

    outputs: ClassVar = {"default": NewSegment}

    def __init__(self) -> None:
        self.kept = State("cars")

    def on_batch(self, batch: Batch) -> Batch:
        self.kept.call("new_segments", *(batch[name] for name in ("vid", "xway", "dir", "seg")))
        return batch.take(self.kept.rows(NEW_SEGMENTS)).with_columns(event=NewSegment)


class Cars(Native):
    """New segments as `NewSeg` has them; `entries` into segments of a trip; `stops`. Keyed by vid.

    A car's first report begins a trip, and one on the entry lane more than 60 s after its last report. Nothing that it
    reports counts between its report from the exit lane and its next one from an entry lane, but for new segments.
    """

    outputs: ClassVar = {"default": NewSegment, "entries": Entry, "stops": Stop}

    def __init__(self) -> None:
        self.kept = State("cars")

    def on_batch(self, batch: Batch) -> None:
        names = ("time", "vid", "xway", "lane", "dir", "seg", "pos")
        self.kept.call("cars", *(batch[name] for name in names))
        rows = self.kept.rows(NEW_SEGMENTS)
        if len(rows):
            self.emit(batch.take(rows).with_columns(event=NewSegment))
        rows = self.kept.rows(ENTRIES)
        if len(rows):
            first, leaves = (self.kept.column(ENTRIES, number, np.bool_) for number in (1, 2))
            self.emit(batch.take(rows).with_columns(event=Entry, first=first, leaves=leaves), to="entries")
        rows = self.kept.rows(STOPS)
        if len(rows):
            columns = {
                name: self.kept.column(STOPS, number, np.int32) for number, name in enumerate(STOP_FIELDS, 1)
            }
            stands = self.kept.column(STOPS, len(STOP_FIELDS) + 1, np.int32) != 0
            columns |= {"time": batch["time"][rows], "stands": stands}
            self.emit(Batch.of(columns, event=Stop, origin=rows), to="stops")


class Accidents(Actor):
    """When a second car stands at a place, and when all but one have gone. Keyed by xway, dir."""

    outputs: ClassVar = {"default": Accident}

    def __init__(self) -> None:
        self.state: Counter[tuple[int, ...]] = Counter()
        """Cars that stand, by (xway, dir, lane, pos)."""

    def on_batch(self, batch: Batch) -> Batch | None:
        rows, begins = [], []
        columns = (batch[name].tolist() for name in ("xway", "dir", "lane", "pos", "stands"))
        for row, (*place, stands) in enumerate(zip(*columns)):
            at = tuple(place)
            self.state[at] += 1 if stands else -1
            if self.state[at] == (2 if stands else 1):
                rows.append(row)
                begins.append(stands)
            if not self.state[at]:
                del self.state[at]
        if not rows:
            return None
        return batch.take(np.array(rows)).with_columns(event=Accident, begins=np.array(begins))

    def snapshot(self) -> Any:
        return list(self.state.items())

    def restore(self, snapshot: Any) -> None:
        self.state = Counter({tuple(place): count for place, count in snapshot})


class Tolls(Native):
    """What a car is told when it enters a segment: its toll, by the speeds of the last five minutes and the cars of the
    last one, and the nearest accident in this or the next four segments, which makes the toll 0. Keyed by xway, dir.

    Inputs: `entries`, `stats` (a minute's come before any entry of the next minute), `accidents`.
    """

    outputs: ClassVar = {"default": Toll, "assessments": Assessment, "alerts": AccidentAlert}

    def __init__(self) -> None:
        self.kept = State("tolls")

    def on_stats(self, batch: Batch) -> None:
        self.kept.call("stats", *(batch[name] for name in SegmentStats.__struct_fields__))

    def on_accidents(self, batch: Batch) -> None:
        self.kept.call("accidents", *(batch[name] for name in Accident.__struct_fields__))

    def on_entries(self, batch: Batch) -> None:
        leaves = batch["leaves"]
        self.kept.call("tolls", *(batch[name] for name in ("time", "xway", "dir", "seg", "leaves")))
        lav, toll = (self.kept.column(0, number, np.int64) for number in (1, 2))
        self.emit(batch.with_columns(event=Assessment, toll=toll), to="assessments")
        ahead = self.kept.rows(1)
        if len(ahead):
            seg = self.kept.column(1, 1, np.int32)
            self.emit(batch.take(ahead).with_columns(event=AccidentAlert, accident_seg=seg), to="alerts")
        told = np.flatnonzero(~leaves)
        self.emit(batch.take(told).with_columns(event=Toll, lav=lav[told], toll=toll[told]))


class Charges(Native):
    """A car that goes on to another segment pays the toll of the one before. Keyed by vid."""

    outputs: ClassVar = {"default": Charge}

    def __init__(self) -> None:
        self.kept = State("charges")

    def on_batch(self, batch: Batch) -> Batch | None:
        self.kept.call("charges", *(batch[name] for name in ("vid", "toll", "first")))
        rows = self.kept.rows(0)
        if not len(rows):
            return None
        return batch.take(rows).with_columns(event=Charge, toll=self.kept.column(0, 1, np.int64))
