"""The events of NEXMark as its published generator defines them, seeded: event n is a function of the seed and n alone.

    python -m apps.nexmark.generate FOLDER [--events 5000] [--rate 100] [--seed 1]

writes person.jsonl.gz, auction.jsonl.gz and bid.jsonl.gz. Of 50 events in a row, 1 is a person, 3 are auctions and 46
are bids; half of the bids go to the auction that is hot then, three quarters of auctions and bids come from the person
who is.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Proportions."""
TOTAL = PERSONS + AUCTIONS + BIDS
FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY = 1000, 1000, 10
CATEGORIES = 5
LEAD = 10
"""Ids ahead of the last one that auctions and bids may name: as if some events had come late."""
ACTIVE_PEOPLE, IN_FLIGHT = 1000, 100
HOT_SELLERS, HOT_AUCTIONS, HOT_BIDDERS = 4, 2, 4
"""1 in so many is not the hot one."""
HOT_BATCH = 100
"""People and auctions of which one is hot."""
PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100
"""Average sizes, which `extra` fills up."""
BASE_TIME_MS = 1_436_918_400_000
"""2015-07-15 00:00 UTC, the first event time of the original."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
)
FIRST_NAMES = (
    *("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter"),
    "Walter",
)
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000

Row = dict[str, Any]


class Event(NamedTuple):
    """One event: "person", "auction" or "bid", and its fields in the order of the published schema."""

    kind: str
    row: Row


class Generator:
    """The stream at `rate` events/s of event time."""

    def __init__(self, seed: int = 1, rate: float = 10_000.0) -> None:
        self.seed, self.rate = seed, rate

    def events(self, count: int) -> Iterator[Event]:
        """Events 0 … count - 1."""
        return (self.event(number) for number in range(count))

    def event(self, number: int) -> Event:
        rng = random.Random(f"{self.seed}/{number}")
        offset = number % TOTAL
        if offset < PERSONS:
            return Event("person", self._person(number, rng))
        if offset < PERSONS + AUCTIONS:
            return Event("auction", self._auction(number, rng))
        return Event("bid", self._bid(number, rng))

    def time_of(self, number: int) -> int:
        """Event time, ms since 1970."""
        return BASE_TIME_MS + int(number * 1000 / self.rate)

    def _person(self, number: int, rng: random.Random) -> Row:
        row: Row = {
            "id": FIRST_PERSON + last_person(number),
            "name": f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}",
            "emailAddress": f"{_text(rng, 7)}@{_text(rng, 5)}.com",
            "creditCard": " ".join(f"{rng.randrange(10_000):04d}" for _ in range(4)),
            "city": rng.choice(CITIES),
            "state": rng.choice(STATES),
            "dateTime": self.time_of(number),
        }
        used = 8 + sum(len(row[name]) for name in ("name", "emailAddress", "creditCard", "city", "state"))
        row["extra"] = _extra(rng, used, PERSON_BYTES)
        return row

    def _auction(self, number: int, rng: random.Random) -> Row:
        if rng.randrange(HOT_SELLERS):
            seller = last_person(number) // HOT_BATCH * HOT_BATCH
        else:
            seller = _some_person(number, rng)
        time, initial = self.time_of(number), _price(rng)
        ahead = self.time_of(number + IN_FLIGHT * TOTAL // AUCTIONS) - time
        row: Row = {
            "id": FIRST_AUCTION + last_auction(number),
            "itemName": _text(rng, 20),
            "description": _text(rng, 100),
            "initialBid": initial,
            "reserve": initial + _price(rng),
            "dateTime": time,
            "expires": time + 1 + rng.randrange(max(2 * ahead, 1)),
            "seller": FIRST_PERSON + seller,
            "category": FIRST_CATEGORY + rng.randrange(CATEGORIES),
        }
        row["extra"] = _extra(rng, 48 + len(row["itemName"]) + len(row["description"]), AUCTION_BYTES)
        return row

    def _bid(self, number: int, rng: random.Random) -> Row:
        if rng.randrange(HOT_AUCTIONS):
            auction = last_auction(number) // HOT_BATCH * HOT_BATCH
        else:
            last = last_auction(number)
            least = max(last - IN_FLIGHT, 0)
            auction = least + rng.randrange(last - least + 1 + LEAD)
        if rng.randrange(HOT_BIDDERS):
            bidder = last_person(number) // HOT_BATCH * HOT_BATCH + 1
        else:
            bidder = _some_person(number, rng)
        price = _price(rng)
        hot = rng.randrange(2)
        channel = rng.randrange(len(HOT_CHANNELS) if hot else CHANNELS)
        return {
            "auction": FIRST_AUCTION + auction,
            "bidder": FIRST_PERSON + bidder,
            "price": price,
            "channel": HOT_CHANNELS[channel] if hot else f"channel-{channel}",
            "url": self._url(channel, hot),
            "dateTime": self.time_of(number),
            "extra": _extra(rng, 32, BID_BYTES),
        }

    def _url(self, channel: int, hot: int) -> str:
        """Each channel has one; most of those that are not hot name it."""
        rng = random.Random(f"{self.seed}/{'hot' if hot else 'channel'}/{channel}")
        parts = "/".join(_text(rng, 5, "_") for _ in range(3))
        named = "" if hot or not rng.randrange(10) else f"&channel_id={_reversed_bits(channel)}"
        return f"https://www.nexmark.com/{parts}/item.htm?query=1{named}"


def last_person(number: int) -> int:
    """Index of the last person at or before an event."""
    epoch, offset = divmod(number, TOTAL)
    return epoch * PERSONS + min(offset, PERSONS - 1)


def last_auction(number: int) -> int:
    """Index of the last auction at or before an event; -1 before the first."""
    epoch, offset = divmod(number, TOTAL)
    if offset < PERSONS:
        return epoch * AUCTIONS - 1
    return epoch * AUCTIONS + min(offset - PERSONS, AUCTIONS - 1)


def _some_person(number: int, rng: random.Random) -> int:
    people = last_person(number) + 1
    active = min(people, ACTIVE_PEOPLE)
    return people - active + rng.randrange(active + LEAD)


def _reversed_bits(channel: int) -> int:
    """The absolute value of the 32 bits of a number in reverse order."""
    backwards = int(f"{channel:032b}"[::-1], 2)
    return min(backwards, 2**32 - backwards)


def _price(rng: random.Random) -> int:
    return round(10.0 ** (rng.random() * 6.0) * 100.0)


def _text(rng: random.Random, longest: int, gap: str = " ") -> str:
    letters = (
        rng.choice(LETTERS) if rng.randrange(13) else gap for _ in range(3 + rng.randrange(longest - 3))
    )
    return "".join(letters).strip()


def _extra(rng: random.Random, used: int, average: int) -> str:
    left = average - used
    if left < 0:
        return ""
    spread = round(left * 0.2)
    size = left - spread + (rng.randrange(2 * spread) if spread else 0)
    return "".join(rng.choices(LETTERS, k=size))


def write(folder: Path, events: int, rate: float, seed: int) -> None:
    """The three files; the same bytes for the same arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {"person": [], "auction": [], "bid": []}
    for event in Generator(seed, rate).events(events):
        lines[event.kind].append(json.dumps(event.row, separators=(",", ":")))
    for kind, rows in lines.items():
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
            file.write("".join(f"{row}\n" for row in rows).encode())
        (folder / f"{kind}.jsonl.gz").write_bytes(packed.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes NEXMark events as three files of JSON lines.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--events", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=100.0, help="events a second of event time")
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
