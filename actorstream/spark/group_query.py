"""GroupQuery: Parquet files whose row groups follow one another in time. Nothing is sorted, and Spark reads nothing: it runs
the tasks, which read the row groups themselves. Runs in the driver, whose session is passed in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.spark.placing import placed
from actorstream.spark.push import group_pusher
from actorstream.spark.query import Job, TableSnapshot, run_lanes
from actorstream.spark.row_groups import RowGroups, dealt, groups_in_order
from actorstream.spark.session import CONNECT, QUICK_START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class GroupQuery:
    """The rows of a table, range by range.

    Args:
        keys: of the source.
        groups: the row groups of its files.
    """

    def __init__(self, keys: Mapping[str, Any], groups: RowGroups) -> None:
        self._keys, self._groups = keys, groups
        self.options = {"spark.driver.extraJavaOptions": QUICK_START}
        """Of the session, unless the user has others."""

    @classmethod
    def of_keys(cls, keys: Mapping[str, Any]) -> GroupQuery | None:
        """The query of a source's keys. None: Spark has to read and sort the table."""
        others = any(keys[name] for name in ("sql", "table_name", "preprocess", "options"))
        if (
            others
            or not keys["path"]
            or "://" in keys["path"]
            or keys["master"].startswith(CONNECT)  # it has no tasks but those of queries
            or keys["format"] not in (None, "parquet")
            or keys["event_time"] is None
        ):
            return None
        groups = groups_in_order(Path(keys["path"]), keys["columns"], keys["event_time"])
        return None if groups is None else cls(keys, groups)

    def snapshot(self, range_rows: int) -> TableSnapshot:
        """Reads nothing."""
        found = self._groups
        least, greatest = found.groups[0].least, found.groups[-1].greatest
        bounds = found.bounds(range_rows)
        starts = [found.groups[bound].least for bound in bounds]
        return TableSnapshot(found.rows, found.digest, least, greatest, bounds, True, starts)

    def jobs(self, spark: SparkSession, bounds: list[int]) -> Iterator[Job]:
        """The jobs that push, one a range."""
        keys = self._keys
        reading = {
            **{"fields": self._groups.fields.serialize().to_pybytes(), "event_time": keys["event_time"]},
            "batch_rows": keys["batch_rows"],
        }
        tasks = placed(spark.sparkContext, [keys["targets"].get(lane) for lane in range(keys["tasks"])])
        ranges = dealt(self._groups.groups, bounds, keys["tasks"])
        for number, groups in list(enumerate(ranges))[keys["range"] :]:
            pushed = tasks.mapPartitions(group_pusher(keys["targets"], number, groups, reading))
            yield partial(run_lanes, pushed, 0)
