"""What a checkpoint keeps of the rows that wait in lanes with timestamp input, and how many bytes wait. Decides nothing about
order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, Problem
from actorstream.events.saved import SavedRows
from actorstream.metrics.counters import Counter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

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


def count_tied(all_rows: Sequence[LaneRows], row: np.ndarray) -> None:
    """Notes in a replica's counters the most bytes that have left their channel and have waited at once, and how many of them in
    files."""
    spilled = sum(rows.spill.nbytes for rows in all_rows)
    tied = spilled + sum(rows.buffered for rows in all_rows)
    row[Counter.TIE_BYTES] = max(row[Counter.TIE_BYTES], tied)
    row[Counter.SPILLED_BYTES] = max(row[Counter.SPILLED_BYTES], spilled)
