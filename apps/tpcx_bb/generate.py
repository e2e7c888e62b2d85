"""Store sales and web clicks with the fields of TPCx-BB, seeded: as files, and as sources that make them inside the engine.

    python -m apps.tpcx_bb.generate FOLDER [--sales 100000] [--clicks 100000] [--seed 1]

writes item.csv, web_page.csv, store_sales.csv.gz and web_clickstreams.csv.gz. Rows are made in parts; part n is a function
of the seed and n alone. Items with low numbers are sold and viewed more often, as are items with certain others.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from actorstream import Batch, Event, Source

FIRST_DAY, DAY = 37134, 86400
FIRST_ITEM, ITEMS = 10000, 400
STORES = (10, 20, 33, 40, 50, 60, 70)
STORE_SHARES = (0.25, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125)
PAGES = ("order", "review", "general", "feedback", "welcome", "protected", "dynamic")
TICKETS, LARGEST_TICKET = 4096, 7
"""Tickets of a part, and rows of one at the most."""
SESSIONS, LONGEST_SESSION = 2048, 15
"""Sessions of a part, and clicks of one at the most."""
SALES_SPAN, CLICKS_SPAN = 2 * DAY, DAY
"""Seconds that the times of a part lie in, unless a source says otherwise."""

Columns = dict[str, Any]


class StoreSale(Event):
    """An item on the ticket of a sale."""

    ss_sold_date_sk: int
    ss_sold_time_sk: int
    ss_item_sk: int | None
    ss_customer_sk: int
    ss_store_sk: int
    ss_ticket_number: int
    ss_quantity: int
    ss_net_paid: float


class WebClick(Event):
    """A click of a user, or (with a number of a sale) a purchase."""

    wcs_click_date_sk: int
    wcs_click_time_sk: int
    wcs_sales_sk: int | None
    wcs_item_sk: int | None
    wcs_web_page_sk: int | None
    wcs_user_sk: int | None


def nullable(values: np.ndarray, null: np.ndarray) -> pa.Array:
    return pa.array(values, pa.int64(), mask=null)


def drawn_items(rng: np.random.Generator, count: int) -> np.ndarray:
    """Items, low numbers more often."""
    return FIRST_ITEM + (ITEMS * rng.random(count) ** 3).astype(np.int64)


def sales(number: int, seed: int, span: int = SALES_SPAN) -> Columns:
    """Part `number` of the store sales: 4,096 tickets of 1 to 7 items, by time, all rows of a ticket at one time."""
    rng = np.random.default_rng([seed, 0, number])
    sizes = rng.integers(1, LARGEST_TICKET + 1, TICKETS)
    of_row = np.repeat(np.arange(TICKETS), sizes)
    rows = len(of_row)
    times = FIRST_DAY * DAY + number * span + np.sort(rng.integers(0, span, TICKETS))[of_row]
    items = drawn_items(rng, rows)
    days = times // DAY
    fade = 1 - 0.02 * (items % 10) * np.minimum(days - FIRST_DAY, 40) / 40
    return {
        "ss_sold_date_sk": days,
        "ss_sold_time_sk": times % DAY,
        "ss_item_sk": nullable(items, rng.random(rows) < 0.004),
        "ss_customer_sk": rng.integers(1, 500, TICKETS)[of_row],
        "ss_store_sk": rng.choice(STORES, TICKETS, p=STORE_SHARES)[of_row],
        "ss_ticket_number": number * TICKETS + 1 + of_row,
        "ss_quantity": rng.integers(1, 6, rows),
        "ss_net_paid": np.round(rng.uniform(30, 60, rows) * fade, 2),
    }


def clicks(number: int, seed: int, span: int = CLICKS_SPAN) -> Columns:
    """Part `number` of the web clicks: 2,048 sessions of 1 to 15 clicks, by (time, user, item); 1 in 30 is a purchase."""
    rng = np.random.default_rng([seed, 1, number])
    sizes = rng.integers(1, LONGEST_SESSION + 1, SESSIONS)
    of_row = np.repeat(np.arange(SESSIONS), sizes)
    rows = len(of_row)
    gaps = rng.integers(0, 400, rows)
    gaps[np.cumsum(sizes) - sizes] = 0
    within = np.cumsum(gaps)
    within -= within[(np.cumsum(sizes) - sizes)[of_row]]
    begins = rng.integers(0, max(span - 400 * LONGEST_SESSION, 1), SESSIONS)
    times = FIRST_DAY * DAY + number * span + np.minimum(begins[of_row] + within, span - 1)
    users = rng.integers(1, 1 + SESSIONS, SESSIONS)[of_row]
    items = np.where(rng.random(rows) < 0.05, FIRST_ITEM + 1, drawn_items(rng, rows))
    order = np.lexsort((items, users, times))
    times = times[order]
    return {
        "wcs_click_date_sk": times // DAY,
        "wcs_click_time_sk": times % DAY,
        "wcs_sales_sk": nullable(
            number * SESSIONS * LONGEST_SESSION + np.arange(1, rows + 1), rng.random(rows) >= 1 / 30
        ),
        "wcs_item_sk": nullable(items[order], rng.random(rows) < 0.05),
        "wcs_web_page_sk": nullable(rng.integers(1, 61, rows), rng.random(rows) < 0.03),
        "wcs_user_sk": nullable(users[order], rng.random(rows) < 0.02),
    }


def rows_in(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def parts(make: Callable[[int, int], Columns], rows: int, seed: int) -> Iterator[Columns]:
    """As many parts as `rows` rows need, the last one cut."""
    number = 0
    while rows:
        columns = make(number, seed)
        most = rows_in(columns)
        yield {name: values[:rows] for name, values in columns.items()}
        rows -= min(rows, most)
        number += 1


class Repeated(Source):
    """Parts that lie in memory, again and again, as if time and numbers went on.

    Args:
        span: seconds of event time that a part takes; how much a second of the clock has depends on the rate.
        count: rows in all.
        rate: rows a second.
        kept: how many parts differ.
        seed: another one gives other rows.
    """

    moving: ClassVar[dict[str, int]]
    """Columns that go on from part to part, and by how much with each; -1: days of the span."""

    def __init__(
        self,
        span: int = DAY,
        count: int | None = None,
        rate: float | None = None,
        kept: int = 8,
        seed: int = 1,
    ) -> None:
        super().__init__(count=count, rate=rate)
        if span % DAY:
            raise ValueError(f"span is {span} s; allowed: whole days, multiples of {DAY}")
        self.span, self.kept, self.seed = span, kept, seed
        self.made: list[Columns] = []
        self.part = self.first = self.row = self.next_row = 0

    def make(self, number: int, seed: int, span: int) -> Columns:
        raise NotImplementedError

    def read(self, max_rows: int) -> Batch | None:
        if self.count is not None:
            max_rows = min(max_rows, self.count - self.next_row)
        if self._opened == [] or max_rows <= 0:
            return None
        passes, at = divmod(self.part, self.kept)
        columns = self._kept_parts()[at]
        whole = rows_in(columns)
        first, end = self.first, min(self.first + max_rows, whole)
        moved = passes * self.kept
        batch = {name: values[first:end] for name, values in columns.items()}
        for name, step in self.moving.items():
            batch[name] = batch[name] + moved * (self.span // DAY if step < 0 else step)
        self.row, self.next_row = self.next_row, self.next_row + end - first
        self.part, self.first = (self.part + 1, 0) if end == whole else (self.part, end)
        return Batch.of_columns(self.outputs["default"], batch)

    def position(self) -> dict[str, int]:
        return dict.fromkeys(self.partitions(), self.next_row)

    def seek(self, positions: dict[str, int]) -> None:
        self.next_row = max(positions.values(), default=0)
        sizes = [rows_in(columns) for columns in self._kept_parts()]
        passes, self.first = divmod(self.next_row, sum(sizes))
        self.part = passes * self.kept
        for size in sizes:
            if self.first < size:
                break
            self.part, self.first = self.part + 1, self.first - size

    def _kept_parts(self) -> list[Columns]:
        if not self.made:
            self.made = [self.make(number, self.seed, self.span) for number in range(self.kept)]
        return self.made


class StoreSales(Repeated):
    """`sales`, without end unless `count` is set."""

    outputs: ClassVar = {"default": StoreSale}
    moving: ClassVar = {"ss_sold_date_sk": -1, "ss_ticket_number": TICKETS}

    def make(self, number: int, seed: int, span: int) -> Columns:
        return sales(number, seed, span)


class WebClickstreams(Repeated):
    """`clicks`, without end unless `count` is set; numbers of sales come again."""

    outputs: ClassVar = {"default": WebClick}
    moving: ClassVar = {"wcs_click_date_sk": -1}

    def make(self, number: int, seed: int, span: int) -> Columns:
        return clicks(number, seed, span)


def items() -> list[tuple[int, int]]:
    """i_item_sk, i_category_id."""
    return [(FIRST_ITEM, 3), *((FIRST_ITEM + number, number % 10 + 1) for number in range(1, ITEMS))]


def pages() -> list[tuple[int, str]]:
    """wp_web_page_sk, wp_type."""
    return [(number, PAGES[(number - 1) % len(PAGES)]) for number in range(1, 61)]


def write(folder: Path, sales_rows: int, click_rows: int, seed: int) -> None:
    """The four files; the same bytes for the same arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, header, rows in (
        ("item.csv", ("i_item_sk", "i_category_id"), items()),
        ("web_page.csv", ("wp_web_page_sk", "wp_type"), pages()),
    ):
        with (folder / name).open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
    write_parts(folder / "store_sales.csv.gz", StoreSale, parts(sales, sales_rows, seed))
    write_parts(folder / "web_clickstreams.csv.gz", WebClick, parts(clicks, click_rows, seed))


def write_parts(path: Path, event: type[Event], columns: Iterator[Columns]) -> None:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file,
        io.TextIOWrapper(file, newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(event.__struct_fields__)
        for part in columns:
            writer.writerows(zip(*(values.tolist() for values in part.values())))
    path.write_bytes(packed.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Writes store sales and web clicks with the fields of TPCx-BB."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sales", type=int, default=100_000, dest="sales_rows")
    parser.add_argument("--clicks", type=int, default=100_000, dest="click_rows")
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
