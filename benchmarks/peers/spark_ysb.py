"""Spark Structured Streaming: the Yahoo benchmark, events made by expressions over the rate-micro-batch source.

`spark_ysb.py WORKLOAD CORES ROWS BATCHES` (ysb, ysb-star, swa) runs micro-batches of ROWS rows and prints {"value":
events a second}: the rows and run times of those after the first three, as the query reports them. With BATCHES
"check" a second of event time has few rows, and it prints the results' counts, their sum and their number.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

START_MS = 1_700_000_000_000
PER_MS = 10_000
PER_MS_OF_A_CHECK = 100
WARM = 3
RESULTS = "results"


def session(cores: int) -> SparkSession:
    made = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    made = made.config("spark.ui.showConsoleProgress", "false")
    made = made.config("spark.sql.shuffle.partitions", cores).config("spark.driver.memory", "4g")
    spark = made.config("spark.sql.streaming.numRecentProgressUpdates", 1000).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def events(spark: SparkSession, cores: int, rows: int, per_ms: int) -> DataFrame:
    """The seven columns; uniform draws out of one hash of the row's number. Spark drops those that nobody reads."""
    numbers = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", rows)
        .option("numPartitions", cores)
        .load()
    )
    drawn = numbers.selectExpr("value", "xxhash64(value) AS h")
    return drawn.selectExpr(
        "cast(shiftright((shiftrightunsigned(h, 48) & 65535) * 100, 16) AS int) AS user_id",
        "cast(shiftright((shiftrightunsigned(h, 32) & 65535) * 100, 16) AS int) AS page_id",
        "cast(shiftright((shiftrightunsigned(h, 12) & 1048575) * 1000, 20) AS int) AS ad_id",
        "cast(shiftright((shiftrightunsigned(h, 20) & 4095) * 5, 12) AS tinyint) AS ad_type",
        "cast(shiftright((h & 4095) * 3, 12) AS tinyint) AS event_type",
        f"timestamp_millis({START_MS} + value div {per_ms}) AS event_time",
        "16909060 AS ip_address",
    ).withWatermark("event_time", "0 seconds")


def campaigns(spark: SparkSession) -> DataFrame:
    return f.broadcast(
        spark.range(0, 1000, 1, 1).selectExpr(
            "cast(id AS int) AS ad_id", "cast(id div 10 AS int) AS campaign_id"
        )
    )


def counted(rows: DataFrame, table: DataFrame, kind: int, name: str) -> DataFrame:
    joined = rows.where(f.col("event_type") == kind).select("ad_id", "event_time").join(table, "ad_id")
    return joined.groupBy(f.window("event_time", "10 seconds"), "campaign_id").agg(f.count("*").alias(name))


def query(workload: str, spark: SparkSession, cores: int, rows: int, per_ms: int) -> DataFrame:
    made = events(spark, cores, rows, per_ms)
    if workload == "ysb":
        return counted(made, campaigns(spark), 0, "count")
    if workload == "swa":
        windows = made.groupBy(f.window("event_time", "10 seconds", "1 second"), "user_id")
        return windows.agg(f.count("*").alias("count"))
    table = campaigns(spark)
    views, clicks = (counted(made, table, kind, name) for kind, name in ((0, "views"), (1, "clicks")))
    both = views.join(clicks, ["window", "campaign_id"])
    return both.selectExpr("*", "clicks / views AS ratio", "views + clicks AS count")


def run(
    workload: str, cores: int, rows: int, batches: int, sink: str, per_ms: int
) -> tuple[SparkSession, list[float]]:
    """Seconds that each of the first micro-batches took."""
    spark = session(cores)
    with tempfile.TemporaryDirectory() as folder:
        writer = query(workload, spark, cores, rows, per_ms).writeStream.format(sink).queryName(RESULTS)
        running = writer.outputMode("append").option("checkpointLocation", folder).start()
        while True:
            done: list[dict[str, Any]] = [each for each in running.recentProgress if each["numInputRows"]]
            if len(done) >= batches:
                break
            failed = running.exception()
            if failed is not None:
                raise failed
            time.sleep(0.1)
        running.stop()
    return spark, [each["durationMs"]["triggerExecution"] / 1000 for each in done[:batches]]


def main(workload: str, cores: int, rows: int, batches: str) -> None:
    if batches == "check":
        spark, _ = run(workload, cores, rows, WARM + 2, "memory", PER_MS_OF_A_CHECK)
        sums = spark.sql(
            f"SELECT window.start, sum(count), count(*) FROM {RESULTS} GROUP BY 1 ORDER BY 1"
        ).collect()
        print(json.dumps({"value": [[int(start.timestamp()), *rest] for start, *rest in sums]}))
        return
    _, seconds = run(workload, cores, rows, WARM + int(batches), "noop", PER_MS)
    print(json.dumps({"value": rows * int(batches) / sum(seconds[WARM:])}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
