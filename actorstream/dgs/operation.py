"""What a worker of a plan works on: a run of events of one tag that its mailbox has released. Decides nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from actorstream.dgs.mailbox import NOTHING, Times


class WaitingRows(NamedTuple):
    """Events that wait in a mailbox: their times and places, and whose they are."""

    times: Times
    places: np.ndarray | None
    item: Any
    """What was inserted; None: the parent's request."""


class Operation:
    """A run of released events of one tag: rows `first` to `last` of `rows`. From `base` on the children were asked."""

    __slots__ = ("base", "first", "is_request", "last", "rows", "tag")

    def __init__(self, tag: Any, rows: WaitingRows, first: int, last: int) -> None:
        self.tag, self.rows, self.base, self.first, self.last = tag, rows, first, first, last
        self.is_request = rows.item is None
        """Whether a parent asks for the state there; else they are events."""

    @property
    def head(self) -> tuple[int, int]:
        """Time and place of its first event."""
        rows, first = self.rows, self.first
        return int(rows.times[first]), NOTHING if rows.places is None else int(rows.places[first])
