"""The three streams of NEXMark as a Spark job:

actorstream data nexmark --events 1000000 --out DIR
actorstream launch apps/nexmark/q0.toml --set actors.bid.path=DIR/bid
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from actorstream.spark import Blocks, Rows
from actorstream.spark.parts import Format
from apps.nexmark.generate import AUCTIONS, PERSONS, TOTAL, Generator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = {
    "person": range(PERSONS),
    "auction": range(PERSONS, PERSONS + AUCTIONS),
    "bid": range(PERSONS + AUCTIONS, TOTAL),
}
"""Stream -> which of 50 events in a row it has."""
AT_ONCE = 4096


def pipeline(
    spark: SparkSession,
    *,
    events: int = 1_000_000,
    rate: float = 10_000.0,
    seed: int = 1,
    file_events: int = 500_000,
) -> list[Blocks | Rows]:
    """Events 0 to `events` of `generate.Generator` as the streams person, auction and bid, `rate` in a second of event
    time. Each file has what belongs to it of `file_events` events."""

    def of_kind(kind: str) -> Callable[[int], Iterator[Any]]:
        def make(block: int) -> Iterator[Any]:
            made = Generator(seed, rate)
            first = block * file_events
            rows = []
            for number in range(first, min(first + file_events, events)):
                if number % TOTAL in KINDS[kind]:
                    rows.append(made.event(number).row)
                    if len(rows) == AT_ONCE:
                        yield pa.RecordBatch.from_pylist(rows)
                        rows = []
            if rows:
                yield pa.RecordBatch.from_pylist(rows)

        return make

    files = -(-events // file_events)
    return [Blocks(kind, of_kind(kind), files, "dateTime", Format("jsonl")) for kind in KINDS]
