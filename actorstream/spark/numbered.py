"""Numbered lines: the lines of text files in their order, each with its number, whatever the number of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


def numbered_lines(spark: SparkSession, paths: str | Sequence[str]) -> DataFrame:
    """The lines of files, folders or globs, by the files' names: columns `line` and `number` (from 0).

    Spark reads pieces of files in any order, but each piece as a whole; so lines are counted piece by piece first."""
    from pyspark.sql import functions as f

    read = spark.read.text(paths).select(
        f.col("value").alias("line"),
        f.col("_metadata.file_path").alias("file"),
        f.col("_metadata.file_block_start").alias("piece"),
        f.monotonically_increasing_id().alias("id"),
    )
    counted = read.groupBy("file", "piece").agg(f.min("id").alias("first"), f.count("*").alias("lines"))
    offsets = []
    before = 0
    for piece in sorted(counted.collect(), key=lambda each: (each["file"], each["piece"])):
        offsets.append((piece["file"], piece["piece"], before - piece["first"]))
        before += piece["lines"]
    table = spark.createDataFrame(offsets, "file string, piece long, shift long")
    joined = read.join(f.broadcast(table), ["file", "piece"])
    return joined.select("line", (f.col("id") + f.col("shift")).alias("number"))
