"""The hand-over between Spark and an actor, in two ways. Spark itself does not run: how long its micro-batches take is its own
affair.

As a spark-source has it: a task's code pushes small batches into a `spark-source`, an actor with state answers each row, and the
rows come back to the task as those of Spark's format `actorstream` do. As streaming queries have it that go through memory: a
task sends rows, the query commits them, and another query reads what comes back."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from actorstream import Actor, Event
from actorstream.dataframes.run_beside import LOCK
from actorstream.dataframes.topology_run import TopologyOptions, TopologyRun, rows_of
from actorstream.spark.push import Target, encoded, push
from actorstream.spark.source import SparkSource
from benchmarks.dataflow import toml
from benchmarks.job import ROOT

COLUMNS = {"number": "int", "key": "int", "sent": "int"}
KEYS = 10
ADDRESS = "address.json"
POLL_S = 0.001


class Announcement:
    """In the place of Spark's driver: writes where the source listens into a file in the folder that is its `path`."""

    def __init__(self, task: dict[str, Any], hear: Callable[[dict[str, Any]], None]) -> None:
        table = {"rows": 0, "digest": 0, "least": None, "greatest": None, "bounds": []}
        hear({"table": table})
        path = Path(task["path"]) / ADDRESS
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(task["lanes"]["0"]))
        partial.replace(path)

    def stop(self) -> None:
        """Nothing runs."""


class PushedRows(SparkSource):
    """A `spark-source` whose only task is the benchmark."""

    start_driver = Announcement


class Answer(Event):
    number: int
    seen: int
    sent: int


class Running(Actor):
    """How often a key has been seen."""

    def __init__(self) -> None:
        self.state: dict[int, int] = {}

    def on_event(self, event: Any) -> Answer:
        self.state[event.key] = seen = self.state.get(event.key, 0) + 1
        return Answer(event.number, seen, event.sent)


def latencies(batches: int, rows: int, every_s: float) -> list[float]:
    """Seconds from when a batch is made to when all its answers are back in the task. ValueError: rows are missing."""
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        keys = {"path": folder, "event_time": "number", "schema": COLUMNS, "tasks": 1}
        actors = {
            "rows": {"type": f"{__name__}:PushedRows", **keys},
            "running": {"type": f"{__name__}:Running", "inputs": ["rows"]},
            "answers": {"type": "null-sink", "inputs": ["running"]},
        }
        topology = Path(folder) / "hand-over.toml"
        topology.write_text(toml("hand-over", actors))
        options = TopologyOptions.of({"topology": str(topology), "set": 'deploy.transport="local"'})
        task = threading.Thread(
            target=_push, args=(Path(folder) / ADDRESS, batches, rows, every_s), daemon=True
        )
        task.start()
        arrived, found = 0, []
        for answers in rows_of(options, "answers"):
            now = time.monotonic_ns()
            numbers, sent = answers.column("number").to_pylist(), answers.column("sent").to_pylist()
            arrived += len(numbers)
            found += [(now - at) / 1e9 for number, at in zip(numbers, sent) if number % rows == rows - 1]
        task.join()
    if arrived != batches * rows:
        raise ValueError(f"{batches * rows} rows were pushed and {arrived} came back")
    return found


def _push(place: Path, batches: int, rows: int, every_s: float) -> None:
    while not place.exists():
        time.sleep(0.01)
    push(Target(*json.loads(place.read_text())), 0, 0, encoded(_made(batches, rows, every_s)))


def _made(batches: int, rows: int, every_s: float) -> Iterator[Any]:
    import pyarrow as pa

    for batch in range(batches):
        time.sleep(every_s)
        numbers = range(batch * rows, (batch + 1) * rows)
        columns = {"number": numbers, "key": [number % KEYS for number in numbers]}
        yield pa.record_batch({**columns, "sent": [time.monotonic_ns()] * rows})


def streamed_latencies(batches: int, rows: int, every_s: float) -> list[float]:
    """As `latencies`, through the writer and the reader of streaming queries. Needs pyspark, for their base classes."""
    from actorstream.dataframes.memory_streams import MemoryRun

    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        schema = {"event_time": "number", "schema": COLUMNS}
        actors = {
            "rows": {"type": "generator-source", **schema},
            "running": {"type": f"{__name__}:Running", "inputs": ["rows"]},
            "answers": {"type": "null-sink", "inputs": ["running"]},
        }
        topology = Path(folder) / "streamed.toml"
        topology.write_text(toml("streamed", actors))
        options = TopologyOptions.of(
            {
                **{"topology": str(topology), "folder": f"{folder}/run", "through": "memory"},
                "set": 'deploy.transport="local"',
            }
        )
        folder_lock = Path(folder) / "run" / LOCK
        folder_lock.parent.mkdir()
        with folder_lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # so that the queries start no run of their own
            run = TopologyRun(options, MemoryRun(options).sets)
            try:
                return list(_read_back(options, batches, rows, every_s))
            finally:
                run.stop()


def _read_back(options: TopologyOptions, batches: int, rows: int, every_s: float) -> Iterator[float]:
    from actorstream.dataframes.memory_streams import MemoryStreamReader

    reader = MemoryStreamReader(options)
    words = [json.dumps(each) for each in (options, batches, rows, every_s)]
    with subprocess.Popen([sys.executable, "-m", __name__, *words], cwd=ROOT) as writing:
        at = reader.initialOffset()
        while at["rows"] < batches * rows:
            end = reader.latestOffset()
            if end["rows"] == at["rows"]:
                if writing.poll():
                    raise ValueError(f"the writer failed with exit code {writing.returncode}")
                time.sleep(POLL_S)
                continue
            for answers in reader.read(reader.partitions(at, end)[0]):
                now = time.monotonic_ns()
                numbers, sent = answers.column("number").to_pylist(), answers.column("sent").to_pylist()
                yield from (
                    (now - made) / 1e9 for number, made in zip(numbers, sent) if number % rows == rows - 1
                )
            reader.commit(end)
            at = end


def _write(options: TopologyOptions, batches: int, rows: int, every_s: float) -> None:
    from actorstream.dataframes.memory_streams import MemoryStreamWriter

    writer = MemoryStreamWriter(options)
    for number, batch in enumerate(_made(batches, rows, every_s)):
        writer.commit([writer.send(iter([batch]), number, 0)], number)


if __name__ == "__main__":
    given, *numbers = map(json.loads, sys.argv[1:])
    _write(TopologyOptions(*given), *numbers)
