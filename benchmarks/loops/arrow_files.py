"""What pyarrow alone reaches on the files of `connectors`, with its own threads and in its fastest plain way."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

CHUNK = 4096


def read(way: str, path: str) -> float:
    """MB of the file a second; `way` is one of READERS."""
    begun = time.monotonic()
    rows = READERS[way](Path(path))
    seconds = time.monotonic() - begun
    if rows == 0:
        raise ValueError(f"{path} has no rows")
    return Path(path).stat().st_size / 1e6 / seconds


def csv(path: Path) -> int:
    with pyarrow.csv.open_csv(path) as reader:
        return sum(batch.num_rows for batch in reader)


def csv_table(path: Path) -> int:
    return pyarrow.csv.read_csv(path).num_rows


def jsonl(path: Path) -> int:
    with pyarrow.json.open_json(path) as reader:
        return sum(batch.num_rows for batch in reader)


def jsonl_table(path: Path) -> int:
    return pyarrow.json.read_json(path).num_rows


def parquet(path: Path) -> int:
    with pyarrow.parquet.ParquetFile(path) as file:
        return sum(batch.num_rows for batch in file.iter_batches())


def parquet_table(path: Path) -> int:
    return pyarrow.parquet.read_table(path).num_rows


READERS = {
    "csv": csv,
    "csv-table": csv_table,
    "jsonl": jsonl,
    "jsonl-table": jsonl_table,
    "parquet": parquet,
    "parquet-table": parquet_table,
}


def write_csv(rows: int, path: str) -> float:
    """MB of csv a second, written from batches in memory."""
    from benchmarks.files import table

    made = table(rows)
    batches = made.to_batches(max_chunksize=CHUNK)
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    begun = time.monotonic()
    with pyarrow.csv.CSVWriter(path, made.schema, write_options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    seconds = time.monotonic() - begun
    size = Path(path).stat().st_size
    Path(path).unlink()
    return size / 1e6 / seconds
