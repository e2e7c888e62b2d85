"""spark-source: the rows of anything that Spark reads, by time. Spark's tasks push them here; no row passes the driver."""

from __future__ import annotations

import asyncio
import glob
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Unpack

import numpy as np
from msgspec import Meta

from actorstream.connectors.rows import batch_of, leave_out_misfits
from actorstream.connectors.source import NO_MORE, Source
from actorstream.connectors.source_keys import SourceKeys
from actorstream.errors import ConfigurationError, NotInstalledError, Problem
from actorstream.spark.driver_process import DriverProcess
from actorstream.spark.hub import FINISHED, HUB, OWN_HOST, HubDriver, hub_missing
from actorstream.spark.lanes import times_of
from actorstream.spark.push import Target
from actorstream.spark.receiver import Receiver
from actorstream.spark.session import LOCAL

if TYPE_CHECKING:
    from actorstream.actors.contract import Contract
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.topology.graph import GraphActor

Url = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*://", description="a URL")]
BATCH_ROWS = 16_384
RANGE_ROWS = 10_000_000
TASKS = 2


class SparkSource(Source):
    """Reads what Spark reads, as one sequence by time: Spark sorts, several tasks push at the same time.

    Args:
        path: a file, folder or glob, or the URL of one that Spark can reach ("s3a://bucket/folder"); or
        table: the name of a table; or
        sql: a query.
        format: what `path` is: parquet (unless set), csv, json, orc, delta, iceberg, …; jdbc needs no path.
        catalog: of `format = "iceberg"` with `table`: the properties of the table's catalog, as PyIceberg takes them.
        options: of Spark's reader, such as `{ header = "true" }`.
        preprocess: SQL over the view `input`, which is what was read.
        event, schema: the fields; columns are found by name. One of the two is needed.
        master: where Spark runs.
        host: the address at which executors on other hosts reach this one; unless set, they are on this host. What they send
            is encrypted, which needs actorstream[zmq] there and here.
        tasks: how many push at the same time; at most as many as Spark has slots.
        partitions: sequences by time that the rows come as, one a replica; each has the rows of some of the tasks.
        range_rows: rows, about, that Spark sorts at once; such ranges of time go one after the other.
        batch_rows: rows that are sent at once.
        spark: settings of the session.
        logs: shows Spark's logs on stderr.
    """

    start_driver: ClassVar[Callable[..., Any]] = DriverProcess
    """Starts Spark: called with what it has to do, and who hears what it says."""

    def __init__(
        self,
        *,
        path: Url | Path | None = None,
        table: str | None = None,
        sql: str | None = None,
        format: str | None = None,
        options: dict[str, str] | None = None,
        catalog: dict[str, str] | None = None,
        preprocess: str | None = None,
        master: str = LOCAL,
        host: str = "",
        tasks: int = TASKS,
        partitions: int = 1,
        range_rows: int = RANGE_ROWS,
        batch_rows: int = BATCH_ROWS,
        spark: dict[str, str] | None = None,
        logs: bool = False,
        **keys: Unpack[SourceKeys],
    ) -> None:
        super().__init__(**keys)
        self._task: dict[str, Any] = {
            **{
                "path": str(path) if path is not None else None,
                "table_name": table,
                "sql": sql,
                "format": format,
            },
            **{
                "options": options or {},
                "catalog": catalog or {},
                "preprocess": preprocess,
                "master": master,
                "tasks": tasks,
            },
            **{"range_rows": range_rows, "batch_rows": batch_rows, "spark": spark or {}, "logs": logs},
        }
        self._state: dict[str, Any] = {"table": None, "range": 0, "lanes": None, "rows": 0, "task": None}
        self._state["finished"] = False
        self._host, self._partitions = host or os.environ.get(OWN_HOST, ""), partitions
        self._receiver: Receiver | None = None
        self._driver: DriverProcess | HubDriver | None = None
        self._woken = asyncio.Event()
        self._given = 0
        self._bound: int | None = None

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return replace(super().contract_of(keys), replicas_meet=keys.get("partitions", 1) != 1)

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = super().check(keys, inputs, base)
        if find_spec("pyspark") is None:
            problems.append(Problem("type", str(NotInstalledError("spark-source", "spark"))))
        given = [name for name in ("path", "table", "sql") if keys.get(name)]
        if len(given) != 1 and not (not given and keys.get("format")):
            what = f"{' and '.join(given)} are given" if given else "is missing"
            problems.append(
                Problem("path", what, "one of path, table and sql (or a format that needs no path)")
            )
        if keys.get("catalog") and (keys.get("format") != "iceberg" or not keys.get("table")):
            problems.append(Problem("catalog", "is given", 'with format = "iceberg" and `table`'))
        if keys.get("event") is None and not keys.get("schema"):
            hint = "the table is not opened before the run, since that would start Spark"
            problems.append(Problem("schema", "is missing", "the fields and their types, or `event`", hint))
        path, master = str(keys.get("path") or ""), str(keys.get("master") or LOCAL)
        is_here = "://" not in path and master.startswith("local")  # a cluster may see other files
        if path and is_here and not Path(path).exists() and not glob.glob(path):  # noqa: PTH207 - Path.glob takes no absolute ones
            problems.append(Problem("path", f"{path!r} does not exist", "a file, a directory, or a glob"))
        if keys.get("host") and find_spec("zmq") is None:
            problems.append(Problem("host", str(NotInstalledError("spark-source with host", "zmq"))))
        for name in ("tasks", "partitions", "range_rows", "batch_rows"):
            if name in keys and keys[name] < 1:
                problems.append(Problem(name, f"is {keys[name]}", "at least 1"))
        if keys.get("partitions", 1) > keys.get("tasks", TASKS):
            what = f"is {keys['partitions']}, and {keys.get('tasks', TASKS)} tasks push"
            problems.append(Problem("partitions", what, "at most as many as tasks"))
        if keys.get("partitions", 1) > 1 and keys.get("count") is not None:
            problems.append(Problem("count", "is given with several partitions", "with one partition"))
        if keys.get("repeat", 1) != 1:
            problems.append(
                Problem("repeat", f"is {keys['repeat']}", "1", "Spark sorts the whole table once")
            )
        return problems

    # -- the source protocol ------------------------------------------------------------------------------

    def partitions(self) -> list[str]:
        return [str(number) for number in range(self._partitions)]

    def open(self, partitions: list[str]) -> None:
        """Raises ConfigurationError unless each partition has a replica of its own."""
        super().open(partitions)
        if len(partitions) != 1:
            replicas = self._context.replicas if self._context is not None else 1
            what = f"is {self._partitions}, and replicas is {replicas}"
            raise ConfigurationError(Problem("partitions", what, f"partitions = {replicas}"))
        self.origin = int(partitions[0])

    async def read(self, max_rows: int) -> Batch | None:  # type: ignore[override]
        if not self._opened:
            return None
        if self._receiver is None:
            self._start(asyncio.get_running_loop())
        receiver = self._receiver
        assert receiver is not None
        while True:
            self._woken.clear()
            most = max_rows if self.count is None else min(max_rows, self.count - self._state["rows"])
            if most <= 0:
                break
            if (found := receiver.take(most)) is not None:
                return self._batch(*found)
            if receiver.ended and self._state["table"] is not None:
                if receiver.number >= len(self._state["table"]["bounds"]):
                    break
                receiver.next_range()
                if self._partitions > 1:
                    return self._heartbeat(receiver.number)
                continue
            await self._woken.wait()
        self._bound, self._state["finished"] = NO_MORE, True
        if isinstance(self._driver, HubDriver):
            self._driver.finish()
        self.on_stop()
        return None

    def position(self) -> dict[str, int]:
        return {str(self.origin): self._state["rows"]}

    def seek(self, positions: dict[str, int]) -> None:
        """Only what `kept_position` said can be gone back to."""
        if any(positions.values()):
            raise ConfigurationError("spark-source goes back to a checkpoint only, not to a number of rows")

    def kept_position(self) -> Mapping[str, Any]:
        if self._event_rows.held is not None:
            return self._event_rows.held
        kept = dict(self._state)
        if self._receiver is not None:
            kept |= {"range": self._receiver.number, "lanes": self._receiver.kept()}
        return {**kept, "positions": self.position(), "given": self._given, "bound": self._bound}

    def take_back(self, kept: Mapping[str, Any]) -> None:
        self._state = {name: kept.get(name) for name in self._state}
        self._given, self._bound = kept["given"], kept["bound"]
        if self._state["task"] is not None:
            self._task |= self._state["task"]  # batches and lanes must be cut as before
        if self._state["finished"] and self._partitions > 1:
            self._driver = self._meet(FINISHED)

    def lower_bound(self, now_ns: int) -> int | None:
        return self._bound

    def on_stop(self) -> None:
        if self._receiver is not None:
            self._receiver.close()
        if self._driver is not None:
            self._driver.stop()

    # -- inside -------------------------------------------------------------------------------------------

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        def wake() -> None:
            try:
                loop.call_soon_threadsafe(self._woken.set)
            except RuntimeError:
                pass  # the loop has ended

        schema, state = self.row_schema(), self._state
        cut = {name: self._task[name] for name in ("tasks", "batch_rows")}
        state["task"] = cut
        lanes = own_lanes(cut["tasks"], self._partitions, self.origin)
        self._receiver = Receiver(
            lanes, self._times, wake, state["range"], state["lanes"], self._host, self._tell_lack
        )
        state["lanes"] = None
        target = Target(self._receiver.address, self._receiver.token, self._host)
        task = {
            **{**self._task, "table": state["table"], "range": state["range"]},
            **{"columns": list(schema.names()), "event_time": schema.event_time},
            "lanes": dict.fromkeys(map(str, lanes), target),
        }
        if self._partitions > 1 or (HUB in os.environ and self._task["master"] == LOCAL):
            self._driver = self._meet(task)
        else:
            self._driver = self.start_driver(task, self._hear)

    def _meet(self, task: Mapping[str, Any]) -> HubDriver:
        if HUB not in os.environ:
            raise hub_missing()
        return HubDriver(self._name(), self.origin, self._partitions, task, self._hear)

    def _tell_lack(self, lacks: bool) -> None:
        if isinstance(self._driver, HubDriver):
            self._driver.tell_lack(lacks)

    def _heartbeat(self, number: int) -> Batch:
        """No rows: what this replica promises when its rows of a range have ended, which others may wait for."""
        from actorstream.events.batch import Batch

        schema, table = self.row_schema(), self._state["table"]
        if schema.event_time is not None:
            start = (table["starts"] or table["bounds"])[number - 1]
            self._bound = start if self._bound is None else max(start, self._bound)
        return Batch.of_columns(schema, {name: [] for name in schema.names()})

    def _hear(self, line: dict[str, Any]) -> None:
        """Takes what the driver says; in a thread of its own."""
        if self._receiver is None:
            return  # all rows were given before a restart
        if "say" in line:
            print(f"{self._name()}: {line['say']}", file=sys.stderr, flush=True)
        elif "table" in line:
            self._state["table"] = line["table"]
        elif "begun" in line:
            self._receiver.begin_range(line["begun"])
        elif "others_lack" in line:
            self._receiver.others_lack = line["others_lack"]
        elif "ended" in line:
            self._receiver.end_range(line["ended"])
        elif "error" in line:
            self._receiver.fail(line["error"])

    def _batch(self, rows: Any, time: int) -> Batch:
        schema = self.row_schema()
        batch, misfits = batch_of(schema, {name: rows.column(name) for name in schema.names()})
        leave_out_misfits(self, rows, misfits, self._state["rows"], self._name())
        self._state["rows"] += rows.num_rows
        self.row = self._given
        self._given += batch.rows
        if schema.event_time is not None:
            self._bound = time
        return batch

    def _times(self, rows: Any) -> np.ndarray:
        name = self.row_schema().event_time
        return np.zeros(rows.num_rows, np.int64) if name is None else times_of(rows.column(name))

    def _name(self) -> str:
        return self._context.name if self._context is not None else type(self).__name__


def own_lanes(tasks: int, partitions: int, number: int) -> range:
    """The tasks whose rows are those of a partition. Neighbours are together, so that the order of all rows, by time and then
    by task, is the same whatever the number of partitions."""
    return range(tasks * number // partitions, tasks * (number + 1) // partitions)


def tasks_in_application(source: GraphActor) -> int:
    """How many tasks of an actor, or of the sources in its keys, run in the application of `launch --on`: none where another
    `master` is named."""
    tables = [(source.cls, source.keys)]
    tables += [(each.cls, each.keys) for each in source.keys.values() if hasattr(each, "cls")]
    return sum(
        keys.get("tasks", TASKS)
        for cls, keys in tables
        if issubclass(cls, SparkSource) and keys.get("master", LOCAL) == LOCAL
    )
