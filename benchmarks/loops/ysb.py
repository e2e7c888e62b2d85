"""The bare C of the Yahoo benchmark: csrc/ysb.c, kernel after kernel on each batch, or one fused loop. No engine.

The rows are those of apps/ysb's generators, so that the counts can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.compiled import compiled
from benchmarks.loops.processes import in_processes

BATCH = 16_384
KEPT_BATCHES = 4
"""Batches that a run without the generator takes in turn; what it reads of them fits in L2."""
LOOP_ROWS = 1 << 20
WIDE_ROWS = 2_000_000
WIDE_BYTES = 136
START_MS = 1_700_000_000_000
PER_MS = 10_000
SIZE_MS = {"ysb": 10_000, "ysb-star": 10_000, "swa": 1_000}
"""A window; of swa: a pane."""
VIEW, CLICK = 0, 1
ADS_A_CAMPAIGN = 10
ROOM = 100_000
TYPES = {"i": np.int32, "b": np.int8, "l": np.int64}
COLUMNS = (
    ("user", "i"),
    ("page", "i"),
    ("ad", "i"),
    ("ad_type", "b"),
    ("event_type", "b"),
    ("time", "l"),
    ("address", "i"),
)
CTYPES = {"i": "int32_t[]", "b": "int8_t[]", "l": "int64_t[]"}
RESULT = np.dtype(
    [("key", "i4"), ("pad", "i4"), ("window_start", "i8"), ("count", "u8"), ("other", "u8")], align=True
)


class Bare:
    """The state of one thread: which rows are its own, tables, open windows and results.

    Args:
        workload: "ysb", "ysb-star" or "swa".
        shard, shards: rows shard, shard + shards, ... of the stream are its own.
    """

    def __init__(
        self, workload: str, shard: int = 0, shards: int = 1, per_ms: int = PER_MS, seed: int = 0
    ) -> None:
        self.workload = workload
        self.module = compiled("ysb")
        ffi = self.module.ffi
        self.numbering = ffi.new("numbering *", [seed, shard, shards, per_ms, START_MS])
        self.table = ffi.new("int32_t[]", [ad // ADS_A_CAMPAIGN for ad in range(self.module.lib.ADS)])
        self.selected = ffi.new("uint32_t[]", BATCH)
        self.campaign = ffi.new("int32_t[]", BATCH)
        self.kept: list[Any] = []
        self.window, self.clicks, self.ratios = self.new_window(), self.new_window(), self.new_window()
        self.results: list[np.ndarray] = []

    def new_window(self) -> Any:
        ffi = self.module.ffi
        rows = ffi.new("result[]", ROOM)
        window = ffi.new("window *", {"size": SIZE_MS[self.workload], "rows": rows, "room": ROOM})
        window.begin, window.end = START_MS, START_MS + SIZE_MS[self.workload]
        self.kept.append(rows)
        return window

    def columns(self, rows: int = BATCH) -> tuple[dict[str, np.ndarray], Any]:
        """Seven columns of room, and the struct of their addresses."""
        arrays = {name: np.zeros(rows, TYPES[kind]) for name, kind in COLUMNS}
        pointers = {name: self.module.ffi.from_buffer(CTYPES[kind], arrays[name]) for name, kind in COLUMNS}
        struct = self.module.ffi.new("columns *", pointers)
        self.kept += [pointers, arrays]
        return arrays, struct

    def drain(self, window: Any) -> None:
        """Takes the results of closed windows."""
        found = np.frombuffer(self.module.ffi.buffer(window.rows, window.made * RESULT.itemsize), RESULT)
        self.results.append(found.copy())
        window.made = 0

    def steps(self) -> Callable[[Any, int], int]:
        """The kernels of the workload, without the generator: (columns, rows) -> rows that were counted."""
        lib, selected, campaign, table = self.module.lib, self.selected, self.campaign, self.table
        filter_, lookup, count, window = lib.filter, lib.lookup, lib.count, self.window

        def ysb(columns: Any, rows: int) -> int:
            found: int = filter_(columns.event_type, rows, VIEW, selected)
            lookup(columns.ad, selected, found, table, campaign)
            count(window, columns.time, selected, campaign, found)
            if window.made:
                self.drain(window)
            return found

        def star(columns: Any, rows: int) -> int:
            both = 0
            for kind, side in ((VIEW, window), (CLICK, self.clicks)):
                found = filter_(columns.event_type, rows, kind, selected)
                lookup(columns.ad, selected, found, table, campaign)
                count(side, columns.time, selected, campaign, found)
                both += found
            if window.made and self.clicks.made:
                lib.join(window, self.clicks, self.ratios)
                self.drain(self.ratios)
            return both

        def swa(columns: Any, rows: int) -> int:
            lib.count_panes(window, columns.time, columns.user, rows)
            if window.made:
                self.drain(window)
            return rows

        return {"ysb": ysb, "ysb-star": star, "swa": swa}[self.workload]

    def loop(self, made: int, rows: int) -> None:
        """Rows `made` to `made + rows` through the fused loop, generator included."""
        lib = self.module.lib
        if self.workload == "swa":
            lib.loop_swa(self.numbering, made, rows, self.window)
        else:
            step = lib.loop_ysb if self.workload == "ysb" else lib.loop_star
            step(self.numbering, made, rows, self.table, self.window)
        if self.window.made:
            self.drain(self.window)

    def finish(self, fused: bool = False) -> np.ndarray:
        """Closes what is open; all results. The ends of swa's last windows are not waited for: its panes close once."""
        lib, window = self.module.lib, self.window
        if self.workload == "ysb":
            lib.close_window(window, window.end)
        elif self.workload == "swa":
            lib.close_pane(window, window.end)
        elif fused:
            lib.close_star(window, window.end)
        else:
            lib.close_window(window, window.end)
            lib.close_window(self.clicks, self.clicks.end)
            lib.join(window, self.clicks, self.ratios)
            window = self.ratios
        self.drain(window)
        return np.concatenate(self.results)


def kernels(
    workload: str, generated: bool, seconds: float, processes: int = 1, per_ms: int = PER_MS
) -> float:
    """Events a second over all processes, each of which calls the kernels on its own rows."""
    return in_processes(
        processes, lambda shard: kernel_rate(workload, generated, seconds, shard, processes, per_ms)
    )


def kernel_rate(
    workload: str, generated: bool, seconds: float, shard: int, shards: int, per_ms: int
) -> float:
    """Events a second of one process, after a tenth of the time to get warm."""
    bare = Bare(workload, shard, shards, per_ms)
    generate, numbering = bare.module.lib.generate, bare.numbering
    kept = [bare.columns()[1] for _ in range(KEPT_BATCHES)]
    for number, columns in enumerate(kept):
        generate(numbering, number * BATCH, BATCH, columns)
    step, now = bare.steps(), time.monotonic
    batches = 0

    def run(until: float) -> None:
        nonlocal batches
        columns = kept[0]
        while now() < until:
            if generated:
                generate(numbering, batches * BATCH, BATCH, columns)
            else:
                columns = kept[batches % KEPT_BATCHES]
            step(columns, BATCH)
            batches += 1

    run(now() + seconds / 10)
    before, begun = batches, now()
    run(begun + seconds)
    ended = now()
    return (batches - before) * BATCH / (ended - begun)


def fused(workload: str, seconds: float, per_ms: int = PER_MS) -> float:
    """Events a second of the fused loop, on one core."""
    bare = Bare(workload, per_ms=per_ms)
    bare.loop(0, LOOP_ROWS)
    made, begun = LOOP_ROWS, time.monotonic()
    while time.monotonic() - begun < seconds:
        bare.loop(made, LOOP_ROWS)
        made += LOOP_ROWS
    return (made - LOOP_ROWS) / (time.monotonic() - begun)


def wide(seconds: float) -> float:
    """Rows of 136 bytes a second that lie in memory, through a loop of ysb, on one core."""
    bare = Bare("ysb")
    lib = bare.module.lib
    memory = bare.module.ffi.from_buffer(np.zeros(WIDE_ROWS * WIDE_BYTES, np.uint8))
    lib.wide_fill(bare.numbering, WIDE_ROWS, memory)
    laps, begun = 0, time.monotonic()
    while time.monotonic() - begun < seconds:
        lib.loop_wide(memory, WIDE_ROWS, bare.table, bare.window)
        laps += 1
    return laps * WIDE_ROWS / (time.monotonic() - begun)
