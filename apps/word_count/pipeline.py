"""A corpus from a folder of texts, as a Spark job:

actorstream data word_count --input FOLDER --copies 100 --out DIR
actorstream launch apps/word_count/topology.toml --set actors.lines.path=DIR/lines
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from actorstream.spark import Blocks, Rows, numbered_lines
from actorstream.spark.parts import Format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOOK = Path(__file__).with_name("data") / "book.txt"


def pipeline(
    spark: SparkSession, *, input: Path = BOOK, copies: int = 1, file_lines: int = 1_000_000
) -> list[Blocks | Rows]:
    """The lines of a file, or of the files of a folder by name, so many times one after the other; a file of the
    result has `file_lines`. Characters that are no text (control characters but the tab) are dropped."""
    from pyspark.sql import functions as f

    lines = numbered_lines(spark, str(input)).cache()
    each = lines.count()
    clean = f.regexp_replace("line", r"[\x00-\x08\x0b-\x1f\x7f]", "").alias("line")
    many = lines.crossJoin(spark.range(copies).withColumnRenamed("id", "copy"))
    rows = many.select(clean, (f.col("copy") * each + f.col("number")).alias("number"))
    return [
        Rows(
            "lines",
            rows,
            columns=("line",),
            order=("number",),
            file=f.floor(f.col("number") / file_lines),
            how=Format("text"),
        )
    ]
