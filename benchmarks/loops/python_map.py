"""The bare loops of `python-map`: columns to 3-field events, one Python method call an event, results back
to columns.

The fastest plain way found: `list(map(...))` over bulk-converted columns, comprehensions and `np.fromiter`
back. Of five ways back to columns the others take 10% to 100% longer, a `for` loop around the call 20%.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from actorstream import Event

ROWS = 4096


class Reading(Event):
    """Three typed fields."""

    sensor: int
    time: int
    value: float


class Doubler:
    """One method for each way of giving a result."""

    def returned(self, event: Reading) -> Reading:
        return Reading(event.sensor, event.time, event.value * 2.0)

    def yielded(self, event: Reading) -> Iterator[Reading]:
        yield Reading(event.sensor, event.time, event.value * 2.0)

    def same(self, event: Reading) -> Reading:
        return event


def columns(rows: int = ROWS) -> dict[str, np.ndarray]:
    """The rows that the loops and the topologies both read."""
    numbers = np.arange(rows)
    return {"sensor": numbers % 100, "time": numbers * 3, "value": numbers * 0.5}


def loop(style: str, seconds: float) -> float:
    """Events a second of one style: "return", "yield" or "same"."""
    doubler, given = Doubler(), columns()
    step = {
        "return": lambda events: list(map(doubler.returned, events)),
        "yield": lambda events: [result for event in events for result in doubler.yielded(event)],
        "same": lambda events: list(map(doubler.same, events)),
    }[style]
    run_batch(given, step)
    done = 0
    begun = now = time.monotonic()
    while now - begun < seconds:
        run_batch(given, step)
        done += ROWS
        now = time.monotonic()
    return done / (now - begun)


def run_batch(
    given: dict[str, np.ndarray], step: Callable[[list[Reading]], list[Any]]
) -> dict[str, np.ndarray]:
    """One batch from columns to columns."""
    events = list(map(Reading, given["sensor"].tolist(), given["time"].tolist(), given["value"].tolist()))
    results = step(events)
    rows = len(results)
    return {
        "sensor": np.fromiter([result.sensor for result in results], np.int64, rows),
        "time": np.fromiter([result.time for result in results], np.int64, rows),
        "value": np.fromiter([result.value for result in results], np.float64, rows),
    }
