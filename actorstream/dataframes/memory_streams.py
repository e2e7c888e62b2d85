"""The reader and the writer of streaming queries whose rows go to a topology and back through memory: no file is written. The
run lives beside Spark's driver, and both queries name its folder."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import (
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from actorstream.dataframes.memory_link import INPUT, OUTPUT, MemoryLink, answered
from actorstream.dataframes.run_beside import RunBeside
from actorstream.dataframes.topology_run import TopologyOptions, replaced
from actorstream.errors import ConfigurationError, Problem

SOURCE = "actorstream.dataframes.memory_actors:QuerySource"
SINK = "actorstream.dataframes.memory_actors:QuerySink"


class MemoryRun:
    """The run that the queries of a folder share.

    Args:
        options: of either query; both name the same input and output.
    """

    def __init__(self, options: TopologyOptions) -> None:
        graph = options.graph()
        self.options, self.folder = options, Path(options.folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        keys = {"replicas": 1, "folder": str(self.folder), "host": options.host}
        self.sets = replaced(options.source(graph), type=SOURCE, **keys)
        self.sets += replaced(options.sink(graph), type=SINK, **keys)

    def start(self) -> None:
        """Starts it unless it runs. RunError: it has failed since the last call."""
        RunBeside(self.folder, self.options, self.sets, resumes=False).start()


@dataclass
class MemoryPart(WriterCommitMessage):  # type: ignore[misc]
    """Rows that a task has sent."""

    task: int
    attempt: str


class MemoryStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Tasks send the rows of a batch to the source, which gives them to actors, in the order of the tasks, once the batch is
    committed. Spark then waits until actors have taken them all, so there is one batch in memory at most."""

    def __init__(self, options: TopologyOptions) -> None:
        self._run = MemoryRun(options)
        self._link = MemoryLink(self._run.folder, INPUT)
        self._run.start()

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            return self.send(iterator, 0, 0)
        number = context.getLocalProperty("streaming.sql.batchId")
        return self.send(iterator, int(number or 0), context.partitionId())

    def send(self, batches: Iterator[Any], number: int, task: int) -> MemoryPart:
        """Sends the rows of a task of a batch of the query."""
        import pyarrow as pa

        first = next(batches, None)
        if first is None:
            return MemoryPart(task, "")
        attempt = secrets.token_hex(8)

        def write(out: Any) -> None:
            with pa.ipc.new_stream(out, first.schema) as stream:
                stream.write_batch(first)
                for batch in batches:
                    stream.write_batch(batch)

        self._link.send(write, what="rows", batch=number, attempt=attempt)
        return MemoryPart(task, attempt)

    def commit(self, messages: list[Any], batchId: int) -> None:
        self._run.start()
        parts = [[part.task, part.attempt] for part in messages if part is not None and part.attempt]
        self._link.get(what="commit", batch=batchId, parts=parts)

    def abort(self, messages: list[Any], batchId: int) -> None:
        """Nothing: rows that were sent count only once their batch is committed, and go with the next one that is."""


@dataclass
class MemoryRange(InputPartition):  # type: ignore[misc]
    """Rows by their numbers."""

    start: int
    end: int
    run: str


class MemoryStreamReader(DataSourceStreamReader):  # type: ignore[misc]
    """An offset is a number of rows of a run, which keeps them until they are committed."""

    def __init__(self, options: TopologyOptions) -> None:
        self._run = MemoryRun(options)
        self._link = MemoryLink(self._run.folder, OUTPUT)

    def initialOffset(self) -> dict[str, Any]:
        return {"rows": 0, "run": ""}

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, Any]:
        self._run.start()
        return self._link.get(what="count")

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        run = end["run"] if start["run"] in ("", end["run"]) else start["run"]
        return [MemoryRange(start["rows"], end["rows"], run)]

    def read(self, partition: Any) -> Iterator[Any]:
        import pyarrow as pa

        question = {"start": partition.start, "end": partition.end, "run": partition.run}
        file = self._link.ask(what="read", **question)
        answered(file)
        yield from pa.ipc.open_stream(file)

    def commit(self, end: dict[str, Any]) -> None:
        self._link.get(what="drop", end=end["rows"], run=end["run"])

    def stop(self) -> None:
        """Nothing: the other query may still use the run, which ends with Spark's driver."""


def check_options(options: TopologyOptions) -> bool:
    """Whether rows go through memory. ConfigurationError: an option does not fit."""
    if options.through not in ("files", "memory"):
        raise ConfigurationError(Problem("through", f"is {options.through!r}", "files or memory"))
    return options.through == "memory"
