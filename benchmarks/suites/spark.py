"""`spark`: rows of Parquet through Spark's tasks into actors, against what Spark does with the same rows itself."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import job
from benchmarks.compiled import cache_folder
from benchmarks.dataflow import COMMAND, toml
from benchmarks.on_spark import CLUSTER, exchanged
from benchmarks.suite import Case, Probe, Settings, Suite

COLUMNS = {"ts": "int", "number": "int", "key": "int", "value": "float", "share": "float"}
BATCH = 16_384
WARM = 100
LONGER = 4
"""The table of the source is so many times as long: tasks have read 128 MB ahead when the first batch arrives."""
GROUP_ROWS = 1 << 20


def generated(rows: int) -> Path:
    """The file of so many rows by time, which is made unless it is there."""
    folder = cache_folder() / "data"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"spark-{rows}.parquet"
    if path.exists():
        return path
    random = np.random.default_rng(7)
    unfinished = folder / f"{path.name}.{os.getpid()}"
    writer = None
    for first in range(0, rows, GROUP_ROWS):
        size = min(GROUP_ROWS, rows - first)
        ts = np.arange(first, first + size)
        whole = {"ts": ts, "number": ts * 7, "key": random.integers(0, 1000, size)}
        table = pa.table({**whole, "value": random.random(size), "share": random.random(size)})
        writer = writer or pq.ParquetWriter(unfinished, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    unfinished.replace(path)
    return path


def source(rows: int) -> list[float]:
    """Rows a second from the first `on_batch` to the last; and seconds from the command to the first `on_batch`. ValueError:
    rows are missing."""
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        topology = Path(folder) / "spark.toml"
        actors = {
            "rows": {
                "type": "spark-source",
                "path": str(generated(rows)),
                "event_time": "ts",
                "schema": COLUMNS,
            },
            "meter": {"type": "benchmarks.meter:Meter", "inputs": ["rows"], "into": folder, "touch": True},
        }
        topology.write_text(toml("spark", actors))
        started = time.monotonic_ns()
        command = [str(COMMAND), "launch", str(topology), "--set", 'deploy.transport="local"', "--quiet"]
        done = subprocess.run(command, cwd=job.ROOT, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise job.JobError(f"spark-source failed with exit code {done.returncode}: {done.stderr}")
        (note,) = (json.loads(path.read_text()) for path in Path(folder).glob("*-meter.json"))
    if note["rows"] != rows:
        raise ValueError(f"the table has {rows} rows and {note['rows']} arrived")
    pushed_s = (note["ended_ns"] - note["begun_ns"]) / 1e9
    return [(rows - note["first_rows"]) / pushed_s, (note["begun_ns"] - started) / 1e9]


def source_sorted(rows: int) -> float:
    """Rows a second of a spark-source whose rows Spark has to sort, from when it knows the table to the last `on_batch`."""
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        topology = Path(folder) / "spark.toml"
        keys = {"path": str(generated(rows)), "event_time": "ts", "schema": COLUMNS}
        actors = {
            "rows": {"type": "spark-source", **keys, "preprocess": "select * from input"},
            "meter": {"type": "benchmarks.meter:Meter", "inputs": ["rows"], "into": folder, "touch": True},
        }
        topology.write_text(toml("spark", actors))
        command = [str(COMMAND), "launch", str(topology), "--set", 'deploy.transport="local"', "--quiet"]
        began, said = 0, ""
        with subprocess.Popen(command, cwd=job.ROOT, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                said += line
                began = began or (time.monotonic_ns() if "sorted" in line else 0)
        if process.returncode:
            raise job.JobError(f"spark-source failed with exit code {process.returncode}: {said}")
        (note,) = (json.loads(path.read_text()) for path in Path(folder).glob("*-meter.json"))
    if note["rows"] != rows:
        raise ValueError(f"the table has {rows} rows and {note['rows']} arrived")
    return float(rows / (note["ended_ns"] - began) * 1e9)


def inside(rows: int) -> list[float]:
    """Rows a second of Spark alone: nothing done, an identity in Python, that behind the sort of a spark-source, and rows one
    by one in the driver (of a tenth of the rows). Each is the second run in one session."""
    from actorstream.spark.session import spark_session

    path = str(generated(rows))
    options = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH)}
    with spark_session("local[*]", options) as spark:
        table = spark.read.parquet(path)
        names = list(COLUMNS)
        tasks = spark.sparkContext.defaultParallelism
        in_order = table.repartition(tasks, *names).sortWithinPartitions(*names)

        def drop(frame: Any) -> None:
            frame.write.format("noop").mode("overwrite").save()

        def identity(batches: Iterator[Any]) -> Iterator[Any]:
            yield from batches

        tenth = table.limit(rows // 10)
        runs: list[tuple[int, Callable[[], object]]] = [
            (rows, lambda: drop(table)),
            (rows, lambda: drop(table.mapInArrow(identity, table.schema))),
            (rows, lambda: drop(in_order.mapInArrow(identity, table.schema))),
            (rows // 10, lambda: sum(1 for _ in tenth.toLocalIterator())),
        ]
        return [count / _seconds(run) for count, run in runs]


def _seconds(run: Callable[[], object]) -> float:
    run()
    began = time.monotonic()
    run()
    return time.monotonic() - began


def handed_over(batches: int) -> list[float]:
    """Microseconds from a task to an actor with state and back, of batches of 100 rows that come every 5 ms: median, and
    99th percentile. The first batches, for which modules are imported, do not count."""
    from benchmarks.hand_over import latencies

    found = np.array(latencies(WARM + batches, 100, 0.005)[WARM:]) * 1e6
    return [float(np.quantile(found, share)) for share in (0.5, 0.99)]


def streamed(batches: int) -> list[float]:
    """As `handed_over`, through the writer and the reader of streaming queries whose rows go through memory."""
    from benchmarks.hand_over import streamed_latencies

    found = np.array(streamed_latencies(WARM + batches, 100, 0.005)[WARM:]) * 1e6
    return [float(np.quantile(found, share)) for share in (0.5, 0.99)]


def called(function: str, rows: int) -> list[float]:
    found: list[float] = job.call(f"{__name__}:{function}", rows=rows)
    return found


def suite(settings: Settings) -> Suite:
    rows = settings.scale(10_000_000, 500_000)
    seconds = 2.0 if settings.quick else 8.0
    ours = (Case("source", "rows/s", against="identity"), Case("first-batch", "s"))
    in_order = Case("source-sorted", "rows/s", against="identity-sorted")
    theirs = (
        Case("no-op", "rows/s"),
        Case("identity", "rows/s", against="no-op"),
        Case("identity-sorted", "rows/s", against="no-op"),
        Case("local-iterator", "rows/s", against="identity"),
    )
    by_hand, on_spark = (
        Case("workers-by-hand", "rows/s"),
        Case("workers-on-spark", "rows/s", against="workers-by-hand"),
    )
    handed = (Case("hand-over-p50", "µs"), Case("hand-over-p99", "µs"))
    through = (Case("streams-p50", "µs"), Case("streams-p99", "µs"))
    notes = (
        f"{rows:,} rows of 5 columns (int64, float64) in Parquet, by time; local[*]",
        f"source: {LONGER} times the rows, from the first batch to the last, in a session that has run nothing else",
        "source-sorted: the same rows, which Spark has to sort; a first run, with the shuffle",
        "the others: the second run in one session",
        f"workers: rows that two exchange by key over ZeroMQ, launched by hand and with --on {CLUSTER}",
        "hand-over: 100 rows from the code of a task to an actor with state and back, every 5 ms; at most 20,000 wanted",
        "streams: the same through the writer and the reader of streaming queries, whose rows go through memory",
    )
    probes = (
        Probe(ours, partial(called, "source", LONGER * rows)),
        Probe(theirs, partial(called, "inside", rows)),
        Probe((in_order,), lambda: [source_sorted(rows)]),
        Probe((by_hand,), lambda: [exchanged(seconds)]),
        Probe((on_spark,), lambda: [exchanged(seconds, CLUSTER)]),
        Probe(handed, partial(handed_over, settings.scale(2000, 500))),
        Probe(through, partial(streamed, settings.scale(1000, 200))),
    )
    return Suite("spark", probes, notes=notes, summary=told)


def told(medians: Any) -> list[str]:
    """The ratios that matter."""
    found = {
        name: medians["source"] / medians[name]
        for name in ("no-op", "identity", "identity-sorted", "local-iterator")
    }
    in_order = medians["source-sorted"] / medians["identity-sorted"]
    return [
        *("source / " + name + f": {ratio:.2f}" for name, ratio in found.items()),
        f"source-sorted / identity-sorted: {in_order:.2f}",
    ]
