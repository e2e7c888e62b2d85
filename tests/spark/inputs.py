"""What tests of Spark read and run: files by time, a stream made of blocks, and the app Linear Road."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from actorstream.spark import StreamRows, from_blocks

from .written import Streams

DATABASE = {"url": "jdbc:derby:memory:flights;create=true", "dbtable": "named"}
"""In the JVM of the driver: Derby is a part of Spark."""


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


def written_as(spark: Any, what: str, path: Path) -> tuple[dict[str, Any], list[tuple[int, str]]]:
    """The keys of a source for rows that Spark has written as files of a format, into a database, or as a table of the
    session; and the rows by time."""
    rows = spark.range(500).selectExpr("(id * 7) % 500 as ts", "concat('row ', id) as name").coalesce(1)
    keys: dict[str, Any] = dict.fromkeys(("format", "options", "path", "preprocess"))
    if what == "jdbc":
        keys |= {"format": what, "options": DATABASE}
        rows.write.format(what).options(**DATABASE).save()
    elif what in ("table", "sql"):
        keys[what] = "named" if what == "table" else "select * from named"
        rows.createOrReplaceTempView("named")
    else:
        keys |= {"format": what, "path": path}
        rows.write.format(what).save(str(path))
    keys |= {"schema": {"ts": "int", "name": "str"}, "event_time": "ts"}
    return keys, sorted((number * 7 % 500, f"row {number}") for number in range(500))


TABLES = "tables"


def catalog_in(folder: Path) -> dict[str, str]:
    """Properties of an Iceberg catalog in a folder."""
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db"}


def table_of(format: str, folder: Path, rows: list[tuple[int, str]], **keys: Any) -> dict[str, Any]:
    """Writes rows into a table of the format by a spark-sink, in folders by name; the keys of a source that reads it."""
    from actorstream.connectors.sink import END
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.spark.sink import SparkSink

    where = {"table": "db.rows", "catalog": catalog_in(folder)} if format == "iceberg" else {}
    made = SparkSink(folder / TABLES, format=format, partition_by=["name"], **where, **keys)  # type: ignore[arg-type]
    made.input_schema = Schema.from_dict({"ts": "int", "name": "str?", "share": "float"})
    made.on_start()
    columns: dict[str, Any] = dict(zip(("ts", "name"), zip(*rows))) | {"share": [row[0] / 2 for row in rows]}
    made.on_batch(Batch.of_columns(made.input_schema, {name: list(each) for name, each in columns.items()}))
    made.commit(made.prepare(END))
    source: dict[str, Any] = dict.fromkeys(("options", "path", "preprocess"))
    schema = {"ts": "int", "name": "str?", "share": "float"}
    source |= {"format": format, **(where or {"path": folder / TABLES})}
    return {**source, "schema": schema, "event_time": "ts", "range_rows": 100}


@contextmanager
def module_of_the_driver(name: str) -> Iterator[ModuleType]:
    """A module with a function that processes of tasks cannot import."""
    module = ModuleType(name)
    exec("def run(rows): return rows", vars(module))
    module.run.__module__ = name
    sys.modules[name] = module
    try:
        yield module
    finally:
        del sys.modules[name]


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
