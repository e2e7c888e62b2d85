"""bytewax: the Yahoo benchmark, a Python tuple an event, in the fastest per-event form that was found.

`bytewax_ysb.py WORKLOAD PROCESSES EVENTS` (ysb, ysb-star, swa) prints {"value": events a second, "sum": of all
counts, "results": their number}; with EVENTS "check" a second of event time has few events. ysb and ysb-star filter
and join in one comprehension a batch, keyed by campaign, and count in a stateful logic of their own (bytewax's
operators, one a step, take four times as long); swa uses bytewax's sliding windows.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from array import array
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax_processes import run_worker, run_workers

BATCH = 16_384
START_MS = 1_700_000_000_000
SIZE_MS = 10_000
PER_MS = 10_000
CHECKED, PER_MS_OF_A_CHECK = 300_000, 10
VIEW, CLICK = 0, 1
CAMPAIGN_OF = [str(ad // 10) for ad in range(1000)]
ALIGNED = datetime(2023, 1, 1, tzinfo=UTC)

Event = tuple[int, int, int, int, int, Any, int]
"""User, page, ad, ad type, event type, time, address."""


SMALL = {size: bytes(byte * size >> 8 for byte in range(256)) for size in (100, 5, 3)}
ADS = [number * 1000 >> 16 for number in range(1 << 16)]


class Events(StatelessSourcePartition[Event]):
    """Events of one worker. Random bytes become values in C, the cheapest way that was found: 30 ns an event."""

    def __init__(self, shard: int, events: int, per_ms: int, datetimes: bool) -> None:
        self.random = Random(shard)
        self.left, self.made = events // BATCH, 0
        self.per_ms, self.datetimes = per_ms, datetimes

    def next_batch(self) -> Iterable[Event]:
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        self.made += BATCH
        draw = self.random.randbytes
        users, pages, ad_types, event_types = (
            draw(BATCH).translate(SMALL[size]) for size in (100, 100, 5, 3)
        )
        ads = map(ADS.__getitem__, array("H", draw(2 * BATCH)))
        return list(zip(users, pages, ads, ad_types, event_types, self.times(), repeat(0x01020304)))

    def times(self) -> Iterable[Any]:
        """Of the batch that ends at `made`."""
        at, end = self.made - BATCH, self.made
        while at < end:
            ms = at // self.per_ms
            rows = min((ms + 1) * self.per_ms, end) - at
            stamp = START_MS + ms
            yield from repeat(datetime.fromtimestamp(stamp / 1000, UTC) if self.datetimes else stamp, rows)
            at += rows


class Source(DynamicSource[Event]):
    def __init__(self, events: int, per_ms: int, datetimes: bool) -> None:
        self.events, self.per_ms, self.datetimes = events, per_ms, datetimes

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Events:
        per_ms = max(self.per_ms // worker_count, 1)
        return Events(worker_index, self.events // worker_count, per_ms, self.datetimes)


class Results(StatelessSinkPartition[Any]):
    """Adds results up and notes when the worker's last one came, and when it began."""

    def __init__(self, path: Path) -> None:
        self.path, self.begun = path, time.monotonic()
        self.sum = self.results = 0

    def write_batch(self, items: list[Any]) -> None:
        for _, (_, count) in items:
            self.sum += count
        self.results += len(items)

    def close(self) -> None:
        self.path.write_text(json.dumps([self.begun, time.monotonic(), self.sum, self.results]))


class Sink(DynamicSink[Any]):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Results:
        return Results(self.folder / str(worker_index))


class Counter(StatefulBatchLogic[Any, Any, Any]):
    """The views of one campaign in the windows that are open; two workers' events may overtake each other."""

    def __init__(self, state: dict[int, int] | None) -> None:
        self.counts: dict[int, int] = state or {}
        self.latest = 0

    def on_batch(self, values: list[int]) -> tuple[Iterable[Any], bool]:
        counts = self.counts
        for at in values:
            start = at - at % SIZE_MS
            counts[start] = counts.get(start, 0) + 1
        self.latest = max(self.latest, values[-1])
        return self.closed(self.latest - 2 * SIZE_MS), False

    def closed(self, until: int) -> list[tuple[int, int]]:
        over = [start for start in self.counts if start <= until]
        return [(start, self.counts.pop(start)) for start in over]

    def on_eof(self) -> tuple[Iterable[Any], bool]:
        return self.closed(self.latest), True

    def snapshot(self) -> dict[int, int]:
        return dict(self.counts)


class StarCounter(StatefulBatchLogic[Any, Any, Any]):
    """The views and clicks of one campaign in the windows that are open."""

    def __init__(self, state: dict[int, list[int]] | None) -> None:
        self.counts: dict[int, list[int]] = state or {}
        self.latest = 0

    def on_batch(self, values: list[tuple[int, int]]) -> tuple[Iterable[Any], bool]:
        counts = self.counts
        for kind, at in values:
            start = at - at % SIZE_MS
            if start not in counts:
                counts[start] = [0, 0]
            counts[start][kind] += 1
        self.latest = max(self.latest, values[-1][1])
        return self.closed(self.latest - 2 * SIZE_MS), False

    def closed(self, until: int) -> list[tuple[float, int]]:
        over = [(start, self.counts.pop(start)) for start in list(self.counts) if start <= until]
        return [(clicks / views, views + clicks) for _, (views, clicks) in over if views and clicks]

    def on_eof(self) -> tuple[Iterable[Any], bool]:
        return self.closed(self.latest), True

    def snapshot(self) -> dict[int, list[int]]:
        return {start: list(both) for start, both in self.counts.items()}


def views(events: list[Event]) -> list[tuple[str, int]]:
    return [(CAMPAIGN_OF[event[2]], event[5]) for event in events if event[4] == VIEW]


def views_and_clicks(events: list[Event]) -> list[tuple[str, tuple[int, int]]]:
    return [(CAMPAIGN_OF[event[2]], (event[4], event[5])) for event in events if event[4] <= CLICK]


def dataflow(workload: str, events: int, per_ms: int, folder: Path) -> Dataflow:
    flow = Dataflow(workload)
    made = op.input("events", flow, Source(events, per_ms, workload == "swa"))
    if workload == "ysb":
        results = op.stateful_batch("count", op.flat_map_batch("views", made, views), Counter)
    elif workload == "ysb-star":
        kept = op.flat_map_batch("kinds", made, views_and_clicks)
        results = op.stateful_batch("count", kept, StarCounter)
    else:
        clock = win.EventClock(lambda event: event[5], wait_for_system_duration=timedelta(hours=1))
        windows = win.SlidingWindower(timedelta(seconds=10), timedelta(seconds=1), ALIGNED)
        results = win.count_window("count", made, clock, windows, lambda event: str(event[0])).down
    op.output("results", results, Sink(folder))
    return flow


def main(workload: str, processes: int, events: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_workers(__file__, processes, workload, events, folder)
        found = [json.loads(path.read_text()) for path in Path(folder).iterdir()]
    made = (CHECKED if events == "check" else int(events)) // processes // BATCH * BATCH * processes
    seconds = max(ended for _, ended, _, _ in found) - min(begun for begun, _, _, _ in found)
    sums, results = sum(each[2] for each in found), sum(each[3] for each in found)
    print(json.dumps({"value": made / seconds, "sum": sums, "results": results}))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        name, given, into, index, addresses = sys.argv[1:]
        rows, density = (CHECKED, PER_MS_OF_A_CHECK) if given == "check" else (int(given), PER_MS)
        run_worker(dataflow(name, rows, density, Path(into)), index, addresses)
