"""The events of the Yahoo Streaming Benchmark as a preset of the generator-source; C writes them in place.

As yahoo/streaming-benchmarks makes them (data/src/setup/core.clj): 100 users, 100 pages, 100 campaigns of 10 ads, five
ad types, three event types, one address, all drawn uniformly.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from actorstream.connectors.column_buffers import NumberRoom, Rooms, TextRoom
from actorstream.connectors.generator_rows import RowMaker
from actorstream.events.batch import Batch
from actorstream.events.event import Event, EventTime, Int32, UInt16, UInt32, UInt64
from actorstream.native.address import address_of
from actorstream.native.generate import ADS, PAGES, USERS, ShardNumbering, YsbIds, YsbSource, YsbTexts

if TYPE_CHECKING:
    from actorstream.connectors.generator import GeneratorSource

ADS_IN_A_CAMPAIGN = 10
CAMPAIGNS = ADS // ADS_IN_A_CAMPAIGN

MOST_TEXT_ROWS = 24_576
"""Events as texts that C makes at once: some 4 MB of them."""

AdType = Literal["banner", "modal", "sponsored-search", "mail", "mobile"]
EventType = Literal["view", "click", "purchase"]


class AdEvent(Event):
    """ids = "int": 26 bytes. Ad i belongs to campaign i // 10."""

    user_id: Int32
    page_id: Int32
    ad_id: Int32
    ad_type: AdType
    event_type: EventType
    event_time: EventTime
    ip_address: Int32


class WideAdEvent(Event):
    """ids = "bytes136": the same, and payload up to the 136 bytes of AIR's events (AIR section 5.1.1)."""

    user_id: int
    page_id: int
    ad_id: int
    ad_type: AdType
    event_type: EventType
    event_time: EventTime
    ip_address: int
    payload_0: UInt64
    payload_1: UInt64
    payload_2: UInt64
    payload_3: UInt64
    payload_4: UInt64
    payload_5: UInt64
    payload_6: UInt64
    payload_7: UInt64
    payload_8: UInt64
    payload_9: UInt64
    payload_10: UInt64
    payload_11: UInt32
    payload_12: UInt16


class TextAdEvent(Event):
    """ids = "uuid": texts as in the benchmark's JSON, on average 136 bytes without offsets."""

    user_id: str
    page_id: str
    ad_id: str
    ad_type: str
    event_type: str
    event_time: EventTime
    ip_address: str


class Ad(Event):
    """Which campaign an ad belongs to."""

    ad_id: Int32
    campaign_id: Int32


class TextAd(Event):
    """Which campaign an ad belongs to."""

    ad_id: str
    campaign_id: str


EVENTS = {"int": AdEvent, "uuid": TextAdEvent, "bytes136": WideAdEvent}
ADS_OF = {"int": Ad, "uuid": TextAd}


def event_rows(source: GeneratorSource, ids: str) -> RowMaker:
    """The rows of preset "ysb" for a form of ids."""
    return TextRows(source) if ids == "uuid" else NumberRows(source, wide=ids == "bytes136")


class NumberRows(RowMaker):
    """Events of fixed width: written into the jumbo tuple that they are sent in, if they leave the process next."""

    def __init__(self, source: GeneratorSource, *, wide: bool) -> None:
        self.source, self.schema, self._wide = source, source.row_schema(), wide
        self.write = ShardNumbering.ysb_wide if wide else ShardNumbering.ysb_integers
        self.rooms = Rooms(lambda rows: NumberRoom(self.schema, rows))

    def make(self, numbering: ShardNumbering, made: int, rows: int) -> Batch:
        context = self.source._context
        if getattr(context, "arena", None) is None:
            room = self.rooms.take(rows)
            self.write(numbering, made, rows, room.address)
            return room.batch(self.schema, rows)
        batch = self.source.allocate(self.schema, rows)
        self.write(numbering, made, rows, address_of(batch["user_id"]))
        return batch  # type: ignore[no-any-return]

    def in_c(self, rows: int) -> YsbSource:
        return YsbSource.integers([field.width for field in self.schema.fields], rows, wide=self._wide)


class TextRows(RowMaker):
    """Events as texts."""

    def __init__(self, source: GeneratorSource) -> None:
        self.schema = source.row_schema()
        users, pages, ads, _ = text_ids()
        self.ids = YsbIds(users, pages, ads)
        self.rooms = Rooms(lambda rows: TextRoom(YsbTexts(rows)))

    def make(self, numbering: ShardNumbering, made: int, rows: int) -> Batch:
        room = self.rooms.take(rows)
        numbering.ysb_texts(made, rows, self.ids, room.texts)
        return room.batch(self.schema, rows)

    def in_c(self, rows: int) -> YsbSource:
        return YsbSource.texts(self.ids, YsbTexts(min(rows, MOST_TEXT_ROWS)))


class AdRows(RowMaker):
    """The table of ads and their campaigns."""

    ordered = False
    count = ADS

    def __init__(self, source: GeneratorSource, ids: str) -> None:
        self.schema = source.row_schema()
        ads: Sequence[Any] = range(ADS)
        campaigns: Sequence[Any] = range(CAMPAIGNS)
        if ids == "uuid":
            _, _, ads, campaigns = text_ids()
        self.rows = [(ad, campaigns[number // ADS_IN_A_CAMPAIGN]) for number, ad in enumerate(ads)]

    def make(self, numbering: ShardNumbering, made: int, rows: int) -> Batch:
        chosen = [self.rows[number] for number in numbering.numbers(made, rows).tolist()]
        return Batch.of_columns(self.schema, dict(zip(("ad_id", "campaign_id"), map(list, zip(*chosen)))))


@cache
def text_ids() -> tuple[list[str], list[str], list[str], list[str]]:
    """UUIDs (version 4) of users, pages, ads and campaigns, the same whatever the seed of the events."""
    numbering = ShardNumbering()
    total = USERS + PAGES + ADS + CAMPAIGNS
    halves = [numbering.bits(0, total, salt).tolist() for salt in (1, 2)]
    made = iter([str(uuid.UUID(int=high << 64 | low, version=4)) for high, low in zip(*halves)])
    users, pages, ads, campaigns = (
        list(itertools.islice(made, size)) for size in (USERS, PAGES, ADS, CAMPAIGNS)
    )
    return users, pages, ads, campaigns
