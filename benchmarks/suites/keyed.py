"""`keyed`: aggregations by so many keys that counting before the exchange does not help: rates and memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from benchmarks.dataflow import Actors, launch
from benchmarks.suite import Case, Probe, Settings, Suite

EVENTS = "events/s"
MEGABYTES = "MB"
BYTES_A_ROW = 24
ONE_WINDOW = 10_000_000
"""Rows, and distinct keys, of the case that has a single window."""


def topology(rows: int, windows: int, keys: Mapping[str, Any], aggregate: str, workers: int) -> Actors:
    """Rows of event time, key and value (24 bytes) in so many windows, aggregated by key."""
    return {
        "rows": {
            "type": "generator-source",
            "count": rows,
            "shards": workers,
            "replicas": workers,
            "event_time": "ts",
            "event_rate": rows / windows / 10,
            "schema": {
                "ts": "int",
                "key": {"type": "int", **keys},
                "value": {"type": "int", "distribution": "uniform", "high": 1000},
            },
        },
        "windows": {
            "type": "aggregate",
            "inputs": [{"from": "rows", "route": "key", "key": "key"}],
            "replicas": workers,
            "key": ["key"],
            "window": {"type": "tumbling", "size": "10s"},
            "aggregates": {"found": aggregate},
        },
        "results": {
            "type": "null-sink",
            "inputs": [{"from": "windows", "route": "forward"}],
            "replicas": workers,
        },
    }


def run(actors: Actors, workers: int, rows: int) -> tuple[float, float]:
    """Events a second, and the most memory that all processes had, in MB."""
    report = launch("keyed", actors, transport="shm", workers=workers, batch_size=16_384).report
    taken = report["events_in"]
    counted = taken.get("windows.local", taken["windows"])  # by the first of two steps, where there are two
    if counted < rows:
        raise ValueError(f"{rows} rows were made and {counted} counted")
    return report["throughput_eps"], report["peak_pss_mb"] * 2**20 / 1e6


def suite(settings: Settings) -> Suite:
    uniform = {"distribution": "uniform"}
    million = (settings.scale(24_000_000, 9_000_000), {**uniform, "high": 1_000_000}, "count_distinct(value)")
    ten = (settings.scale(60_000_000, 24_000_000), {**uniform, "high": 10_000_000}, "count()")
    probes = []
    for name, (rows, keys, aggregate) in (("distinct-1m", million), ("keys-10m", ten)):
        for workers in (1, 2):
            actors = topology(rows, 3, keys, aggregate, workers)
            cases = (
                Case(f"{name}-{workers}", EVENTS, f"{name}-1" if workers == 2 else None),
                Case(f"{name}-{workers}-memory", MEGABYTES),
            )
            probes.append(Probe(cases, partial(run, actors, workers, rows)))
    sequence = topology(ONE_WINDOW, 1, {"distribution": "sequence"}, "count()", 1)
    cases = (Case("one-window-10m-1", EVENTS), Case("one-window-10m-1-memory", MEGABYTES))
    probes.append(Probe(cases, partial(run, sequence, 1, ONE_WINDOW)))
    notes = (
        "distinct-1m: count_distinct of a value of 0 to 999 by 1 million keys; keys-10m: count by 10 million keys",
        "both drawn uniformly, in three windows",
        "one-window-10m: 10 million keys, each once, in one window",
        "the rate is that of the sources from the 20th to the 80th percentile of rows; memory is that of all processes",
    )
    return Suite("keyed", tuple(probes), notes, summary=summary)


def summary(medians: Mapping[str, float]) -> list[str]:
    raw = ONE_WINDOW * BYTES_A_ROW / 1e6
    share = medians["one-window-10m-1-memory"] / raw
    return [f"one-window-10m: {share:.2f} times the {raw:,.0f} MB of its raw columns"]
