"""Query: the table that `spark-source` reads, as ranges of time whose rows are spread over tasks and sorted. Runs in the
driver, whose session is passed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from actorstream.errors import ConfigurationError, DataError, Problem
from actorstream.spark.lanes import DAY_US
from actorstream.spark.placing import near
from actorstream.spark.push import RESULT, Targets, pusher
from actorstream.spark.session import CONNECT
from actorstream.spark.table_files import PACKAGES
from actorstream.spark.table_input import has_source, read_version
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Job = Callable[[Sequence[int]], Sequence[Any]]
"""Pushes the rows of some lanes of a range. Returns how each of these tasks has ended, as `Pushed`."""

VIEW = "input"
_TIME = "_actorstream_time"
_ERROR = 0.001
"""How exact the bounds of ranges are, as a share of the rows."""


class TableSnapshot(NamedTuple):
    """A table as it was when a run first read it.

    Attributes:
        rows, digest: how many there are, and a sum over a hash of each, which does not depend on their order.
        least, greatest: event times.
        bounds: event times at which ranges begin, but for the first.
        by_group: the row groups of the files follow one another in time; `bounds` are numbers of row groups, and the digest
            is one of the footers.
        starts: the event times at which ranges begin, but for the first; None: those are the `bounds`.
        version: of a Delta or Iceberg table, where it is known.
    """

    rows: int
    digest: int
    least: int | None
    greatest: int | None
    bounds: list[int]
    by_group: bool = False
    starts: list[int] | None = None
    version: int | None = None


def read_table(
    spark: SparkSession, keys: Mapping[str, Any], version: int | None = None
) -> tuple[DataFrame, int | None]:
    """The rows before they are put in order: `sql`, or a table or files, then `preprocess` over the view `input`. And the
    version of the table if that is known: `version`, which an earlier run has read, or the latest."""
    number = None
    if keys.get("sql"):
        found = spark.sql(keys["sql"])
    elif keys.get("catalog"):
        found, number = read_version(spark, keys, version)
    elif keys.get("table_name"):
        found = spark.read.options(**keys["options"]).table(keys["table_name"])
    else:
        format = keys["format"] or "parquet"
        reader = spark.read.format(format).options(**keys["options"])
        try:
            found = reader.load(keys["path"]) if keys.get("path") else reader.load()
            _ = found.schema  # a server of sessions looks at the format only now
        except Exception as error:
            if format not in PACKAGES or has_source(error):
                raise
            found, number = read_version(spark, keys, version)
    if keys.get("preprocess"):
        found.createOrReplaceTempView(VIEW)
        found = spark.sql(keys["preprocess"])
    return found, number


class Query:
    """The rows of a table with their times.

    Args:
        keys: of the source. `columns`: those that it has. `event_time`: the column that is the event time; None: none,
            then rows come by the values of all columns.
    Raises ConfigurationError for a column that is missing or doubled, or an event time that is none."""

    def __init__(self, table: DataFrame, keys: Mapping[str, Any]) -> None:
        from pyspark.sql import functions as f

        self._keys = keys
        columns, event_time = keys["columns"], keys["event_time"]
        problems = []
        for name in columns:
            times = table.columns.count(name)
            if not times:
                what = f"the table has no column {name!r}"
                problems.append(Problem(name, what, listed(table.columns), did_you_mean(name, table.columns)))
            elif times > 1:
                what = f"the table has {times} columns {name!r}"
                problems.append(Problem(name, what, "one; choose it by `preprocess`"))
        if problems:
            raise ConfigurationError(problems)
        self.columns = columns
        rows = table.select(*columns)
        time = f.lit(0).cast("long") if event_time is None else _as_long(rows, event_time)
        self.rows = rows.withColumn(_TIME, time)
        self.event_time = event_time

    def snapshot(self, range_rows: int) -> TableSnapshot:
        """Reads the table once. DataError: a row has no event time."""
        from pyspark.sql import functions as f

        hashed = f.pmod(f.xxhash64(*self.columns), f.lit(2**31 - 1))
        found = self.rows.agg(
            f.count("*"), f.coalesce(f.sum(hashed), f.lit(0)), f.min(_TIME), f.max(_TIME), f.count(_TIME)
        ).first()
        rows, digest, least, greatest, timed = found  # type: ignore[misc]
        if rows != timed:
            whole, how = (
                ("(…)", ", with the query that is there in parentheses")
                if self._keys.get("preprocess")
                else (VIEW, "")
            )
            raise DataError(
                f"{rows - timed:,} of {rows:,} rows have no event time; leave them out by preprocess = "
                f'"select * from {whole} where {self.event_time} is not null"{how}',
                column=self.event_time or "",
            )
        return TableSnapshot(rows, digest, least, greatest, self._bounds(rows, range_rows))

    def _bounds(self, rows: int, range_rows: int) -> list[int]:
        ranges = -(-rows // range_rows)
        if ranges < 2 or self.event_time is None:
            return []
        shares = [number / ranges for number in range(1, ranges)]
        found = self.rows.approxQuantile(_TIME, shares, _ERROR)
        return sorted({int(bound) for bound in found})

    def jobs(self, _: SparkSession, bounds: list[int]) -> Iterator[Job]:
        """The jobs that push, one a range, from the first range on that has rows to give."""
        keys = self._keys
        tasks, targets, first = keys["tasks"], keys["targets"], keys["range"]
        ranges, lanes = len(bounds) + 1, [targets.get(lane) for lane in range(tasks)]
        if keys["master"].startswith(CONNECT):
            for number in range(first, ranges):
                rows = self._in_order(self._range(bounds, number).repartition(tasks, *self.columns))
                yield partial(_collect_lanes, rows, targets, tasks, number)
            return
        if ranges > 1 and hasattr(self.rows, "repartitionById"):
            whole = self._in_order(self._all_ranges(bounds, tasks))
            pushed = near(whole.mapInArrow(pusher(targets, tasks), RESULT), lanes * ranges)
            if pushed.getNumPartitions() == ranges * tasks:
                for number in range(first, ranges):
                    yield partial(run_lanes, pushed, number * tasks)
                return
        for number in range(first, ranges):  # Spark 4.0: the table is read once for each range
            rows = self._in_order(self._range(bounds, number).repartition(tasks, *self.columns))
            pushed = near(rows.mapInArrow(pusher(targets, tasks, number), RESULT), lanes)
            yield partial(run_lanes, pushed, 0)

    def _all_ranges(self, bounds: list[int], tasks: int) -> DataFrame:
        """The rows of all ranges in one shuffle: `tasks` partitions for each range, the rows of one spread over them by their
        values."""
        from pyspark.sql import functions as f

        spread = f.pmod(f.xxhash64(*self.columns), f.lit(tasks))
        number = (_range_of(f.col(_TIME), bounds, 0, len(bounds)) * tasks + spread).cast("int")
        return self.rows.repartitionById((len(bounds) + 1) * tasks, number)

    def _range(self, bounds: list[int], number: int) -> DataFrame:
        from pyspark.sql import functions as f

        low, high = [None, *bounds, None][number : number + 2]
        rows = self.rows
        if low is not None:
            rows = rows.where(f.col(_TIME) >= low)
        if high is not None:
            rows = rows.where(f.col(_TIME) < high)
        return rows

    def _in_order(self, spread: DataFrame) -> DataFrame:
        """Each partition sorted by time and then by all columns: a total order but for rows that are equal."""
        return spread.sortWithinPartitions(_TIME, *self.columns).select(*self.columns)


def _collect_lanes(
    rows: DataFrame, targets: Targets, tasks: int, number: int, lanes: Sequence[int]
) -> Sequence[Any]:
    """Runs all tasks of a range by a query, of which those of other lanes do nothing."""
    wanted = {lane: targets[lane] for lane in lanes}
    return rows.mapInArrow(pusher(wanted, tasks, number), RESULT).collect()


def run_lanes(pushed: Any, first: int, lanes: Sequence[int]) -> Sequence[Any]:
    """Runs the tasks of some lanes of a range, whose partitions begin at `first`."""
    return pushed.context.runJob(pushed, list, [first + lane for lane in lanes])  # type: ignore[no-any-return]


def _range_of(time: Any, bounds: Sequence[int], low: int, high: int) -> Any:
    """The number of the range that a time lies in, as an expression; it is one from `low` to `high`."""
    from pyspark.sql import functions as f

    if low == high:
        return f.lit(low)
    middle = (low + high + 1) // 2
    upper, lower = _range_of(time, bounds, middle, high), _range_of(time, bounds, low, middle - 1)
    return f.when(time >= bounds[middle - 1], upper).otherwise(lower)


def _as_long(rows: DataFrame, name: str) -> Any:
    """A column of times as numbers, as `lanes.times_of` has them."""
    from pyspark.sql import functions as f
    from pyspark.sql import types

    kind = rows.schema[name].dataType
    if isinstance(kind, types.TimestampType):
        return f.unix_micros(name)
    if isinstance(kind, types.TimestampNTZType):
        # a cast to `timestamp` would ask the session's time zone
        micros = f.date_part(f.lit("SECOND"), name) * 1_000_000
        minutes = f.hour(name).cast("long") * 60 + f.minute(name)
        return f.unix_date(f.to_date(name)) * DAY_US + minutes * 60_000_000 + micros.cast("long")
    if isinstance(kind, types.DateType):
        return f.unix_date(name) * DAY_US
    if isinstance(kind, types.IntegralType):
        return f.col(name).cast("long")
    raise ConfigurationError(
        Problem(
            name,
            f"is the event time, and {kind.simpleString()} in the table",
            "a whole number, date or timestamp",
        )
    )
