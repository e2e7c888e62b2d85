"""NEXMark's queries, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.nexmark.reference q5 FOLDER

reads person, auction and bid (.jsonl or .jsonl.gz) of a folder and prints the result file of q5.toml, sorted. Queries
as in github.com/nexmark/nexmark (nexmark-flink/src/main/resources/queries), times in ms.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]
SECOND = 1000
AUCTION_FIELDS = (
    *("id", "itemName", "description", "initialBid", "reserve", "dateTime", "expires", "seller"),
    *("category", "extra"),
)


@dataclass(frozen=True)
class Data:
    """The three streams."""

    person: list[Row]
    auction: list[Row]
    bid: list[Row]

    @classmethod
    def read(cls, folder: Path) -> Data:
        return cls(*(list(read(folder, name)) for name in ("person", "auction", "bid")))


def read(folder: Path, name: str) -> Iterator[Row]:
    packed, plain = folder / f"{name}.jsonl.gz", folder / f"{name}.jsonl"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    return map(json.loads, data.splitlines())


def q0(data: Data) -> list[tuple[Any, ...]]:
    """Pass-through: what the rest of the engine costs."""
    return [
        tuple(bid[name] for name in ("auction", "bidder", "price", "dateTime", "extra")) for bid in data.bid
    ]


def q1(data: Data) -> list[tuple[Any, ...]]:
    """Currency conversion: prices in euro."""
    return [(auction, bidder, 0.908 * price, *rest) for auction, bidder, price, *rest in q0(data)]


def q2(data: Data) -> list[tuple[Any, ...]]:
    """Selection: bids on some auctions."""
    return [(bid["auction"], bid["price"]) for bid in data.bid if bid["auction"] % 123 == 0]


def q3(data: Data) -> list[tuple[Any, ...]]:
    """Local item suggestion: who sells in certain states."""
    people = {person["id"]: person for person in data.person}
    found = []
    for auction in data.auction:
        seller = people.get(auction["seller"])
        if auction["category"] == 10 and seller is not None and seller["state"] in ("OR", "ID", "CA"):
            found.append((seller["name"], seller["city"], seller["state"], auction["id"]))
    return found


def bids_in_time(data: Data) -> Iterator[tuple[Row, Row]]:
    """(auction, bid) of bids that came between the auction's beginning and its end."""
    auctions = {auction["id"]: auction for auction in data.auction}
    for bid in data.bid:
        auction = auctions.get(bid["auction"])
        if auction is not None and auction["dateTime"] <= bid["dateTime"] <= auction["expires"]:
            yield auction, bid


def q4(data: Data) -> list[tuple[Any, ...]]:
    """Average price for a category: of the highest bids of its auctions."""
    final: dict[tuple[int, int], int] = {}
    for auction, bid in bids_in_time(data):
        key = (auction["category"], auction["id"])
        final[key] = max(final.get(key, 0), bid["price"])
    prices = defaultdict(list)
    for (category, _), price in final.items():
        prices[category].append(price)
    return [(category, sum(each) / len(each)) for category, each in prices.items()]


def hops(time: int, size: int, slide: int) -> range:
    """Starts of the sliding windows that a time belongs to."""
    last = time // slide * slide
    return range(last - size + slide, last + 1, slide)


def q5(data: Data) -> list[tuple[Any, ...]]:
    """Hot items: the auctions with the most bids of the last 10 seconds, every 2 seconds."""
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for bid in data.bid:
        for start in hops(bid["dateTime"], 10 * SECOND, 2 * SECOND):
            counts[start][bid["auction"]] += 1
    found = []
    for counter in counts.values():
        most = max(counter.values())
        found += [(auction, number) for auction, number in counter.items() if number == most]
    return found


def q7(data: Data) -> list[tuple[Any, ...]]:
    """Highest bid of every 10 seconds."""
    windows = defaultdict(list)
    for bid in data.bid:
        windows[bid["dateTime"] // (10 * SECOND)].append(bid)
    names = ("auction", "price", "bidder", "dateTime", "extra")
    found = []
    for bids in windows.values():
        most = max(bid["price"] for bid in bids)
        found += [tuple(bid[name] for name in names) for bid in bids if bid["price"] == most]
    return found


def q8(data: Data) -> list[tuple[Any, ...]]:
    """Monitor new users: who has registered and begun an auction in the same 10 seconds."""
    sellers = {(auction["seller"], auction["dateTime"] // (10 * SECOND)) for auction in data.auction}
    found = set()
    for person in data.person:
        window = person["dateTime"] // (10 * SECOND)
        if (person["id"], window) in sellers:
            found.add((person["id"], person["name"], window * 10 * SECOND))
    return list(found)


def q9(data: Data) -> list[tuple[Any, ...]]:
    """Winning bids: the highest of each auction, the earliest of equal ones (then the least bidder)."""
    best: dict[int, tuple[Row, Row]] = {}

    def rank(bid: Row) -> tuple[Any, ...]:
        return -bid["price"], bid["dateTime"], bid["bidder"]

    for auction, bid in bids_in_time(data):
        known = best.get(auction["id"])
        if known is None or rank(bid) < rank(known[1]):
            best[auction["id"]] = auction, bid
    return [
        (
            *(auction[name] for name in AUCTION_FIELDS),
            *(bid[name] for name in ("auction", "bidder", "price", "dateTime", "extra")),
        )
        for auction, bid in best.values()
    ]


BID = ("auction", "bidder", "price", "dateTime", "extra")
COLUMNS: dict[str, tuple[str, ...]] = {
    "q0": BID,
    "q1": BID,
    "q2": ("auction", "price"),
    "q3": ("name", "city", "state", "id"),
    "q4": ("category", "final"),
    "q5": ("auction", "num"),
    "q7": ("auction", "price", "bidder", "dateTime", "extra"),
    "q8": ("id", "name", "starttime"),
    "q9": (*AUCTION_FIELDS, "auction", "bidder", "price", "bid_dateTime", "bid_extra"),
}
"""Query -> columns of its result."""
QUERIES: dict[str, Callable[[Data], list[tuple[Any, ...]]]] = {
    "q0": q0,
    "q1": q1,
    "q2": q2,
    "q3": q3,
    "q4": q4,
    "q5": q5,
    "q7": q7,
    "q8": q8,
    "q9": q9,
}


def main(arguments: list[str]) -> None:
    query, folder = arguments
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows([COLUMNS[query], *sorted(QUERIES[query](Data.read(Path(folder))))])


if __name__ == "__main__":
    main(sys.argv[1:])
