"""The queries, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.tpcx_bb.reference QUERY STORE_SALES|WEB_CLICKSTREAMS [TABLE]

prints the result file of QUERY.toml (q1, q1_hourly, q2, q2_pairs, q3, q4, q15).
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from math import fsum
from pathlib import Path
from typing import Any

STORES = (10, 20, 33, 40, 50)
CATEGORIES = (1, 2, 3)
VIEWED_CATEGORIES = (2, 3)
TARGET = 10001
HOUR, DAY = 3600, 86400

Row = dict[str, Any]
Table = dict[int, Any]
Found = list[tuple[Any, ...]]


def read(path: Path) -> Iterator[Row]:
    """The rows of a csv file of numbers (and of one text, wp_type); an empty field is None; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            yield {name: value_of(name, text) for name, text in row.items()}


def value_of(name: str, text: str) -> Any:
    if not text:
        return None
    return text if name == "wp_type" else float(text) if name == "ss_net_paid" else int(text)


def read_table(path: Path) -> Table:
    """The first column of a table -> the second."""
    with path.open(newline="") as file:
        _, *rows = csv.reader(file)
    return {int(key): int(value) if value.isdigit() else value or None for key, value in rows}


def best(counts: Mapping[Any, int], number: int) -> Found:
    """The greatest counts, the least key first of equal ones."""
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(*key, count) for key, count in ranked[:number]]


def sold_together(sales: Iterable[Row], items: Table) -> Iterator[tuple[int, int, int]]:
    """(hour, item_1, item_2) of the distinct items of a ticket, item_1 < item_2."""
    tickets: dict[int, set[int]] = defaultdict(set)
    for row in sales:
        item, ticket = row["ss_item_sk"], row["ss_ticket_number"]
        if row["ss_store_sk"] in STORES and items.get(item) in CATEGORIES and item not in tickets[ticket]:
            for other in tickets[ticket]:
                hour = row["ss_sold_date_sk"] * 24 + row["ss_sold_time_sk"] // HOUR
                yield hour, min(item, other), max(item, other)
            tickets[ticket].add(item)


def q1(sales: Iterable[Row], items: Table, min_count: int = 5) -> Found:
    """Items that are sold together frequently in certain stores."""
    counts = Counter((first, second) for _, first, second in sold_together(sales, items))
    return best({pair: count for pair, count in counts.items() if count > min_count}, 100)


def q1_hourly(sales: Iterable[Row], items: Table) -> Found:
    """The same, every hour."""
    hours: dict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    for hour, *pair in sold_together(sales, items):
        hours[hour][pair[0], pair[1]] += 1
    return [
        (hour, *row, rank)
        for hour, counts in sorted(hours.items())
        for rank, row in enumerate(best(counts, 100), 1)
    ]


def clicks_of_users(clicks: Iterable[Row], *needed: str) -> dict[int, list[Row]]:
    """User -> clicks with a user and what else is `needed`, in the order of the input, with their `time` in seconds."""
    users: dict[int, list[Row]] = defaultdict(list)
    for row in clicks:
        if row["wcs_user_sk"] is not None and all(row[name] is not None for name in needed):
            row["time"] = row["wcs_click_date_sk"] * DAY + row["wcs_click_time_sk"]
            users[row["wcs_user_sk"]].append(row)
    return users


def sessions(users: dict[int, list[Row]]) -> Iterator[list[Row]]:
    """Clicks of one user with less than an hour, or exactly an hour, between each and the next."""
    for rows in users.values():
        session = rows[:1]
        for row in rows[1:]:
            if row["time"] - session[-1]["time"] > HOUR:
                yield session
                session = []
            session.append(row)
        yield session


def q2_pairs(clicks: Iterable[Row]) -> Found:
    """Items that are viewed together in a session."""
    counts: Counter[tuple[int, ...]] = Counter()
    for session in sessions(clicks_of_users(clicks, "wcs_item_sk")):
        counts.update(combinations(sorted({row["wcs_item_sk"] for row in session}), 2))
    return best(counts, 30)


def q2(clicks: Iterable[Row]) -> Found:
    """Items that are viewed together with a certain one."""
    counts: Counter[tuple[int, ...]] = Counter()
    for session in sessions(clicks_of_users(clicks, "wcs_item_sk")):
        items = {row["wcs_item_sk"] for row in session}
        if TARGET in items:
            counts.update((item, TARGET) for item in items - {TARGET})
    return best(counts, 30)


def q3(clicks: Iterable[Row], items: Table) -> Found:
    """What was viewed last before a certain item was purchased."""
    counts: Counter[tuple[int, ...]] = Counter()
    for rows in clicks_of_users(clicks, "wcs_item_sk").values():
        rows.sort(
            key=lambda row: (
                row["time"],
                row["wcs_sales_sk"] is not None,
                row["wcs_sales_sk"] or 0,
                row["wcs_item_sk"],
            )
        )
        for at, row in enumerate(rows):
            if row["wcs_sales_sk"] is not None and row["wcs_item_sk"] == TARGET:
                for viewed in rows[max(at - 5, 0) : at]:
                    recent = viewed["time"] >= row["time"] - 10 * DAY
                    if recent and items.get(viewed["wcs_item_sk"]) in VIEWED_CATEGORIES:
                        counts[TARGET, viewed["wcs_item_sk"]] += 1
    return best(counts, 100)


def q4(clicks: Iterable[Row], pages: Table) -> Found:
    """How many pages users visit in sessions in which they leave their shopping cart behind."""
    known = [row for row in clicks if row["wcs_sales_sk"] is None and row["wcs_web_page_sk"] in pages]
    lengths = []
    for session in sessions(clicks_of_users(known)):
        kinds = [pages[row["wcs_web_page_sk"]] for row in session]
        last = {kind: at for at, kind in enumerate(kinds)}
        if last.get("dynamic", -1) > last.get("order", -1):
            lengths.append(len(session))
    return [(sum(lengths), len(lengths), sum(lengths) / len(lengths))] if lengths else []


def q15(sales: Iterable[Row], items: Table) -> Found:
    """Categories whose sales in a store do not rise: least squares over the days."""
    days: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in sales:
        category = items.get(row["ss_item_sk"])
        if row["ss_store_sk"] == STORES[0] and category is not None and row["ss_net_paid"] is not None:
            days[category][row["ss_sold_date_sk"]] += row["ss_net_paid"]
    found = []
    for category, sums in sorted(days.items()):
        mean_x, mean_y = fsum(sums) / len(sums), fsum(sums.values()) / len(sums)
        spread = fsum((day - mean_x) ** 2 for day in sums)
        slope = fsum((day - mean_x) * (paid - mean_y) for day, paid in sums.items()) / spread if spread else 1
        if slope <= 0:
            found.append((category, slope, mean_y - slope * mean_x))
    return found


PAIRS = ("item_1", "item_2", "cnt")
COLUMNS: dict[str, tuple[str, ...]] = {
    "q1": PAIRS,
    "q1_hourly": ("hour", *PAIRS, "rank"),
    "q2": PAIRS,
    "q2_pairs": PAIRS,
    "q3": ("purchased_item", "lastviewed_item", "cnt"),
    "q4": ("pages", "sessions", "average"),
    "q15": ("cat", "slope", "intercept"),
}
"""Query -> columns of its result."""
QUERIES: dict[str, Callable[..., Found]] = {
    "q1": q1,
    "q1_hourly": q1_hourly,
    "q2": q2,
    "q2_pairs": q2_pairs,
    "q3": q3,
    "q4": q4,
    "q15": q15,
}


def main(arguments: list[str]) -> None:
    query, path, *tables = arguments
    found = QUERIES[query](read(Path(path)), *(read_table(Path(table)) for table in tables))
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS[query], *found])


if __name__ == "__main__":
    main(sys.argv[1:])
