"""Events of the Yahoo Streaming Benchmark, and the table of ads, as a Spark job:

    actorstream data ysb --events 100000000 --format parquet --out DIR
    actorstream launch apps/ysb/topology.toml --set actors.events.path=DIR/events \
        --set actors.campaigns.table=DIR/ads/part-00000.csv
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.spark import Blocks, Rows, generated
from actorstream.spark.parts import Format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADS = 1000
BLOCK = 1 << 20
"""Events of a file."""


def pipeline(
    spark: SparkSession,
    *,
    events: int = 1_000_000,
    event_rate: float = 10_000.0,
    seed: int = 1,
    file_events: int = BLOCK,
) -> list[Blocks | Rows]:
    """The events of `generator-source` with `preset = "ysb"`, `ids = "uuid"` and one shard, `event_rate` in a second of
    event time, as the benchmark's JSON; and the 1000 ads with their campaigns."""
    keys = {"preset": "ysb", "ids": "uuid", "count": events, "event_rate": event_rate, "seed": seed}
    ads = {"preset": "ysb-ads", "ids": "uuid"}
    files = -(-events // file_events)
    return [
        Blocks("events", generated(keys, file_events), files, "event_time", Format("jsonl")),
        Blocks("ads", generated(ads, ADS), 1),
    ]
