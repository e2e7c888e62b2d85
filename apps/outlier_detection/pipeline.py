"""Connections of KDD Cup 1999 with times, as a Spark job:

actorstream data outlier_detection --input kddcup.data --out DIR
actorstream launch apps/outlier_detection/topology.toml --set actors.connections.path=DIR/connections/part-00000.dat
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from actorstream.spark import Blocks, Rows, numbered_lines
from actorstream.spark.parts import Format
from apps.outlier_detection.events import Connection
from apps.outlier_detection.source import STEP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = Path(__file__).with_name("data") / "connections.csv.gz"
FIELDS = Connection.__struct_fields__[2:]
"""Of a connection behind its number and time."""


def pipeline(
    spark: SparkSession, *, input: Path = SAMPLE, copies: int = 1, file_rows: int = 100_000_000
) -> list[Blocks | Rows]:
    """The connections of a csv file, so many times one after the other, as `source.Connections` repeats them.

    A line has the 41 features and the label, then its time is its number in seconds; or its time (ms) before them.
    Lines with another number of fields are dropped."""
    from pyspark.sql import functions as f

    width = len(FIELDS)
    fields = f.split("line", ",")
    read = numbered_lines(spark, str(input)).select("number", "line", f.size(fields).alias("width"))
    whole = read.where(f.col("width").isin(width, width + 1))
    has_time = f.col("width") == width + 1
    timed = whole.select(
        "number",
        f.when(has_time, f.substring_index("line", ",", 1).cast("long"))
        .otherwise(f.col("number") * STEP)
        .alias("ts_ms"),
        f.when(has_time, f.expr("substr(line, instr(line, ',') + 1)")).otherwise(f.col("line")).alias("rest"),
    ).cache()
    first, last, rows = timed.agg(f.min("ts_ms"), f.max("ts_ms"), f.count("*")).first() or (0, 0, 0)
    many = timed.crossJoin(spark.range(copies).withColumnRenamed("id", "copy"))
    shift = (last or 0) - (first or 0) + STEP
    made = many.select(
        "number",
        "copy",
        (f.col("ts_ms") + f.col("copy") * shift).alias("ts_ms"),
        *(f.split("rest", ",")[place].alias(name) for place, name in enumerate(FIELDS)),
    )
    return [
        Rows(
            "connections",
            made,
            columns=("ts_ms", *FIELDS),
            order=("ts_ms", "copy", "number"),
            file=f.floor(f.col("copy") * rows / file_rows),
            event_time="ts_ms",
            how=Format("csv", header=False),
        )
    ]
