"""The keys that sources have in common, for constructors that hand them on to `Source`. Types only."""

from __future__ import annotations

from datetime import timedelta
from typing import TypedDict

from actorstream.events.event import Event


class ReadingKeys(TypedDict, total=False):
    """How a source is read, whatever its rows are."""

    max_out_of_orderness: timedelta | None
    idle_timeout: timedelta | None
    rate: float | None
    repeat: int
    count: int | None


class SourceKeys(ReadingKeys, total=False):
    """What every source takes, as `Source` explains it. A constructor that says `**keys: Unpack[SourceKeys]` and calls
    `super().__init__(**keys)` has them all, and `check` refuses others::

        class Feed(Source):
            def __init__(self, url: str, **keys: Unpack[SourceKeys]) -> None:
                super().__init__(**keys)
                self.url = url
    """

    event: type[Event] | None
    schema: dict[str, str] | None
    event_time: str | None
    time_unit: str | None
    stream: str | None
    streams: list[str] | None
