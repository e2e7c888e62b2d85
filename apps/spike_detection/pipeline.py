"""Readings of sensors as a Spark job: generated, or those of the Intel Berkeley Research Lab, cleaned and put in order:

actorstream data spike_detection --readings 10000000 --out DIR
actorstream data spike_detection --input data.txt.gz --out DIR
actorstream launch apps/spike_detection/topology.toml --set actors.readings.path=DIR/readings
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from actorstream.spark import StreamBlocks, StreamRows
from apps.spike_detection.generate import PART, NumberedReading
from apps.spike_detection.generate import readings as made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RAW = (
    "date string, time string, epoch int, mote_id int, temperature double, humidity double, "
    "light double, voltage double"
)
"""The columns of the lab's file, which are separated by spaces."""
FIRST_DAY = "2004-02-28"
"""Of the lab's file: the first part has all up to it."""


def pipeline(
    spark: SparkSession,
    *,
    readings: int = 1_000_000,
    motes: int = 54,
    seed: int = 1,
    input: Path | None = None,
) -> list[StreamBlocks | StreamRows]:
    """The rows of `generate.write`; a file has 65,536 of them.

    With `input`, those of a file or folder in the layout of the Intel lab (date, time, epoch, mote, temperature, humidity,
    light, voltage) instead, by (date, time, mote), each once, a day in a file; `reading` is the epoch. Rows that do not parse,
    or lack a value, are dropped."""

    def part(number: int) -> Iterator[Any]:
        yield pa.table(made(number, motes, seed)).slice(0, readings - number * PART)

    if input is None:
        return [StreamBlocks("readings", part, -(-readings // PART))]
    return [cleaned(spark, input)]


def cleaned(spark: SparkSession, path: Path) -> StreamRows:
    """The rows of the lab's files that can be used, each once."""
    from pyspark.sql import functions as f

    read = spark.read.csv(str(path), schema=RAW, sep=" ", mode="DROPMALFORMED")
    order = ("date", "time", "mote_id", "reading")
    known = read.withColumnRenamed("epoch", "reading").dropna(subset=[*order, "temperature", "humidity"])
    once = known.groupBy(*order).agg(*(f.min(name).alias(name) for name in ("temperature", "humidity")))
    return StreamRows(
        "readings",
        once,
        columns=NumberedReading.__struct_fields__,
        order=order,
        file=f.greatest(f.lit(0), f.datediff(f.to_date("date"), f.lit(FIRST_DAY).cast("date"))),
        valid={"a date is none": "to_date(date) is not null"},
    )
