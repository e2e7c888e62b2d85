"""Streams that are known by name: YSB's events and ads, the same rows for every shard, batch and kind of
id."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorstream.connectors.generator import GeneratorSource
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema

START = 1_700_000_000_000
KINDS = ["int", "uuid", "bytes136"]


def read(source: GeneratorSource, max_rows: int = 1000) -> list[Batch]:
    source.open(source.partitions())
    found = []
    while (batch := source.read(max_rows)) is not None:
        found.append(batch)
    return found


def rows(batches: list[Batch]) -> list[Any]:
    return [event for batch in batches for event in batch.events()]


@pytest.mark.parametrize("ids", KINDS)
@pytest.mark.parametrize(("shards", "max_rows"), [(1, 7), (3, 1000), (4, 64)])
def test_ysb_rows_do_not_depend_on_batches_or_shards(ids: str, shards: int, max_rows: int) -> None:
    plain = rows(read(GeneratorSource(preset="ysb", ids=ids, count=2000)))
    source = GeneratorSource(preset="ysb", ids=ids, count=2000, shards=shards)
    source.open(source.partitions())
    by_number: dict[int, Any] = {}
    while (batch := source.read(max_rows)) is not None:
        for row, event in enumerate(batch.events()):
            by_number[(source.row + row) * shards + source.origin] = event
    assert [by_number[number] for number in range(2000)] == plain


def test_the_three_kinds_of_ids_are_the_same_events() -> None:
    plain, texts, wide = (rows(read(GeneratorSource(preset="ysb", ids=ids, count=5000))) for ids in KINDS)
    named = [(each.ad_type, each.event_type, each.event_time) for each in plain]
    assert named == [(each.ad_type, each.event_type, each.event_time) for each in texts]
    assert named == [(each.ad_type, each.event_type, each.event_time) for each in wide]
    for field, kinds in (("user_id", 100), ("page_id", 100), ("ad_id", 1000)):
        pairs = {(getattr(a, field), getattr(b, field)) for a, b in zip(plain, texts)}
        assert len(pairs) == len({number for number, _ in pairs}) == len({text for _, text in pairs}) <= kinds
        assert [getattr(each, field) for each in plain] == [getattr(each, field) for each in wide]
    assert {each.ip_address for each in texts} == {"1.2.3.4"}


def test_events_of_136_bytes_have_136_bytes() -> None:
    schema = GeneratorSource(preset="ysb", ids="bytes136").row_schema()
    assert sum(schema.widths) == 136
    texts = read(GeneratorSource(preset="ysb", ids="uuid", count=20_000), 20_000)[0]
    sizes = [
        np.diff(column.offsets[: 20_000 + 1]).mean()
        for column in texts.columns()
        if column.offsets is not None
    ]
    assert abs(sum(sizes) + 8 - 136) < 0.5


def test_every_ad_has_one_campaign_and_every_campaign_ten_ads() -> None:
    for ids in ("int", "uuid"):
        ads = rows(read(GeneratorSource(preset="ysb-ads", ids=ids)))
        assert len(ads) == len({ad.ad_id for ad in ads}) == 1000
        assert set(Counter(ad.campaign_id for ad in ads).values()) == {10}
        known = {ad.ad_id for ad in ads}
        events = rows(read(GeneratorSource(preset="ysb", ids=ids, count=20_000)))
        assert {event.ad_id for event in events} == known
    assert rows(read(GeneratorSource(preset="ysb-ads", ids="uuid", seed=5, count=5000))) == ads


def test_event_time_goes_by_the_event_rate_then_the_rate_then_ten_million_a_second() -> None:
    def times(**keys: Any) -> list[int]:
        batches = read(GeneratorSource(preset="ysb", count=2001, **keys), 100_000)
        return np.concatenate([batch["event_time"] for batch in batches]).tolist()

    assert times() == [START] * 2001
    assert times(rate=1000.0) == list(range(START, START + 2001))
    assert times(rate=1000.0, event_rate=100.0) == list(range(START, START + 20_010, 10))
    assert times(event_rate=1.5)[:4] == [START, START + 666, START + 1333, START + 2000]
    assert times(event_rate=4000.0, start=0, time_unit="us")[:3] == [0, 250, 500]


def test_event_times_never_decrease_within_a_shard_and_the_next_is_promised() -> None:
    source = GeneratorSource(preset="ysb", count=10_000, event_rate=3333.0, shards=3)
    source.open(source.partitions())
    assert source.ordered
    last: dict[int, int] = {}
    while True:
        promised = source.lower_bound(0)
        batch = source.read(999)
        if batch is None:
            break
        times = batch["event_time"]
        assert (np.diff(times) >= 0).all()
        assert promised is not None and promised <= times[0] and last.get(source.origin, 0) <= times[0]
        last[source.origin] = int(times[-1])
    assert source.lower_bound(0) == 2**63 - 1


def test_shards_of_a_paced_source_take_turns_within_a_millisecond() -> None:
    source = GeneratorSource(preset="ysb", rate=4000.0, shards=2)
    source.open(source.partitions())
    origins = []
    for _ in range(4):
        source.read(1000)
        origins.append((source.origin, source.row))
    assert origins == [(0, 0), (1, 0), (0, 2), (1, 2)]


@pytest.mark.parametrize("ids", KINDS)
def test_rows_that_somebody_holds_are_never_written_again(ids: str) -> None:
    source = GeneratorSource(preset="ysb", ids=ids, count=4000)
    source.open(source.partitions())
    batches, expected, arrays = [], [], []
    while (batch := source.read(100)) is not None:
        expected.append([event.ad_id for event in Batch.concat([batch, batch]).events()[:100]])
        if len(batches) % 2:
            arrays.append((len(batches), batch["ad_id"]))  # an array outlives its batch
            batches.append(None)
        else:
            batches.append(batch)
    for batch, ads in zip(batches, expected):
        if batch is not None:
            assert [event.ad_id for event in batch.events()] == ads
    for number, array in arrays:
        assert array.tolist() == expected[number]


def test_memory_that_nobody_holds_is_written_again() -> None:
    for ids in KINDS:
        source = GeneratorSource(preset="ysb", ids=ids)
        source.open(source.partitions())
        seen = set()
        for _ in range(20):
            batch = source.read(100)
            assert batch is not None
            seen.add(batch.column("event_time").descriptor[4])
        assert len(seen) <= 2


def test_words_are_as_frequent_as_in_natural_language() -> None:
    words = {"type": "str", "distribution": "words", "low": 2, "high": 5, "of": 50}
    (batch,) = read(GeneratorSource(schema={"line": words}, count=20_000), 20_000)
    lines = [line.split(" ") for line in batch.column("line").tolist()]
    assert {len(line) for line in lines} == {2, 3, 4, 5}
    counts = Counter(word for line in lines for word in line)
    assert len(counts) == 50
    (_, first), (_, second) = counts.most_common(2)
    assert abs(first / second - 2) < 0.2
    again = read(GeneratorSource(schema={"line": words}, count=20_000), 333)
    assert [text for each in again for text in each.column("line").tolist()] == [
        " ".join(line) for line in lines
    ]


@pytest.mark.parametrize(
    ("keys", "where", "hint"),
    [
        ({"preset": "ysb2"}, "preset", "ysb"),
        ({"preset": "ysb", "ids": "uid"}, "ids", "uuid"),
        ({"preset": "ysb-ads", "ids": "bytes136"}, "ids", ""),
        ({"preset": "ysb", "schema": {"a": "int"}}, "schema", ""),
        ({"schema": {"a": "int"}, "ids": "int"}, "ids", ""),
        ({"preset": "ysb", "event_time": "evnt_time"}, "event_time", ""),
        ({"preset": "ysb", "event_rate": 0.0}, "event_rate", ""),
        ({"preset": "ysb", "start": 2**63}, "event_rate", ""),
        ({"schema": {"a": {"type": "int", "distribution": "words"}}}, "schema.a.distribution", ""),
        (
            {"schema": {"a": {"type": "str", "distribution": "words", "low": 3, "high": 2}}},
            "schema.a.high",
            "",
        ),
    ],
)
def test_wrong_keys_are_problems(keys: dict[str, Any], where: str, hint: str) -> None:
    problems = GeneratorSource.check(keys, [], Path())
    assert [each.where for each in problems] == [where]
    assert hint in problems[0].hint


def test_the_schemas_say_which_field_is_the_event_time() -> None:
    for ids in KINDS:
        keys = {"preset": "ysb", "ids": ids, "time_unit": "us"}
        schema = Schema.of(GeneratorSource.output_types(keys, [])["default"])
        assert (schema.event_time, schema.time_unit) == ("event_time", "us")
        assert schema.names()[:7] == (
            *("user_id", "page_id", "ad_id", "ad_type", "event_type"),
            *("event_time", "ip_address"),
        )
