"""`connectors`: files into batches and batches into files, against pyarrow alone on the same files."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import ClassVar

from actorstream import Batch, Event, Source
from benchmarks import job
from benchmarks.dataflow import INTO, Actors, launch
from benchmarks.files import SCHEMA, generated, table
from benchmarks.meter import note
from benchmarks.suite import Probe, Settings, Suite, probe

ROWS = {"csv": 2_500_000, "jsonl": 1_500_000, "parquet": 5_000_000}
QUICK_SHARE = 5


class Row(Event):
    """A row of the generated files."""

    id: int
    ts: int
    value: float
    name: str


class Rows(Source):
    """The generated rows from memory, once; notes when they began to flow."""

    outputs: ClassVar = {"default": Row}

    def __init__(self, into: Path, rows: int) -> None:
        self.into, self.rows = into, rows
        self.batches: list[Batch] = []
        self.number = 0
        self.begun_ns = 0

    def on_start(self) -> None:
        self.batches = [
            Batch.from_arrow(Row, batch) for batch in table(self.rows).to_batches(max_chunksize=4096)
        ]

    def read(self, max_rows: int) -> Batch | None:
        if not self.begun_ns:
            self.begun_ns = time.time_ns()
        if self.number == len(self.batches):
            return None
        self.number += 1
        return self.batches[self.number - 1]

    def on_stop(self) -> None:
        note(self, "rows", begun_ns=self.begun_ns)


def read(kind: str, rows: int) -> float:
    """MB of the file a second, from the source's start to the last batch's arrival at the sink, in one process."""
    path = generated(kind, rows)
    declared = {} if kind == "parquet" else {"schema": SCHEMA}
    actors: Actors = {
        "rows": {"type": f"{kind}-source", "path": str(path), **declared},
        "meter": {"type": "benchmarks.meter:Meter", "inputs": ["rows"], "into": INTO},
    }
    meter = launch(f"read-{kind}", actors, transport="local", workers=1).of("meter")
    if meter["rows"] != rows:
        raise ValueError(f"{path} has {rows} rows and {meter['rows']} arrived")
    return path.stat().st_size / 1e6 / ((meter["ended_ns"] - meter["started_ns"]) / 1e9)


def write(rows: int) -> float:
    """MB of csv a second, from the first batch to the file's last write (its modification time: before fsync)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        actors: Actors = {
            "rows": {"type": "benchmarks.suites.connectors:Rows", "rows": rows, "into": INTO},
            "file": {"type": "csv-sink", "inputs": ["rows"], "path": str(path)},
        }
        begun_ns = launch("write-csv", actors, transport="local", workers=1).of("rows")["begun_ns"]
        made = path.stat()
        return made.st_size / 1e6 / ((made.st_mtime_ns - begun_ns) / 1e9)


def arrow_read(way: str, kind: str, rows: int) -> float:
    return float(job.call("benchmarks.loops.arrow_files:read", way=way, path=str(generated(kind, rows))))


def arrow_write(rows: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.csv")
        return float(job.call("benchmarks.loops.arrow_files:write_csv", rows=rows, path=path))


def suite(settings: Settings) -> Suite:
    probes: list[Probe] = []
    sizes = {kind: settings.scale(rows, rows // QUICK_SHARE) for kind, rows in ROWS.items()}
    for kind, rows in sizes.items():
        against = f"pyarrow-{kind}-read"
        probes.append(probe(f"{kind}-read", "MB/s", partial(read, kind, rows), against=against))
        probes.append(probe(against, "MB/s", partial(arrow_read, kind, kind, rows)))
        whole = partial(arrow_read, f"{kind}-table", kind, rows)
        probes.append(probe(f"pyarrow-{kind}-table", "MB/s", whole, against=against))
    rows = sizes["csv"]
    probes.append(probe("csv-write", "MB/s", partial(write, rows), against="pyarrow-csv-write"))
    probes.append(probe("pyarrow-csv-write", "MB/s", partial(arrow_write, rows)))
    notes = (
        "pyarrow-*-read: its streaming reader, bounded memory; pyarrow-*-table: the whole file at once",
        "MB are 10^6 bytes of the file; a parquet file's bytes are compressed ones",
    )
    return Suite("connectors", tuple(probes), notes)
