"""The files that `connectors` reads: generated once a size into the cache folder, the same rows in every format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.compiled import cache_folder

SCHEMA = {"id": "int", "ts": "int", "value": "float", "name": "str"}
"""As the key `schema` of a source has it."""
BLOCK = 65536


def generated(kind: str, rows: int) -> Path:
    """The path of the file of `rows` rows ("csv", "jsonl" or "parquet"), which is made unless it is there."""
    folder = cache_folder() / "data"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rows-{rows}.{kind}"
    if not path.exists():
        unfinished = folder / f"{path.name}.{os.getpid()}"
        WRITERS[kind](unfinished, table(rows))
        unfinished.replace(path)
    return path


def table(rows: int) -> pa.Table:
    """The rows: counters, uniform floats of a few digits, names of 8 to 20 letters."""
    random = np.random.default_rng(7)
    letters = random.choice(list("abcdefghijklmnopqrstuvwxyz"), (1000, 20))
    names = ["".join(row[: 8 + index % 13]) for index, row in enumerate(letters)]
    return pa.table(
        {
            "id": np.arange(rows),
            "ts": 1_700_000_000_000 + np.arange(rows) * 7,
            "value": random.integers(0, 10**8, rows) / 1000,
            "name": pa.array(names).take(pa.array(random.integers(0, len(names), rows))),
        }
    )


def write_csv(path: Path, rows: pa.Table) -> None:
    pyarrow.csv.write_csv(rows, path, pyarrow.csv.WriteOptions(quoting_style="needed"))


def write_jsonl(path: Path, rows: pa.Table) -> None:
    with path.open("w") as file:
        for batch in rows.to_batches(max_chunksize=BLOCK):
            file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in batch.to_pylist())


def write_parquet(path: Path, rows: pa.Table) -> None:
    pyarrow.parquet.write_table(rows, path)


WRITERS: dict[str, Callable[[Path, pa.Table], None]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
