"""`count` and `repeat` of sources that users write with `events`: when they are heeded, and when they are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import pytest

from actorstream.connectors.source import Source
from actorstream.errors import ConfigurationError
from actorstream.events.batch import Batch
from actorstream.events.event import Event


class Number(Event):
    value: int


class Counted(Source):
    """Uses the names of two keys for something else."""

    def __init__(self, count: list[int], repeat: str = "no") -> None:
        self.count, self.repeat = count, repeat  # type: ignore[assignment]

    def events(self) -> Iterator[Number]:
        for value in cast("list[int]", self.count):
            yield Number(value)


class Parts(Source):
    def partitions(self) -> list[str]:
        return ["a", "b"]

    def events(self) -> Iterator[Number]:
        yield from map(Number, range(10))


class Feed(Source):
    async def events(self) -> AsyncIterator[Number]:
        yield Number(1)


class OwnRepeat(Feed):
    def __init__(self, repeat: int = 0) -> None:
        self.repeat = repeat


def drain(source: Source, share: list[str]) -> list[int]:
    source.share = share
    source.open(share)
    found: list[int] = []
    while (batch := source.read(3)) is not None:
        assert isinstance(batch, Batch)
        found += batch.column("value").tolist()
    return found


def test_a_source_may_use_the_names_count_and_repeat_for_something_else() -> None:
    assert drain(Counted([5, 6, 7, 8]), ["0"]) == [5, 6, 7, 8]


def test_count_is_refused_where_replicas_share_the_partitions_of_events() -> None:
    with pytest.raises(ConfigurationError, match="count: is 4, and several replicas share the partitions"):
        drain(Parts(count=4), ["a"])
    assert drain(Parts(count=4), ["a", "b"]) == [0, 1, 2, 3]
    assert drain(Parts(count=4), []) == [], "the other replica has all partitions"


def test_a_live_source_has_no_repeat_but_one_of_its_own() -> None:
    (problem,) = Feed.check({"repeat": 0}, [], Path())
    assert (problem.where, problem.message, problem.allowed) == ("repeat", "is 0", "1")
    assert Feed.check({"repeat": 1}, [], Path()) == []
    assert OwnRepeat.check({"repeat": 0}, [], Path()) == []
