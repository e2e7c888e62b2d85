"""What a checkpoint keeps of the rows that wait in lanes with timestamp input, and how many bytes wait. Decides nothing about
order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, Problem
from actorstream.events.saved import SavedRows, save_rows, saved_rows
from actorstream.metrics.counters import Counter
from actorstream.runtime.timestamp.lane_rows import times_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from actorstream.events.schema import Schema
    from actorstream.ordering.timestamp import TimestampGate
    from actorstream.runtime.timestamp.lane_rows import LaneRows

SavedLanes = list[tuple[str, int, list[SavedRows]]]
"""In a checkpoint: input, replica of its producer, and its rows that wait, oldest first."""


def saved_lane(rows: LaneRows, saved: list[SavedRows]) -> tuple[str, int, list[SavedRows]]:
    """An entry of a checkpoint: rows of a lane, by where they come from."""
    return rows.input, rows.order.replica, saved


def by_lane(
    snapshot: Sequence[Sequence[Any]], all_rows: Sequence[LaneRows]
) -> Iterator[tuple[LaneRows, list[SavedRows]]]:
    """Of each entry of a checkpoint, the lane that it belongs to. ConfigurationError: there is no such lane."""
    known = {(rows.input, rows.order.replica): rows for rows in all_rows}
    for name, replica, saved in snapshot:
        if (name, replica) in known:
            yield known[name, replica], saved
        elif saved:
            raise ConfigurationError(
                Problem(
                    f"input {name!r}",
                    f"rows of replica {replica} of its producer wait in the checkpoint, and the run has no such replica",
                    "the number of replicas that the checkpoint was made with",
                )
            )


def snapshot_lanes(all_rows: Sequence[LaneRows], gate: TimestampGate) -> SavedLanes:
    """The rows that wait, by where they come from."""
    found = []
    for rows in all_rows:
        gone = gate.first(rows.index) if gate.left(rows.index) else 0
        saved = []
        for batch, _ in rows.runs:
            saved.append(save_rows(batch.slice(gone, batch.rows - gone)))
            gone = 0
        found.append(saved_lane(rows, [*saved, *rows.spill.saved()]))
    return found


def restore_lanes(
    all_rows: Sequence[LaneRows],
    gate: TimestampGate,
    schemas: Mapping[str, Schema],
    most_tied: int,
    snapshot: SavedLanes,
) -> None:
    """Restores the rows that wait. schemas: those of the inputs, by name; most_tied: bytes of a lane that wait in memory."""
    for rows, saved in by_lane(snapshot, all_rows):
        for each in saved:
            batch = saved_rows(schemas[rows.input], each)
            crowded = rows.buffered > most_tied
            rows.append(batch)
            if crowded:
                put_aside(rows, gate)
            else:
                gate.put(rows.index, times_of(batch), rows.order.ties(batch, gate.ties))


def put_aside(rows: LaneRows, gate: TimestampGate) -> None:
    """Moves the rows that were taken in last to the lane's spill."""
    last = int(times_of(rows.runs[-1].batch)[-1])
    rows.put_aside()
    gate.passed(rows.index, last)


def count_tied(all_rows: Sequence[LaneRows], row: np.ndarray) -> None:
    """Notes in a replica's counters the most bytes that have left their channel and have waited at once, and how many of them in
    files."""
    spilled = sum(rows.spill.nbytes for rows in all_rows)
    tied = spilled + sum(rows.buffered for rows in all_rows)
    row[Counter.TIE_BYTES] = max(row[Counter.TIE_BYTES], tied)
    row[Counter.SPILLED_BYTES] = max(row[Counter.SPILLED_BYTES], spilled)
