"""The hand-over between a Spark task and an actor: the task's code pushes small batches into a `spark-source`, an actor with
state answers each row, and the rows come back to the task as those of Spark's format `actorstream` do. Spark itself does not
run: how long its micro-batches take is its own affair."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from actorstream import Actor, Event
from actorstream.dataframes.topology_run import TopologyOptions, rows_of
from actorstream.spark.push import Target, encoded, push
from actorstream.spark.source import SparkSource
from benchmarks.dataflow import toml

COLUMNS = {"number": "int", "key": "int", "sent": "int"}
KEYS = 10
ADDRESS = "address.json"


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
