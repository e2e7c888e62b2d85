"""pathway: the Yahoo benchmark with its operators, events from a Python connector, one worker.

`pathway_ysb.py WORKLOAD EVENTS` (ysb, ysb-star, swa) prints {"value": events a second, "sum": of all counts,
"results": their number}, from the connector's first event to the end; with EVENTS "check" a second of event time has
few events.
"""

from __future__ import annotations

import json
import sys
import time
from random import Random
from typing import Any

import pathway as pw

START_MS = 1_700_000_000_000
PER_MS = 10_000
CHECKED, PER_MS_OF_A_CHECK = 30_000, 1
VIEW, CLICK = 0, 1
marks: dict[str, float] = {}


class Event(pw.Schema):
    user_id: int
    page_id: int
    ad_id: int
    ad_type: int
    event_type: int
    event_time: int
    ip_address: int


class Events(pw.io.python.ConnectorSubject):
    """Draws every field of every event."""

    def __init__(self, events: int, per_ms: int) -> None:
        super().__init__()
        self.events, self.per_ms = events, per_ms

    def run(self) -> None:
        marks["begun"] = time.monotonic()
        draw = Random(0).random
        for number in range(self.events):
            self.next(
                user_id=int(draw() * 100),
                page_id=int(draw() * 100),
                ad_id=int(draw() * 1000),
                ad_type=int(draw() * 5),
                event_type=int(draw() * 3),
                event_time=START_MS + number // self.per_ms,
                ip_address=0x01020304,
            )


def counted(events: Any, kind: int) -> Any:
    """(campaign_id, start, count) of one type of event."""
    kept = events.filter(pw.this.event_type == kind)
    campaigns = kept.select(campaign_id=pw.this.ad_id // 10, event_time=pw.this.event_time)
    windows = campaigns.windowby(
        pw.this.event_time, window=pw.temporal.tumbling(duration=10_000), instance=pw.this.campaign_id
    )
    return windows.reduce(
        campaign_id=pw.this._pw_instance, start=pw.this._pw_window_start, count=pw.reducers.count()
    )


def results(workload: str, events: Any) -> Any:
    """A table with a column `count`."""
    if workload == "ysb":
        return counted(events, VIEW)
    if workload == "swa":
        sliding = pw.temporal.sliding(hop=1_000, duration=10_000)
        windows = events.windowby(pw.this.event_time, window=sliding, instance=pw.this.user_id)
        return windows.reduce(start=pw.this._pw_window_start, count=pw.reducers.count())
    views, clicks = counted(events, VIEW), counted(events, CLICK)
    both = views.join(clicks, views.campaign_id == clicks.campaign_id, views.start == clicks.start)
    return both.select(ratio=clicks.count / views.count, count=views.count + clicks.count)


def main(workload: str, events: str) -> None:
    rows, per_ms = (CHECKED, PER_MS_OF_A_CHECK) if events == "check" else (int(events), PER_MS)
    made = pw.io.python.read(Events(rows, per_ms), schema=Event, autocommit_duration_ms=1000)
    latest: dict[Any, int] = {}

    def on_change(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            latest[key] = row["count"]

    pw.io.subscribe(results(workload, made), on_change)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = time.monotonic() - marks["begun"]
    print(json.dumps({"value": rows / seconds, "sum": sum(latest.values()), "results": len(latest)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
