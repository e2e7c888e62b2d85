"""What pyarrow alone reaches on the files of `connectors`: read, or written, in bounded memory and with its
own threads."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet


def read(kind: str, path: str) -> float:
    """MB of the file a second: "csv" and "parquet" as a stream of batches, "jsonl" whole (pyarrow's only
    way; see `read_blocks`), "csv-table" whole, on all cores."""
    begun = time.monotonic()
    rows = READERS[kind](Path(path))
    seconds = time.monotonic() - begun
    if rows == 0:
        raise ValueError(f"{path} has no rows")
    return Path(path).stat().st_size / 1e6 / seconds


def read_csv(path: Path) -> int:
    with pyarrow.csv.open_csv(path) as reader:
        return sum(batch.num_rows for batch in reader)


def read_csv_table(path: Path) -> int:
    return pyarrow.csv.read_csv(path).num_rows


def read_jsonl(path: Path) -> int:
    with pyarrow.json.open_json(path) as reader:
        return sum(batch.num_rows for batch in reader)


def read_jsonl_table(path: Path) -> int:
    return pyarrow.json.read_json(path).num_rows


def read_parquet(path: Path) -> int:
    with pyarrow.parquet.ParquetFile(path) as file:
        return sum(batch.num_rows for batch in file.iter_batches())


READERS = {
    "csv": read_csv,
    "csv-table": read_csv_table,
    "jsonl": read_jsonl,
    "jsonl-table": read_jsonl_table,
    "parquet": read_parquet,
}


def write_csv(source: str, path: str) -> float:
    """MB of csv a second, of the batches of a parquet file that are in memory before."""
    table = pyarrow.parquet.read_table(source)
    batches = table.to_batches(max_chunksize=4096)
    begun = time.monotonic()
    with pyarrow.csv.CSVWriter(
        path, table.schema, write_options=pyarrow.csv.WriteOptions(quoting_style="needed")
    ) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return Path(path).stat().st_size / 1e6 / (time.monotonic() - begun)


def schema() -> pa.Schema:
    return pa.schema([("id", pa.int64()), ("ts", pa.int64()), ("value", pa.float64()), ("name", pa.string())])
