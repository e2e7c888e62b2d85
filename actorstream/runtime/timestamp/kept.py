"""Rows that wait in lanes with timestamp input after they have left their channels: in memory, in files, in a checkpoint.
Decides nothing about order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from actorstream.errors import ConfigurationError, Problem
from actorstream.events.saved import SavedRows, save_rows, saved_rows
from actorstream.metrics.counters import Counter
from actorstream.runtime.timestamp.lane_rows import times_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from actorstream.events.schema import Schema
    from actorstream.ordering.timestamp import TimestampGate
    from actorstream.runtime.timestamp.gate_rows import GateRows
    from actorstream.runtime.timestamp.lane_rows import LaneRows


RowsOf = TypeVar("RowsOf", "LaneRows", "GateRows")
KeptRows = list[tuple[str, int, list[SavedRows]]]
"""In a checkpoint: input, replica of its producer, and its rows that wait, oldest first."""


def kept_of(rows: LaneRows | GateRows, saved: list[SavedRows]) -> tuple[str, int, list[SavedRows]]:
    """An entry of a checkpoint: rows of a lane, by where they come from."""
    return rows.lane.input, rows.order.replica, saved


def kept_by(
    kept: Sequence[Sequence[Any]], all_rows: Sequence[RowsOf]
) -> Iterator[tuple[RowsOf, list[SavedRows]]]:
    """Of each entry of a checkpoint, the lane that it belongs to. ConfigurationError: there is no such lane."""
    known = {(rows.lane.input, rows.order.replica): rows for rows in all_rows}
    for name, replica, saved in kept:
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


def keep_lanes(all_rows: Sequence[LaneRows], gate: TimestampGate) -> KeptRows:
    """The rows that wait, by where they come from."""
    found = []
    for rows in all_rows:
        gone = gate.first(rows.index) if gate.left(rows.index) else 0
        saved = []
        for batch in rows.batches:
            saved.append(save_rows(batch.slice(gone, batch.rows - gone)))
            gone = 0
        found.append(kept_of(rows, [*saved, *rows.spill.saved()]))
    return found


def take_back_lanes(
    all_rows: Sequence[LaneRows],
    gate: TimestampGate,
    schemas: Mapping[str, Schema],
    most_tied: int,
    kept: KeptRows,
) -> None:
    """Restores the rows that wait. schemas: those of the inputs, by name; most_tied: bytes of a lane that wait in memory."""
    for rows, saved in kept_by(kept, all_rows):
        for each in saved:
            batch = saved_rows(schemas[rows.input], each)
            crowded = rows.buffered > most_tied
            rows.take_back(batch)
            if crowded:
                put_aside(rows, gate)
            else:
                gate.put(rows.index, times_of(batch), rows.order.ties(batch, gate.ties))


def put_aside(rows: LaneRows, gate: TimestampGate) -> None:
    """Moves the rows that were taken in last to the lane's spill."""
    last = int(times_of(rows.batches[-1])[-1])
    rows.put_aside()
    gate.passed(rows.index, last)


def tied_bytes(all_rows: Sequence[LaneRows | GateRows]) -> dict[str, int]:
    """Bytes of the rows that have left their channel and wait: `tie_bytes`, of these `spilled_bytes` in files."""
    spilled = sum(rows.spill.nbytes for rows in all_rows)
    return {"tie_bytes": spilled + sum(rows.buffered for rows in all_rows), "spilled_bytes": spilled}


def count_tied(all_rows: Sequence[LaneRows | GateRows], row: np.ndarray) -> None:
    """Notes in a replica's counters the most bytes that have waited at once."""
    now = tied_bytes(all_rows)
    for counter, found in (
        (Counter.TIE_BYTES, now["tie_bytes"]),
        (Counter.SPILLED_BYTES, now["spilled_bytes"]),
    ):
        if found > row[counter]:
            row[counter] = found
