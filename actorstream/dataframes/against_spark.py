"""A topology beside the same logic in Spark SQL: both run on the same rows, and the rows of each sink are compared."""

from __future__ import annotations

import asyncio
import inspect
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.connectors.source import batch_of
from actorstream.dataframes.data_source import VISIBLE
from actorstream.dataframes.spark_expressions import UntranslatableError, quoted
from actorstream.dataframes.spark_operators import table_view, translated, view
from actorstream.dataframes.topology_run import TopologyOptions, TopologyRun, replaced
from actorstream.errors import ConfigurationError, Problem
from actorstream.operators.joining.table_file import TableFile
from actorstream.spark.arrow_rows import arrow_rows, arrow_schema
from actorstream.spark.failure import spark_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from actorstream.topology.graph import Graph, GraphActor

READ_ROWS = 1 << 16
EXAMPLES = 3


@dataclass
class ComparedSink:
    """The rows of one sink here and there.

    Attributes:
        rows: of the topology's run.
        missing, extra: how many rows only Spark has, and only the topology, and some of them.
    """

    sink: str
    rows: int
    missing: int = 0
    extra: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        return not self.missing and not self.extra

    def lines(self) -> list[str]:
        """The result as lines of text: how many rows are alike, and examples of those that are not."""
        if self.same:
            return [f"{self.sink}: {self.rows:,} rows, the same as Spark's"]
        what = f"{self.sink}: DIFFERENT: {self.missing:,} rows only in Spark's, {self.extra:,} only here"
        return [what, *(f"  {each}" for each in self.examples)]


def check_translatable(graph: Graph) -> None:
    """ConfigurationError names every actor that has no counterpart in Spark SQL, and why."""
    problems = []
    for actor in graph.actors.values():
        where = f"actors.{actor.name}"
        if actor.role == "source" and actor.contract.endless:
            problems.append(Problem(where, "has no end", "sources that end"))
        elif actor.role == "operator":
            try:
                translated(graph, actor, _table_schema(graph, actor))
            except UntranslatableError as error:
                allowed = "map, filter, split, union, join, static-join, asof-join, top, and aggregate without windows of counts"
                problems.append(Problem(where, f"cannot be translated to Spark SQL: {error}", allowed))
        elif actor.role == "sink":
            problems += [
                Problem(where, f"has the input {edge.source!r}, which depends on the run", "other outputs")
                for edge in actor.inputs
                if edge.output in ("late", "dead")
            ]
    if problems:
        raise ConfigurationError(problems)


def compare(spark: SparkSession, options: TopologyOptions) -> list[ComparedSink]:
    """Runs both and compares the rows of each sink, as multisets; floats to nine digits.

    ConfigurationError: something cannot be translated. RunError: the topology's run or Spark's failed."""
    graph = options.graph()
    check_translatable(graph)
    folder = Path(tempfile.mkdtemp(prefix="actorstream-against-"))
    try:
        sets: list[str] = []
        for sink in graph.sinks():
            sets += replaced(sink.name, type=VISIBLE, replicas=1, path=str(folder / sink.name))
        run = TopologyRun(options, sets)
        try:
            run.wait()
        finally:
            run.stop()
        try:
            _make_views(spark, graph, folder)
            return [_compared(spark, graph, sink, folder) for sink in graph.sinks()]
        except UntranslatableError:
            raise
        except Exception as error:
            raise spark_error("the same logic as SQL", error) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make_views(spark: SparkSession, graph: Graph, folder: Path) -> None:
    """The rows of all outputs as views: of sources what they read, of operators the translated queries."""
    for actor in graph.actors.values():
        if actor.role == "source":
            path = folder / f"source-{actor.name}.parquet"
            asyncio.run(_write_rows(actor, path))
            spark.read.parquet(str(path)).createOrReplaceTempView(view(actor.name))
        elif actor.role == "operator":
            if isinstance(table := actor.keys.get("table"), Path):
                path = folder / f"table-{actor.name}.parquet"
                _write_table(TableFile(table).read(), path)
                spark.read.parquet(str(path)).createOrReplaceTempView(table_view(actor.name))
            elif table is not None:
                rows = spark.table(view(*_output(table)))
                rows.createOrReplaceTempView(table_view(actor.name))
            for output, query in translated(graph, actor, _table_schema(graph, actor)).items():
                spark.sql(query).createOrReplaceTempView(view(actor.name, output))


async def _write_rows(actor: GraphActor, path: Path) -> None:
    import pyarrow.parquet as pq

    source = actor.make()
    source.on_bad_row = "skip" if actor.on_error != "fail" else "fail"
    source.open(source.partitions())
    with pq.ParquetWriter(str(path), arrow_schema(actor.outputs["default"])) as writer:
        while True:
            found: Any = source.read(READ_ROWS)
            batch = batch_of(source, await found if inspect.isawaitable(found) else found)
            if batch is None:
                break
            writer.write_batch(arrow_rows(batch))
    found = source.on_stop()
    if inspect.isawaitable(found):
        await found


def _write_table(batch: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(str(path), arrow_schema(batch.schema)) as writer:
        writer.write_batch(arrow_rows(batch))


def _table_schema(graph: Graph, actor: GraphActor) -> Any:
    table = actor.keys.get("table")
    if table is None:
        return None
    if isinstance(table, Path):
        return TableFile(table).schema
    producer, output = _output(table)
    return graph.actors[producer].outputs[output]


def _output(name: str) -> tuple[str, str]:
    producer, _, output = name.partition(".")
    return producer, output or "default"


def _compared(spark: SparkSession, graph: Graph, sink: GraphActor, folder: Path) -> ComparedSink:
    queries = [f"SELECT * FROM {view(edge.producer, edge.output)}" for edge in sink.inputs]
    expected = _as_text(spark.sql(" UNION ALL ".join(queries)))
    found = _as_text(spark.read.parquet(str(folder / sink.name)))
    missing, extra = expected.exceptAll(found), found.exceptAll(expected)
    result = ComparedSink(sink.name, found.count(), missing.count(), extra.count())
    for words, rows in (("only in Spark's", missing), ("only here", extra)):
        some = rows.limit(EXAMPLES).collect() if not result.same else []
        result.examples += [
            f"{words}: {', '.join(f'{k}={v}' for k, v in row.asDict().items())}" for row in some
        ]
    return result


def _as_text(rows: DataFrame) -> DataFrame:
    """All values as text, so that widths of numbers make no difference; floats with nine digits."""
    fields = [
        f"if({quoted(name)} IS NULL, NULL, format_string('%.8e', CAST({quoted(name)} AS DOUBLE))) AS {quoted(name)}"
        if kind in ("double", "float")
        else f"CAST({quoted(name)} AS STRING) AS {quoted(name)}"
        for name, kind in rows.dtypes
    ]
    return rows.selectExpr(*fields)
