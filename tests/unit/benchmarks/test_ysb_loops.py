"""The bare C of the Yahoo benchmark makes the engine's rows and counts them right."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from actorstream.native.address import address_of
from actorstream.native.generate import ShardNumbering
from benchmarks.loops.processes import in_processes
from benchmarks.loops.ysb import BATCH, CLICK, COLUMNS, PER_MS, START_MS, TYPES, VIEW, WIDE_BYTES, Bare

PER_MS_OF_MANY_WINDOWS = 3
BATCHES = 12
"""Of 16,384 rows at 3 rows a millisecond: 65 seconds."""


def engine_columns(rows: int, first: int, stride: int, made: int) -> dict[str, np.ndarray]:
    """What the engine's generator makes."""
    memory = np.zeros(32 * rows + 1024, np.uint8)
    start = -address_of(memory) % 64
    numbering = ShardNumbering(first=first, stride=stride, start=START_MS, units=1, rows=PER_MS)
    numbering.ysb_integers(made, rows, address_of(memory) + start)
    found, at = {}, start
    for name, kind in COLUMNS:
        width = np.dtype(TYPES[kind]).itemsize
        found[name] = memory[at : at + rows * width].view(TYPES[kind])
        at += -(-rows * width // 64) * 64
    return found


@pytest.mark.parametrize(("shard", "shards", "made"), [(0, 1, 0), (1, 2, 12_345), (0, 1, 2**32 - 7_000)])
def test_the_generator_makes_the_rows_of_the_engine(shard: int, shards: int, made: int) -> None:
    bare = Bare("ysb", shard, shards)
    arrays, struct = bare.columns()
    bare.module.lib.generate(bare.numbering, made, BATCH, struct)
    for name, column in engine_columns(BATCH, shard, shards, made).items():
        np.testing.assert_array_equal(arrays[name], column, err_msg=name)


def run_kernels(workload: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Results, and all rows that went in."""
    bare = Bare(workload, per_ms=PER_MS_OF_MANY_WINDOWS)
    arrays, struct = bare.columns()
    step = bare.steps()
    kept: dict[str, list[np.ndarray]] = {name: [] for name in arrays}
    for number in range(BATCHES):
        bare.module.lib.generate(bare.numbering, number * BATCH, BATCH, struct)
        step(struct, BATCH)
        for name, column in arrays.items():
            kept[name].append(column.copy())
    return bare.finish(), {name: np.concatenate(columns) for name, columns in kept.items()}


def run_fused(workload: str) -> np.ndarray:
    bare = Bare(workload, per_ms=PER_MS_OF_MANY_WINDOWS)
    for number in range(BATCHES):
        bare.loop(number * BATCH, BATCH)
    return bare.finish(fused=True)


def by_key(results: np.ndarray, column: str = "count") -> dict[tuple[int, int], int]:
    return {(int(row["window_start"]), int(row["key"])): int(row[column]) for row in results}


def counted(rows: dict[str, np.ndarray], kind: int) -> Counter[tuple[int, int]]:
    chosen = rows["event_type"] == kind
    starts = rows["time"][chosen] // 10_000 * 10_000
    return Counter(zip(starts.tolist(), (rows["ad"][chosen] // 10).tolist()))


def test_kernels_and_the_loop_count_the_views_of_each_campaign_and_window() -> None:
    results, rows = run_kernels("ysb")
    assert len({start for start, _ in by_key(results)}) > 5
    assert by_key(results) == counted(rows, VIEW)
    assert by_key(run_fused("ysb")) == counted(rows, VIEW)


def test_kernels_and_the_loop_set_views_beside_clicks() -> None:
    results, rows = run_kernels("ysb-star")
    views, clicks = counted(rows, VIEW), counted(rows, CLICK)
    for found in (results, run_fused("ysb-star")):
        assert by_key(found) == {key: views[key] for key in views.keys() & clicks.keys()}
        assert by_key(found, "other") == {key: clicks[key] for key in views.keys() & clicks.keys()}


def test_kernels_and_the_loop_count_the_events_of_the_last_ten_panes() -> None:
    results, rows = run_kernels("swa")
    panes = Counter(zip((rows["time"] // 1000 * 1000).tolist(), rows["user"].tolist()))
    last = int(rows["time"].max()) // 1000 * 1000
    expected = {
        (pane, user): sum(panes[pane - 1000 * back, user] for back in range(10))
        for pane in range(START_MS, last + 1000, 1000)
        for user in range(100)
    }
    assert by_key(results) == expected
    assert by_key(run_fused("swa")) == expected


def test_the_loop_over_rows_of_136_bytes_counts_their_views() -> None:
    bare = Bare("ysb", per_ms=PER_MS_OF_MANY_WINDOWS)
    memory = bare.module.ffi.from_buffer(np.zeros(BATCH * BATCHES * WIDE_BYTES, np.uint8))
    bare.module.lib.wide_fill(bare.numbering, BATCH * BATCHES, memory)
    bare.module.lib.loop_wide(memory, BATCH * BATCHES, bare.table, bare.window)
    assert by_key(bare.finish()) == by_key(run_kernels("ysb")[0])


def test_the_rates_of_several_processes_are_added() -> None:
    assert in_processes(3, lambda index: float(10**index)) == 111.0


def test_a_process_that_fails_is_told() -> None:
    def fail(index: int) -> Any:
        return 1.0 / index

    with pytest.raises(RuntimeError, match="of a bare loop failed"):
        in_processes(2, fail)
