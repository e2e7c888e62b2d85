"""The benchmark's three queries, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.ysb.reference views|ratios|swa EVENTS [TABLE] [--lateness SECONDS]

prints the result file of topology.toml, star.toml or swa.toml, sorted.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

WINDOW_MS = 10_000

Row = dict[str, Any]


def read_events(path: Path) -> Iterator[Row]:
    """The events of a file in the benchmark's JSON; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            event["event_time"] = int(event["event_time"])
            yield event


def read_table(path: Path) -> dict[str, str]:
    """ad -> campaign."""
    with path.open(newline="") as file:
        return {row["ad_id"]: row["campaign_id"] for row in csv.DictReader(file)}


def window_of(event: Row) -> int:
    """Start of the window that an event belongs to."""
    return int(event["event_time"]) // WINDOW_MS * WINDOW_MS


def late_marks(events: Iterable[Row], lateness_ms: int) -> Iterator[tuple[Row, bool]]:
    """Each event, and whether it is late: what came before it had passed its window's end by `lateness_ms` or more."""
    watermark = float("-inf")
    for event in events:
        yield event, watermark >= window_of(event) + WINDOW_MS + lateness_ms
        watermark = max(watermark, event["event_time"])


def counts(events: Iterable[Row], table: dict[str, str], event_type: str) -> Counter[tuple[str, int]]:
    """(campaign, window start) -> events of one type."""
    return Counter(
        (table[event["ad_id"]], window_of(event)) for event in events if event["event_type"] == event_type
    )


def views(events: Iterable[Row], table: dict[str, str]) -> list[tuple[str, int, int]]:
    """YSB: campaign_id, window_start, count."""
    found = counts(events, table, "view")
    return sorted((campaign, start, count) for (campaign, start), count in found.items())


def ratios(events: Iterable[Row], table: dict[str, str]) -> list[tuple[str, int, int, int, float]]:
    """YSB*: campaign_id, window_start, views, clicks, clicks / views, where there are both."""
    kept = list(events)
    viewed, clicked = (counts(kept, table, kind) for kind in ("view", "click"))
    return sorted(
        (*key, viewed[key], clicked[key], clicked[key] / viewed[key])
        for key in viewed.keys() & clicked.keys()
    )


def swa(events: Iterable[Row]) -> list[tuple[int, int]]:
    """SWA: window_start, count."""
    return sorted(Counter(map(window_of, events)).items())


def main(arguments: list[str]) -> None:
    lateness = None
    if "--lateness" in arguments:
        at = arguments.index("--lateness")
        lateness = round(float(arguments[at + 1]) * 1000)
        del arguments[at : at + 2]
    query, path, *table = arguments
    events = read_events(Path(path))
    if lateness is not None:
        events = (event for event, late in late_marks(events, lateness) if not late)
    campaigns = read_table(Path(table[0])) if table else {}
    found: list[Any] = {
        "views": lambda: views(events, campaigns),
        "ratios": lambda: ratios(events, campaigns),
        "swa": lambda: swa(events),
    }[query]()
    names = {
        "views": ("campaign_id", "window_start", "count"),
        "ratios": ("campaign_id", "window_start", "views", "clicks", "ratio"),
        "swa": ("window_start", "count"),
    }[query]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows([names, *found])


if __name__ == "__main__":
    main(sys.argv[1:])
