"""Measurements of plugs as a Spark job: generated, or those of DEBS 2014, cleaned and put in order:

actorstream data smart_home --houses 40 --seconds 3600 --out DIR
actorstream data smart_home --input sorted.csv --out DIR
actorstream launch apps/smart_home/topology.toml --set actors.measurements.path=DIR/measurements
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from actorstream.spark import StreamBlocks, StreamRows, from_blocks
from apps.smart_home.events import Measurement
from apps.smart_home.generate import START, measured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIELDS = Measurement.__struct_fields__
SCHEMA = pa.schema([pa.field(name, pa.float64() if name == "value" else pa.int64()) for name in FIELDS])
RAW = "id long, ts long, value double, property int, plug int, household int, house int"
"""The columns of the file of DEBS 2014."""


def pipeline(
    spark: SparkSession,
    *,
    houses: int = 40,
    plugs: int = 53,
    seconds: int = 3600,
    seed: int = 1,
    input: Path | None = None,
    file_seconds: int = 600,
) -> list[StreamBlocks | StreamRows]:
    """The measurements of `generate.write`, by (time, house); a file has `file_seconds` of them.

    With `input` those of a file or folder in the layout of DEBS 2014 (id, timestamp, value, property, plug, household,
    house; no header) instead, by (timestamp, id). Rows that do not parse or that measure neither work nor load are dropped. Of
    rows with the same id the first one by time is kept, of these the one with the least value, then the other fields."""
    from pyspark.sql import functions as f

    def house(number: int) -> Iterator[Any]:
        yield pa.table(measured(number, plugs, seconds, seed))

    if input is None:
        rows, order = from_blocks(spark, house, houses, SCHEMA), ("ts", "block", "row")
    else:
        rows, order = cleaned(spark, input), ("ts", "id")
    return [
        StreamRows(
            "measurements",
            rows,
            columns=FIELDS,
            order=order,
            file=f.greatest(f.lit(0), f.floor((f.col("ts") - START) / file_seconds)),
            event_time="ts",
            valid={"a property is neither work (0) nor load (1)": "property in (0, 1)"},
        )
    ]


def cleaned(spark: SparkSession, path: Path) -> DataFrame:
    """The rows of files of DEBS 2014 that can be used, each once. Spark has no order of rows, so their fields decide."""
    from pyspark.sql import functions as f

    read = spark.read.csv(str(path), schema=RAW, mode="DROPMALFORMED").dropna().where("property in (0, 1)")
    fields = [name for name in read.columns if name != "id"]
    return read.groupBy("id").agg(f.min(f.struct(*fields)).alias("row")).select("id", "row.*")
