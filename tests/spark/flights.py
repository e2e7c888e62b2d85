"""The flights of New York's airports as a spark-source reads them, and as Spark itself does."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from actorstream.spark import driver
from actorstream.spark.source import SparkSource

FLIGHTS = Path(__file__).with_name("flights.toml")
KEYS = tomllib.loads(FLIGHTS.read_text())["actors"]["flights"]


class ThreadDriver:
    """The driver in a thread of this process, with the session that is there."""

    session: ClassVar[Any] = None

    def __init__(self, task: dict[str, Any], hear: Callable[[dict[str, Any]], None]) -> None:
        self.stopped = threading.Event()
        self.session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", task["batch_rows"])
        self.thread = threading.Thread(target=self.run, args=(task, hear))
        self.thread.start()

    def run(self, task: dict[str, Any], hear: Callable[[dict[str, Any]], None]) -> None:
        try:
            driver.run(task, lambda **line: hear(json.loads(json.dumps(line))), self.stopped)
        except Exception as error:
            if not self.stopped.is_set():
                hear({"error": error})

    def stop(self) -> None:
        self.stopped.set()


async def read(source: SparkSource, most: int, rows: int) -> list[tuple[Any, ...]]:
    """The next rows, so many or all there are."""
    found: list[tuple[Any, ...]] = []
    while len(found) < rows and (batch := await source.read(min(most, rows - len(found)))) is not None:
        found += [tuple(row.values()) for row in batch.arrow().to_pylist()]
    return found


def of_spark(spark: Any, sql: str) -> list[tuple[Any, ...]]:
    path = FLIGHTS.parent / KEYS["path"]
    spark.read.option("header", "true").csv(str(path)).createOrReplaceTempView("input")
    spark.sql(KEYS["preprocess"]).createOrReplaceTempView("flights")
    weather = FLIGHTS.parent / "data/weather.csv.gz"
    spark.read.option("header", "true").csv(str(weather)).createOrReplaceTempView("weather")
    return [tuple(row) for row in spark.sql(sql).collect()]


def plain(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows whose times have no zone, so that Spark's and ours are equal."""
    return [
        tuple(each.replace(tzinfo=None) if isinstance(each, datetime) else each for each in row)
        for row in rows
    ]
