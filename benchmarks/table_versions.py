"""What a version of a Delta or Iceberg table costs a checkpoint of `spark-sink`:

    python -m benchmarks.table_versions

A sink commits 300 checkpoints of 1,000 rows, each a file, into a folder, a Delta table, and an Iceberg table with a catalog in
SQLite. Prints the median of `commit` for the first 50 and the last 50."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.spark.sink import SparkSink

CHECKPOINTS = 300
SHOWN = 50
ROWS = 1_000


def seconds(folder: Path, keys: dict[str, Any]) -> list[float]:
    """Of each commit."""
    schema = Schema.from_dict({"number": "int", "share": "float"})
    sink = SparkSink(folder / "rows", **keys)
    sink.input_schema = schema
    sink.on_start()
    columns = {"number": list(range(ROWS)), "share": [number / 2 for number in range(ROWS)]}
    found = []
    for barrier in range(1, CHECKPOINTS + 1):
        sink.on_batch(Batch.of_columns(schema, columns))
        token = sink.prepare(barrier)
        began = time.monotonic()
        sink.commit(token)
        found.append(time.monotonic() - began)
    return found


def main() -> None:
    for format in ("parquet", "delta", "iceberg"):
        with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as scratch:
            keys: dict[str, Any] = {"format": format}
            if format == "iceberg":
                keys |= {
                    "table": "db.rows",
                    "catalog": {"type": "sql", "uri": f"sqlite:///{scratch}/catalog.db"},
                }
            found = seconds(Path(scratch), keys)
        first, last = (statistics.median(part) * 1000 for part in (found[:SHOWN], found[-SHOWN:]))
        print(f"{format}: {first:.1f} ms at first, {last:.1f} ms after {CHECKPOINTS} versions", flush=True)


if __name__ == "__main__":
    sys.exit(main())
