"""The five operators of figure 1, each one call of Python a batch."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow.compute as pc

from actorstream import Actor, Batch, Contract
from apps.call_fraud.events import Alert, Location, Speed

HOUR = 3600


class Area(Actor):
    """(1) The calls of one area.

    Args:
        code: of the area.
    """

    contract = Contract(stateless=True)

    def __init__(self, code: int | str) -> None:
        self.code = str(code)

    def on_batch(self, batch: Batch) -> Batch:
        return batch.take(pc.equal(batch["area"], self.code))


class Locations(Actor):
    """(2) Of each call where its caller was, and where its callee was: both at the place of the record."""

    outputs: ClassVar = {"default": Location}
    contract = Contract(stateless=True)

    def on_batch(self, batch: Batch) -> Batch:
        rows = np.repeat(np.arange(batch.rows), 2)
        phones = np.stack([batch["caller"], batch["callee"]], axis=1).ravel()
        columns = {name: batch[name][rows] for name in ("time", "x_km", "y_km")}
        return Batch.of({**columns, "phone": phones}, event=Location, origin=rows)


class Speeds(Actor):
    """(3) How fast each phone must have been since its last location; nothing for the first.

    Two places at one time are infinitely far apart; one place is never left."""

    outputs: ClassVar = {"default": Speed}

    def __init__(self) -> None:
        self.state: dict[int, tuple[int, float, float]] = {}
        """Phone -> time and place of its last location."""

    def on_batch(self, batch: Batch) -> Batch | None:
        last = self.state
        rows: list[int] = []
        before: list[tuple[int, float, float]] = []
        columns = (batch[name].tolist() for name in ("time", "x_km", "y_km"))
        for row, (phone, here) in enumerate(zip(batch["phone"].tolist(), zip(*columns))):
            known = last.get(phone)
            last[phone] = here
            if known is not None:
                rows.append(row)
                before.append(known)
        if not rows:
            return None
        seen = batch.take(np.array(rows))
        times, xs, ys = np.array(before).T
        distance = np.sqrt((seen["x_km"] - xs) ** 2 + (seen["y_km"] - ys) ** 2)
        hours = np.maximum(seen["time"] - times, 0.0) / HOUR
        with np.errstate(divide="ignore", invalid="ignore"):
            speed = np.where(distance > 0, distance / hours, 0.0)
        return seen.with_columns(event=Speed, speed_kmh=speed)


class Fast(Actor):
    """(4) Speeds above a limit.

    Args:
        limit: km/h.
    """

    contract = Contract(stateless=True)

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def on_batch(self, batch: Batch) -> Batch:
        return batch.take(batch["speed_kmh"] > self.limit)


class Count(Actor):
    """(5) How many rows each window has; windows without any are left out. Takes rows in the order of their time.

    A window comes out when the first row of a later one comes, the last one at the end.

    Args:
        window: { type = "tumbling", size }; windows begin at multiples of the size, a number of whole seconds.
    """

    outputs: ClassVar = {"default": Alert}

    def __init__(self, window: dict[str, timedelta | str]) -> None:
        size = window.get("size")
        if window.get("type", "tumbling") != "tumbling" or not isinstance(size, timedelta):
            raise ValueError(f'window is {window}; allowed: {{ type = "tumbling", size = "1h" }}')
        self.size = size // timedelta(seconds=1)
        if self.size < 1:
            raise ValueError(f"size of the window is {size}; allowed: whole seconds")
        self.state: list[int] = []
        """Start and count of the window that is not over; empty before the first row."""

    def on_batch(self, batch: Batch) -> Batch | None:
        starts = batch["time"] // self.size * self.size
        cuts = [0, *(np.flatnonzero(np.diff(starts)) + 1).tolist(), batch.rows]
        over: list[tuple[int, int]] = []
        rows: list[int] = []
        for first, end in pairwise(cuts):
            start = int(starts[first])
            if self.state and self.state[0] != start:
                over.append((self.state[0], self.state[1]))
                rows.append(first)
                self.state = []
            self.state = [start, (self.state[1] if self.state else 0) + end - first]
        if not over:
            return None
        window_starts, counts = np.array(over).T.copy()
        return Batch.of({"window_start": window_starts, "count": counts}, event=Alert, origin=np.array(rows))

    def on_end(self) -> Alert | None:
        return Alert(*self.state) if self.state else None
