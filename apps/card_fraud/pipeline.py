"""Card transactions as a Spark job, a part a task:

actorstream data card_fraud --transactions 10000000 --out DIR
actorstream launch apps/card_fraud/topology.toml --set actors.transactions.path=DIR/transactions
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from actorstream.spark import StreamBlocks, StreamRows
from actorstream.spark.parts import FileFormat
from apps.card_fraud.generate import PART
from apps.card_fraud.generate import transactions as made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pipeline(
    spark: SparkSession, *, transactions: int = 1_000_000, customers: int = 10_000, seed: int = 1
) -> list[StreamBlocks | StreamRows]:
    """The rows of `generate.write`; a file has 65,536 of them."""

    def part(number: int) -> Iterator[Any]:
        yield pa.table(made(number, customers, seed)).slice(0, transactions - number * PART)

    how = FileFormat("csv", header=False)
    return [StreamBlocks("transactions", part, -(-transactions // PART), how=how)]
