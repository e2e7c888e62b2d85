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
