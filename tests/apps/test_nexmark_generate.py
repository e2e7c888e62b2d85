"""The generated auction: the published proportions and rules, the same for a seed, and the data that the app ships."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from apps.nexmark import generate
from apps.nexmark.generate import Generator, last_auction, last_person, write

DATA = Path(generate.__file__).with_name("data")


@pytest.fixture(scope="module")
def events() -> list[generate.Event]:
    return list(Generator(seed=3, rate=1000.0).events(20_000))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_persons_auctions_and_bids_are_as_1_to_3_to_46(events: list[generate.Event]) -> None:
    assert Counter(event.kind for event in events) == {"person": 400, "auction": 1200, "bid": 18_400}


def test_ids_are_consecutive_and_times_never_decrease(events: list[generate.Event]) -> None:
    for kind, count in (("person", 400), ("auction", 1200)):
        assert [event.row["id"] for event in events if event.kind == kind] == list(range(1000, 1000 + count))
    times = [event.row["dateTime"] for event in events]
    assert times == sorted(times)
    assert times[-1] - times[0] == 19_999


def test_the_last_person_and_auction_are_those_that_were_made(events: list[generate.Event]) -> None:
    persons, auctions = -1, -1
    for number, event in enumerate(events[:1000]):
        persons += event.kind == "person"
        auctions += event.kind == "auction"
        assert (last_person(number), last_auction(number)) == (persons, auctions)


def test_half_of_the_bids_go_to_the_hot_auction_and_three_quarters_come_from_the_hot_bidder(
    events: list[generate.Event],
) -> None:
    bids = [(number, event.row) for number, event in enumerate(events) if event.kind == "bid"]
    hot = sum(row["auction"] == 1000 + last_auction(number) // 100 * 100 for number, row in bids)
    assert 0.48 < hot / len(bids) < 0.53
    bidder = sum(row["bidder"] == 1001 + last_person(number) // 100 * 100 for number, row in bids)
    assert 0.73 < bidder / len(bids) < 0.78


def test_other_bids_go_to_auctions_in_flight_and_a_few_that_are_to_come(events: list[generate.Event]) -> None:
    for number, event in enumerate(events):
        if event.kind == "bid":
            last = last_auction(number)
            hot = last // 100 * 100
            assert event.row["auction"] - 1000 == hot or -100 <= event.row["auction"] - 1000 - last <= 10


def test_fields_are_as_published(events: list[generate.Event]) -> None:
    by_kind = {
        kind: [event.row for event in events if event.kind == kind] for kind in ("person", "auction", "bid")
    }
    assert list(by_kind["person"][0]) == [
        *("id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra")
    ]
    assert list(by_kind["auction"][0]) == [
        *("id", "itemName", "description", "initialBid", "reserve", "dateTime", "expires", "seller"),
        *("category", "extra"),
    ]
    assert list(by_kind["bid"][0]) == [*("auction", "bidder", "price", "channel", "url", "dateTime", "extra")]
    assert {row["category"] for row in by_kind["auction"]} == {10, 11, 12, 13, 14}
    assert all(
        row["initialBid"] < row["reserve"] and row["dateTime"] < row["expires"] for row in by_kind["auction"]
    )
    assert all(100 <= row["price"] <= 100_000_000 for row in by_kind["bid"])
    mean = sum(8 * 4 + len(row["extra"]) for row in by_kind["bid"]) / len(by_kind["bid"])
    assert abs(mean - 100) < 2
    urls = {(row["channel"], row["url"]) for row in by_kind["bid"]}
    assert len(urls) == len({channel for channel, _ in urls})


def test_an_event_is_a_function_of_seed_and_number(events: list[generate.Event]) -> None:
    generator = Generator(seed=3, rate=1000.0)
    assert [generator.event(number) for number in (19_999, 0, 777)] == [
        events[number] for number in (19_999, 0, 777)
    ]
    assert Generator(seed=4, rate=1000.0).event(777) != events[777]


def test_the_data_of_the_app_is_what_the_command_writes(tmp_path: Path) -> None:
    write(tmp_path, 5000, 100.0, 1)
    for name in ("person", "auction", "bid"):
        assert lines(tmp_path / f"{name}.jsonl.gz") == lines(DATA / f"{name}.jsonl.gz")
