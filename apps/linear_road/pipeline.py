"""Reports of generated traffic as a Spark job, an expressway a task:

actorstream data linear_road --expressways 2 --hours 1 --out DIR
actorstream launch apps/linear_road/topology.toml --set actors.reports.path=DIR/reports
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from actorstream.spark import Blocks, Rows, from_blocks
from actorstream.spark.parts import Format
from apps.linear_road.events import Report
from apps.linear_road.traffic import FIELDS, Settings, Traffic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR = 3600
SCHEMA = pa.schema([pa.field(name, pa.int64() if name == "time" else pa.int32()) for name in FIELDS])


def pipeline(
    spark: SparkSession,
    *,
    expressways: int = 1,
    hours: float = 3.0,
    density: float = 255.0,
    ramp: int = 10_800,
    accidents: float = 3.0,
    seed: int = 1,
    file_seconds: int = 600,
) -> list[Blocks | Rows]:
    """Position reports and requests of the cars on so many expressways: the rows of `generate.Reports` with a shard an
    expressway, by (time, expressway). A file has `file_seconds` of them; the other options are those of
    `traffic.Settings`."""
    from pyspark.sql import functions as f

    settings = Settings(expressways, density, ramp, accidents, seed)
    seconds = int(hours * HOUR)

    def traffic(xway: int) -> Iterator[Any]:
        cars = Traffic(settings, xway, expressways)
        for _ in range(seconds):
            yield pa.table(cars.second())

    return [
        Rows(
            "reports",
            from_blocks(spark, traffic, expressways, SCHEMA),
            columns=Report.__struct_fields__,
            order=("time", "block", "row"),
            file=f.floor(f.col("time") / file_seconds),
            event_time="time",
            how=Format("csv", header=False),
            valid={
                "a position lies on no segment": "type <> 0 or seg between 0 and 99",
                "an expressway is not one of those asked for": f"type <> 0 or xway between 0 and {expressways - 1}",
            },
        )
    ]
