"""A live source that promises the clock: windows come out while nothing happens, and rows that break the promise are
late. No test waits for a time: the source is told to go on by who has seen what it waited for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from actorstream import Contract, Topology
from actorstream.actors.actor import Actor
from actorstream.connectors.source import Source
from actorstream.events.event import Event, EventTime
from tests.integration.parts import Collect

SIZE = 10
WINDOWS: dict[str, Any] = {
    "key": ["group"],
    "aggregates": {"rows": "count()"},
    "window": {"type": "tumbling", "size": SIZE},
}
EVERYWHERE = pytest.mark.parametrize(
    "deploy",
    [
        pytest.param({}, id="local"),
        pytest.param({"pre_aggregation": False, "pipelining": False}, id="local-queued"),
        pytest.param({"transport": "shm", "workers": 2}, id="shm"),
        pytest.param({"schedule": "qst", "threads": 2}, id="pool"),
    ],
)


class Reading(Event):
    at: EventTime
    group: int


class Clocked(Source):
    """Two readings; when it is told that their window has come out, one of the same window. Then it ends. Its clock stands
    still until the two have been read, and is a second further from then on."""

    clocked = True
    now: ClassVar[int] = 1_700_000_000_000

    def __init__(self, hears: int, max_out_of_orderness: timedelta | None = None) -> None:
        self.hears, self.max_out_of_orderness = hears, max_out_of_orderness

    async def events(self) -> AsyncIterator[Reading]:
        yield Reading(self.now, 0)
        yield Reading(self.now, 0)
        await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
        yield Reading(self.now, 0)

    def lower_bound(self, now_ns: int) -> int | None:
        now = self.now if self._event_rows.rows < 2 else self.now + 1000
        return super().lower_bound(now * 1_000_000)


class Tells(Actor):
    """Passes rows on, and says so."""

    contract = Contract(stateless=True)

    def __init__(self, told: int) -> None:
        self.told = told

    def on_batch(self, batch: Any) -> Any:
        os.write(self.told, b"x")
        return batch

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Any]) -> dict[str, Any]:
        return {"default": inputs[0]}


@EVERYWHERE
def test_the_clock_closes_windows_while_a_source_is_silent(deploy: dict[str, Any]) -> None:
    hears, told = os.pipe()
    try:
        topology = Topology("test")
        rows = topology.source(Clocked, hears=hears, max_out_of_orderness=timedelta(milliseconds=1))
        windows = rows.through("aggregate", name="windows", **WINDOWS)
        windows.through(Tells, told=told).into(Collect, name="out")
        windows.late.into(Collect, name="late")
        results = topology.run(**deploy)
    finally:
        os.close(hears)
        os.close(told)
    assert [row[-1] for row in results["out"]] == [2]
    assert results["late"] == [(Clocked.now, 0)], "its window had come out, by the clock"


class Number(Event):
    value: int


class Paced(Source):
    """A number each millisecond: the source looks at the clock, and again when the next one is due."""

    outputs: ClassVar = {"default": Number}

    def __init__(self, count: int, rate: float = 1000.0) -> None:
        super().__init__(rate=rate, count=count)
        self.made = 0

    def read(self, max_rows: int) -> Number | None:
        self.made += 1
        return Number(self.made) if self.made <= self.count else None


class Busy(Source):
    """Numbers without a pause, until all those of another source have come."""

    outputs: ClassVar = {"default": Number}

    def __init__(self, hears: int) -> None:
        super().__init__()
        os.set_blocking(hears, False)
        self.hears = hears

    def read(self, max_rows: int) -> Number | None:
        try:
            os.read(self.hears, 1)
        except BlockingIOError:
            return Number(0)
        return None


class Counted(Actor):
    """Says when it has had so many numbers."""

    def __init__(self, tells: int, count: int) -> None:
        self.tells, self.left = tells, count

    def on_event(self, event: Number) -> None:
        self.left -= 1
        if not self.left:
            os.write(self.tells, b"x")


@pytest.mark.parametrize("wait", ["park", "spin"])
def test_a_paced_source_has_its_turns_beside_one_that_is_never_done(wait: str) -> None:
    hears, tells = os.pipe()
    try:
        topology, count = Topology("beside"), 50
        topology.source(Busy, hears=hears).into(Collect, name="zeros")
        topology.source(Paced, name="apart", count=1).into(Collect, name="one")
        topology.source(Paced, count=count, rate=1000.0).into(
            Counted, name="counted", tells=tells, count=count
        )
        result = topology.run(transport="shm", workers=2, wait=wait, placement="first-fit")
        assert result.report["events_in"]["counted"] == count
        assert result.report["events_in"]["zeros"] > 0
    finally:
        os.close(hears)
        os.close(tells)
