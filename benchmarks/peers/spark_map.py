"""Spark: a plain Python udf over integers on some cores. Prints {"value": events a second, "arrow": the same
of an Arrow-optimised udf}.

A task of local[1] is a thread of the JVM and a process of Python, which would be busy on two cores at once: on one core
it takes half as many events. So all of it is bound to as many cores as are asked for.

The rate is the slope between a short and a longer job, so that neither the JVM's nor Python's start is
measured.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf


def main(rows: int, cores: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    spark = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    plain = udf(lambda number: number + 1, "long", useArrow=False)
    arrow = udf(lambda number: number + 1, "long", useArrow=True)

    def seconds(add: Any, number: int) -> float:
        begun = time.monotonic()
        spark.range(0, number, 1, cores).select(add("id")).write.format("noop").mode("overwrite").save()
        return time.monotonic() - begun

    def rate(add: Any) -> float:
        seconds(add, rows // 8)
        short = seconds(add, rows // 4)
        return (rows - rows // 4) / (seconds(add, rows) - short)

    print(json.dumps({"value": rate(plain), "arrow": rate(arrow)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
