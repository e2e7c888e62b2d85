"""Store sales, web clicks and the two tables of TPCx-BB as a Spark job:

    actorstream data tpcx_bb --scale 10 --out DIR
    actorstream launch apps/tpcx_bb/q1.toml --set actors.store_sales.path=DIR/store_sales \
        --set actors.item.path=DIR/item/part-00000.csv
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from actorstream.spark import Blocks, Rows
from apps.tpcx_bb import generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = 64
"""Parts of each stream at scale 1: about a million rows."""


def pipeline(spark: SparkSession, *, scale: float = 1.0, seed: int = 1) -> list[Blocks | Rows]:
    """`scale` times a million store sales, as many web clicks, and the tables of items and pages: the parts of
    `generate.sales` and `generate.clicks`, one a file."""
    parts = max(1, round(PARTS * scale))

    def of(make: Callable[[int, int], generate.Columns]) -> Callable[[int], Iterator[Any]]:
        def part(number: int) -> Iterator[Any]:
            yield pa.table(make(number, seed))

        return part

    def table(rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> Callable[[int], Iterator[Any]]:
        def whole(number: int) -> Iterator[Any]:
            yield pa.table(dict(zip(names, map(list, zip(*rows)))))

        return whole

    return [
        Blocks("store_sales", of(generate.sales), parts, "ss_sold_date_sk"),
        Blocks("web_clickstreams", of(generate.clicks), parts, "wcs_click_date_sk"),
        Blocks("item", table(generate.items(), ("i_item_sk", "i_category_id")), 1),
        Blocks("web_page", table(generate.pages(), ("wp_web_page_sk", "wp_type")), 1),
    ]
