"""Spark: a plain Python udf over integers on one core. Prints {"value": events a second, "arrow": the same
of an Arrow-optimised udf}.

The rate is the slope between a short and a longer job, so that neither the JVM's nor Python's start is
measured.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf


def main(rows: int) -> None:
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    plain = udf(lambda number: number + 1, "long", useArrow=False)
    arrow = udf(lambda number: number + 1, "long", useArrow=True)

    def seconds(add: Any, number: int) -> float:
        begun = time.monotonic()
        spark.range(0, number, 1, 1).select(add("id")).write.format("noop").mode("overwrite").save()
        return time.monotonic() - begun

    def rate(add: Any) -> float:
        seconds(add, rows // 8)
        short = seconds(add, rows // 4)
        return (rows - rows // 4) / (seconds(add, rows) - short)

    print(json.dumps({"value": rate(plain), "arrow": rate(arrow)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
