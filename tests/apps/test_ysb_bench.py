"""The benchmark variants of YSB: what the generator makes is counted as a recount of its columns says."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from actorstream.connectors.generator import GeneratorSource
from apps.ysb.operators import TABLES

from .test_ysb import rows
from .test_ysb import run as launched

COUNT, EVENT_RATE = 100_000, 4000.0
"""25 seconds of event time."""


def columns() -> dict[str, np.ndarray]:
    """The events of one shard, in order."""
    source = GeneratorSource(preset="ysb", count=COUNT, event_rate=EVENT_RATE)
    source.open(source.partitions())
    batch = source.read(COUNT)
    assert batch is not None and batch.rows == COUNT
    return {name: batch[name] for name in batch.schema.names()}


def counted(event_type: int) -> Counter[tuple[int, int]]:
    """(campaign, window start) -> events of a type."""
    found = columns()
    of_type = found["event_type"] == event_type
    campaigns = (found["ad_id"][of_type] // 10).tolist()
    windows = (found["event_time"][of_type] // 10_000 * 10_000).tolist()
    return Counter(zip(campaigns, windows))


def run(topology: str, sink: str, out: Path, *sets: str, **deploy: int) -> list[tuple[str, ...]]:
    path = out / "result.csv"
    keys = (f"actors.events.count={COUNT}", f"actors.events.event_rate={EVENT_RATE}")
    launched(topology, *keys, f"actors.{sink}.path={path}", *sets, **deploy)
    return rows(path)[1]


def texts(values: list[tuple[object, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in values)


@pytest.mark.parametrize(("workers", "batch_size"), [(1, 16384), (2, 16384), (2, 1000), (4, 4096)])
@pytest.mark.parametrize("shards", [2, 5])
def test_views_of_generated_events(workers: int, batch_size: int, shards: int, tmp_path: Path) -> None:
    found = run(
        *("bench.toml", "counts", tmp_path, f"actors.events.shards={shards}"),
        workers=workers,
        batch_size=batch_size,
    )
    assert found == texts([(*key, count) for key, count in counted(0).items()])


@pytest.mark.parametrize("ids", ["uuid", "bytes136"])
def test_the_kind_of_ids_does_not_change_the_counts(ids: str, tmp_path: Path) -> None:
    found = run("bench.toml", "counts", tmp_path, f"actors.events.ids={ids}")
    expected = texts([(*key, count) for key, count in counted(0).items()])
    if ids == "uuid":
        numbers = {name: str(number) for number, name in enumerate(campaigns(TABLES[True]))}
        found = sorted((numbers[campaign], *rest) for campaign, *rest in found)
    assert found == expected


def campaigns(table: Path) -> list[str]:
    """The campaigns of a table of ads, in order."""
    with table.open(newline="") as file:
        return list(dict.fromkeys(row["campaign_id"] for row in csv.DictReader(file)))


def test_ratios_of_generated_events(tmp_path: Path) -> None:
    views, clicks = counted(0), counted(1)
    expected = [
        (*key, views[key], clicks[key], clicks[key] / views[key]) for key in views.keys() & clicks.keys()
    ]
    for workers in (1, 2):
        assert run("star-bench.toml", "ratios", tmp_path, workers=workers) == texts(expected)


def test_sliding_counts_of_generated_events(tmp_path: Path) -> None:
    found = columns()
    expected: Counter[tuple[int, int]] = Counter()
    for user, second in zip(found["user_id"].tolist(), (found["event_time"] // 1000).tolist()):
        for start in range(second - 9, second + 1):
            expected[user, start * 1000] += 1
    for workers in (1, 2):
        assert run("swa-bench.toml", "counts", tmp_path, workers=workers) == texts(
            [(*key, count) for key, count in expected.items()]
        )


def test_the_tables_are_those_of_the_generator() -> None:
    for is_text, path in TABLES.items():
        source = GeneratorSource(preset="ysb-ads", ids="uuid" if is_text else "int")
        source.open(source.partitions())
        batch = source.read(5000)
        assert batch is not None
        made = [tuple(map(str, row)) for row in zip(*(column.tolist() for column in batch.columns()))]
        assert rows(path)[1] == sorted(made)
