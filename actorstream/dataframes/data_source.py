"""The format `actorstream` of Spark: what Spark calls to read a topology's output and to give it input. Runs nothing itself."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from actorstream.dataframes.memory_streams import MemoryStreamReader, MemoryStreamWriter, check_options
from actorstream.dataframes.run_beside import RunBeside
from actorstream.dataframes.topology_run import TopologyOptions, TopologyRun, replaced, rows_of
from actorstream.errors import ConfigurationError, Problem
from actorstream.spark.arrow_rows import arrow_schema, as_spark_has
from actorstream.spark.stream_source import batch_folder

_NUMBER = re.compile(r"-(\d+)\.parquet$")
VISIBLE = "actorstream.dataframes.replacing:VisibleRows"
GIVEN = "actorstream.dataframes.replacing:GivenRows"
STREAMED = "actorstream.dataframes.replacing:StreamedRows"


class ActorstreamDataSource(DataSource):  # type: ignore[misc]
    """Options: `topology` (or what `load` is given), `output` (a sink; may be left out if there is one), `input` (a source,
    likewise), `set` (overrides, one a line), `deploy`, `folder`, `every`, `through` and `host` (of streaming queries)."""

    @classmethod
    def name(cls) -> str:
        return "actorstream"

    def schema(self) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        options = TopologyOptions.of(self.options)
        graph = options.graph()
        return from_arrow_schema(arrow_schema(graph.actors[options.sink(graph)].input_schemas[0]))

    def reader(self, schema: Any) -> DataSourceReader:
        options = TopologyOptions.of(self.options)
        return TopologyReader(options, options.sink(options.graph()))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        options = TopologyOptions.of(self.options)
        if not options.folder:
            raise ConfigurationError(
                Problem("folder", "is missing", "where the rows and checkpoints of the topology's run lie")
            )
        if check_options(options):
            return MemoryStreamReader(options)
        return TopologyStreamReader(options, options.sink(options.graph()))

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        options = TopologyOptions.of(self.options)
        graph = options.graph()
        source = options.source(graph)
        return TopologyWriter(options, source, schema)

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamArrowWriter:
        options = TopologyOptions.of(self.options, needs_topology=False)
        if not options.folder:
            raise ConfigurationError(
                Problem("folder", "is missing", "where the query puts its rows, and the topology reads them")
            )
        if check_options(options):
            return MemoryStreamWriter(options)
        source = options.source(options.graph()) if options.topology else ""
        return TopologyStreamWriter(options, source)


class TopologyReader(DataSourceReader):  # type: ignore[misc]
    """Runs the topology in one task, and gives the rows of a sink as they come."""

    def __init__(self, options: TopologyOptions, sink: str) -> None:
        self.options, self.sink = options, sink

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        yield from rows_of(self.options, self.sink)


@dataclass
class RowFile(InputPartition):  # type: ignore[misc]
    """A file whose rows are visible."""

    path: str


class TopologyStreamReader(DataSourceStreamReader):  # type: ignore[misc]
    """Runs the topology beside the driver, with checkpoints; its rows are a spark-sink's files, which stay. An offset is a
    number of files, so Spark may ask for the same rows again, and a query that starts again goes on where it was."""

    def __init__(self, options: TopologyOptions, sink: str) -> None:
        self.options, self.sink = options, sink
        self.rows = Path(options.folder) / "rows"
        self._run: TopologyRun | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"files": 0}

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:
        if self._run is None:
            checkpoints = ["deploy.checkpoint.path", str(Path(self.options.folder).absolute() / "state")]
            sets = replaced(self.sink, type=VISIBLE, replicas=1, path=str(self.rows.absolute()))
            sets.append("=".join(checkpoints))
            sets.append(f"deploy.checkpoint.every={self.options.every}")
            self._run = TopologyRun(self.options, sets, "--resume")
        self._run.check()
        return {"files": len(self._files())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [RowFile(path) for path in self._files()[start["files"] : end["files"]]]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(partition.path) as file:
            yield from map(as_spark_has, file.iter_batches())

    def commit(self, end: dict[str, int]) -> None:
        """Nothing: the files stay, since the topology's run may be asked for them again."""

    def stop(self) -> None:
        if self._run is not None:
            self._run.stop()

    def _files(self) -> list[str]:
        """The visible files by number, up to the first that is missing."""
        found = {
            int(match[1]): str(path)
            for path in self.rows.glob("*.parquet")
            if (match := _NUMBER.search(path.name))
        }
        return [found[number] for number in takewhile(found.__contains__, count())]


@dataclass
class WrittenPart(WriterCommitMessage):  # type: ignore[misc]
    """A file of rows that a task has written; "": it had none."""

    task: int
    path: str


class TopologyWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Gives a DataFrame's rows to a source of the topology: tasks write files, and when all have, the topology runs on
    them, the rows of one task after those of the other. The query fails if the run does. `schema`: of the rows, as Spark's."""

    def __init__(self, options: TopologyOptions, source: str, schema: Any) -> None:
        self.options, self.source, self.schema = options, source, schema
        self.folder = tempfile.mkdtemp(prefix="actorstream-rows-", dir=options.folder or None)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return written_part(iterator, self.folder)

    def commit(self, messages: list[Any]) -> None:
        try:
            move_parts(messages, self.folder)
            if not any(part is not None and part.path for part in messages):
                write_no_rows(self.schema, f"{self.folder}/part-000000.parquet")
            sets = replaced(self.source, type=GIVEN, replicas=1, path=self.folder)
            run = TopologyRun(self.options, sets)
            try:
                run.wait()
            finally:
                run.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def abort(self, messages: list[Any]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class TopologyStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Gives the batches of a streaming query to a topology that runs all the time: to one that the user has launched with a
    spark-stream-source, or else one that is started beside Spark's driver and ends with it. Spark may commit a batch again;
    the one that is there counts."""

    def __init__(self, options: TopologyOptions, source: str) -> None:
        self.options, self.source = options, source
        self.folder = Path(options.folder).absolute()
        self.rows = self.folder / "rows"
        self.rows.mkdir(parents=True, exist_ok=True)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return written_part(iterator, str(self.rows))

    def commit(self, messages: list[Any], batchId: int) -> None:
        self._check_query(batchId)
        whole = batch_folder(self.rows, batchId)
        if whole.exists():
            self.abort(messages, batchId)
        else:
            partial = whole.with_name(f".{whole.name}")
            shutil.rmtree(partial, ignore_errors=True)  # of a commit that was cut off
            partial.mkdir()
            move_parts(messages, str(partial))
            partial.rename(whole)
        if self.source:
            sets = replaced(self.source, type=STREAMED, replicas=1, path=str(self.rows))
            sets += [
                f"deploy.checkpoint.path={self.folder / 'state'}",
                f"deploy.checkpoint.every={self.options.every}",
            ]
            RunBeside(self.folder, self.options, sets).start()

    def abort(self, messages: list[Any], batchId: int) -> None:
        for part in messages:
            if part is not None and part.path:
                Path(part.path).unlink(missing_ok=True)

    def _check_query(self, number: int) -> None:
        """ConfigurationError: another query has written here, whose batches have the same numbers."""
        name, path = self.options.checkpoints, self.rows / ".query"
        if not path.exists():
            path.write_text(name)
        elif path.read_text() != name:
            what = f"{str(self.folder)!r} has the rows of a query with the checkpoints {path.read_text()!r}, not {name!r}"
            raise ConfigurationError(Problem("folder", what, "a folder for each query"))


def written_part(batches: Iterator[Any], folder: str) -> WrittenPart:
    """Writes the rows of a task into a hidden file."""
    import pyarrow.parquet as pq
    from pyspark import TaskContext

    context = TaskContext.get()
    task = context.partitionId() if context is not None else 0
    path, writer = f"{folder}/.{task:06d}-{secrets.token_hex(6)}.parquet", None
    try:
        for batch in batches:
            writer = writer or pq.ParquetWriter(path, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
    return WrittenPart(task, path if writer is not None else "")


def write_no_rows(schema: Any, path: str) -> None:
    """Writes a file that has only the columns."""
    import pyarrow.parquet as pq
    from pyspark.sql.pandas.types import to_arrow_schema

    pq.write_table(to_arrow_schema(schema, timezone="UTC").empty_table(), path)


def move_parts(messages: list[Any], folder: str) -> None:
    """Gives the files of the tasks that count their names, by task; those of attempts that failed stay hidden."""
    for part in messages:
        if part is not None and part.path:
            Path(part.path).replace(f"{folder}/part-{part.task:06d}.parquet")
