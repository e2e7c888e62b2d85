"""What tests of Spark read and run: files by time, a stream made of blocks, and the app Linear Road."""

from __future__ import annotations

import csv
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from actorstream.spark import StreamRows, from_blocks

from .written import Streams


def launched(folder: Path, reports: Path) -> dict[str, list[tuple[int, ...]]]:
    """Runs the app on the reports; output -> sorted rows."""
    names = ("new_segments", "tolls", "accident_alerts", "toll_charges")
    paths = {name: folder / f"{name}.csv" for name in names}
    settings = [f"actors.{name}.path={path}" for name, path in paths.items()]
    settings += [f"actors.segment_stats.path={folder}/stats.csv", f"actors.reports.path={reports}"]
    command = [sys.executable, "-m", "actorstream", "launch", "apps/linear_road/topology.toml"]
    subprocess.run([*command, *(part for each in settings for part in ("--set", each))], check=True)
    return {
        name: sorted(tuple(map(int, row)) for row in list(csv.reader(path.open()))[1:])
        for name, path in paths.items()
    }


def by_parts(spark: Any) -> Streams:
    def make(block: int) -> list[Any]:
        return [pa.table({"ts": [block, block + 10], "name": [f"a{block}", None]})]

    schema = pa.schema([("ts", pa.int64()), ("name", pa.string())])
    from pyspark.sql import functions as f

    rows = from_blocks(spark, make, 8, schema)
    file = f.floor(f.col("ts") / 5)
    return [StreamRows("mixed", rows, ("ts", "name"), ("ts", "block", "row"), file, "ts")]


def write_in_order(folder: Path) -> list[tuple[datetime, int, float | None]]:
    """Files whose row groups follow one another in time. Returns their rows by time."""
    folder.mkdir()
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [
        (start + timedelta(seconds=number // 3), number, None if number % 7 == 0 else number / 2)
        for number in range(5000)
    ]
    for file in range(2):
        part = rows[file * 2500 : file * 2500 + 2500]
        part[10:20] = part[19:9:-1]  # in a group, times may descend
        columns = dict(zip(("ts", "number", "share"), zip(*part)))
        types = [("ts", pa.timestamp("us", "UTC")), ("number", pa.int64()), ("share", pa.float64())]
        table = pa.table(columns, schema=pa.schema(types))
        pq.write_table(table, folder / f"{'ba'[file]}.parquet", row_group_size=300)
    return rows
