"""Rows that wait in lanes with timestamp input after they have left their channels: in memory, in files, in a checkpoint.
Decides nothing about order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.events.saved import SavedRows, save_rows, saved_rows
from actorstream.metrics.counters import Counter
from actorstream.runtime.timestamp.lane import times_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from actorstream.events.schema import Schema
    from actorstream.ordering.timestamp import TimestampGate
    from actorstream.runtime.timestamp.lane import TimestampInLane


def keep_lanes(lanes: list[TimestampInLane], gate: TimestampGate) -> list[list[SavedRows]]:
    """The rows that wait, by lane, oldest first."""
    found = []
    for at, lane in enumerate(lanes):
        gone = gate.first(at) if gate.left(at) else 0
        rows = []
        for batch in lane.batches:
            rows.append(save_rows(batch.slice(gone, batch.rows - gone)))
            gone = 0
        found.append([*rows, *lane.spill.saved()])
    return found


def take_back_lanes(
    lanes: list[TimestampInLane],
    gate: TimestampGate,
    schemas: Mapping[str, Schema],
    most_tied: int,
    kept: list[list[SavedRows]],
) -> None:
    """Restores the rows that wait. schemas: those of the inputs, by name; most_tied: bytes of a lane that wait in memory."""
    for at, (lane, rows) in enumerate(zip(lanes, kept, strict=True)):
        for each in rows:
            batch = saved_rows(schemas[lane.input], each)
            crowded = lane.buffered > most_tied
            lane.take_back(batch)
            if crowded:
                put_aside(lane, gate)
            else:
                gate.put(at, times_of(batch), lane.ties(batch, gate.ties))


def put_aside(lane: TimestampInLane, gate: TimestampGate) -> None:
    """Moves the rows that were taken in last to the lane's spill."""
    last = int(times_of(lane.batches[-1])[-1])
    lane.put_aside()
    gate.passed(lane.index, last)


def tied_bytes(lanes: list[TimestampInLane]) -> dict[str, int]:
    """Bytes of the rows that have left their channel and wait: `tie_bytes`, of these `spilled_bytes` in files."""
    spilled = sum(lane.spill.nbytes for lane in lanes)
    return {"tie_bytes": spilled + sum(lane.buffered for lane in lanes), "spilled_bytes": spilled}


def count_tied(lanes: list[TimestampInLane], row: np.ndarray) -> None:
    """Notes in a replica's counters the most bytes that have waited at once."""
    now = tied_bytes(lanes)
    for counter, found in (
        (Counter.TIE_BYTES, now["tie_bytes"]),
        (Counter.SPILLED_BYTES, now["spilled_bytes"]),
    ):
        if found > row[counter]:
            row[counter] = found
