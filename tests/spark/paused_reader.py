"""A spark-source whose actor stops reading for 10 s, over a table that is many times as large as what may be in memory:

    python -m tests.spark.paused_reader 40000000
    python -m tests.spark.paused_reader 26000000 48

makes a Parquet file by time, reads it by `spark-source` into an actor that stops half way, and prints the greatest memory of
Spark's Python tasks, of the worker, and of Java. With a second number, Spark sorts the rows, and may use so many MB of its heap
for that. Ends with status 1 if a row is missing, or tasks and worker together
have taken more than `MOST_BYTES` above what they take with a quarter of the rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from actorstream import Actor, Batch
from actorstream.spark.push import AHEAD_BYTES
from benchmarks.dataflow import COMMAND, toml
from benchmarks.job import ROOT
from benchmarks.suites.spark import COLUMNS, generated

PAUSE_S = 10.0
TASKS = 2
ROW_BYTES = 40
MOST_BYTES = TASKS * AHEAD_BYTES
LOOK_S = 0.1
HEAP_MB, RESERVED_MB = 384, 120
"""Of Java, and of that what Spark leaves to itself; `spark.memory.fraction` of the rest is for sorts and shuffles."""
SORTED_ROWS = 2_000_000


class Pausing(Actor):
    """Counts the rows, and stops once.

    Args:
        at: the number of the row at which it stops.
        into: the file that the result is written to.
    """

    def __init__(self, at: int, into: Path) -> None:
        self.at, self.into = at, into
        self.rows = self.sum = 0
        self.paused = False

    def on_batch(self, batch: Batch) -> None:
        self.rows += len(batch)
        self.sum += int(batch["ts"].sum())
        if self.rows > self.at and not self.paused:
            self.paused = True
            time.sleep(PAUSE_S)

    def on_end(self) -> None:
        self.into.write_text(json.dumps([self.rows, self.sum]))


def run(rows: int, sort_mb: int) -> dict[str, int]:
    """Reads so many rows, sorted by Spark with so much memory for that; 0: not sorted. Returns the greatest bytes of each kind
    of process. ValueError: rows are missing."""
    with tempfile.TemporaryDirectory(prefix="actorstream-paused-") as folder:
        into, topology = Path(folder) / "found.json", Path(folder) / "paused.toml"
        keys = {"path": str(generated(rows)), "event_time": "ts", "schema": COLUMNS, "tasks": TASKS}
        if sort_mb:
            settings = {
                '"spark.driver.memory"': f"{HEAP_MB}m",
                '"spark.testing.reservedMemory"': str(RESERVED_MB << 20),
                '"spark.memory.fraction"': f"{sort_mb / (HEAP_MB - RESERVED_MB):.3f}",
            }
            keys |= {"preprocess": "select * from input", "spark": settings, "range_rows": SORTED_ROWS}
        actors = {
            "rows": {"type": "spark-source", **keys},
            "reader": {"type": f"{__spec__.name}:Pausing", "inputs": ["rows"], "at": rows // 2, "into": into},
        }
        topology.write_text(toml("paused", actors))
        command = [str(COMMAND), "launch", str(topology), "--transport", "local", "--quiet"]
        most: dict[str, int] = {}
        with subprocess.Popen(command, cwd=ROOT) as process:
            while process.poll() is None:
                for kind, size in memory(process.pid).items():
                    most[kind] = max(most.get(kind, 0), size)
                time.sleep(LOOK_S)
        if process.returncode:
            raise ValueError(f"the run failed with exit code {process.returncode}")
        found = json.loads(into.read_text())
    if found != [rows, rows * (rows - 1) // 2]:
        raise ValueError(f"of {rows} rows with the sum {rows * (rows - 1) // 2}, {found} arrived")
    return most


def memory(root: int) -> dict[str, int]:
    """Resident bytes of a process and its descendants: of Java, of Spark's Python tasks, and of the others."""
    found = {"java": 0, "tasks": 0, "worker": 0}
    waiting = [root]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        try:
            command = (process / "cmdline").read_bytes()
            pages = int((process / "statm").read_text().split()[1])
            for thread in (process / "task").iterdir():
                waiting += [int(word) for word in (thread / "children").read_text().split()]
        except (OSError, ValueError):
            continue
        kind = "tasks" if b"pyspark.daemon" in command else "java" if b"java" in command[:200] else "worker"
        found[kind] += pages * 4096
    return found


def main(rows: int, sort_mb: int = 0) -> int:
    small, large = run(rows // 4, sort_mb), run(rows, sort_mb)
    for size, most in ((rows // 4, small), (rows, large)):
        told = ", ".join(f"{kind} {each >> 20} MB" for kind, each in most.items())
        print(f"{size:,} rows, {size * ROW_BYTES >> 20} MB of columns, a pause of {PAUSE_S:.0f} s: {told}")
    if sort_mb:
        print(
            f"the columns have {(rows * ROW_BYTES >> 20) / sort_mb:.0f} times as much as Spark may use for the sort"
        )
    more = sum(large[kind] - small[kind] for kind in ("tasks", "worker"))
    print(f"no row is missing; tasks and worker took {more >> 20} MB more, {MOST_BYTES >> 20} MB are allowed")
    return int(more > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
