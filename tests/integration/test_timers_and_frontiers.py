"""Timers fire between events and frontiers rise: never past a row, and while no row comes."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.source import NO_MORE, Source
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Drop, Journal, Number, Numbers, Pass, numbers
from tests.integration.test_lifecycle import EVERYWHERE

# -- timers


class Ticks(Actor):
    """Three ticks of a timer that repeats and one that does not; then the source is told to go on."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, told: int) -> None:
        self.told, self.seen = told, 0

    def on_start(self) -> None:
        self.set_timer("once", after=0.001)
        self.set_timer("every", every=0.001)
        self.set_timer("never", after=0.001)
        self.cancel_timer("never")

    def on_timer(self, name: str) -> Number | None:
        if name == "once":
            return Number(-1, 0)
        if name == "never":
            raise AssertionError("this timer was cancelled")
        self.seen += 1
        if self.seen == 3:
            self.cancel_timer("every")
            self.set_timer("last", after=0.001)
        if name == "last":
            os.write(self.told, b"x")
        return Number(-self.seen - 10, 0)

    def on_event(self, event: Number) -> Number:
        return event


class TicksAsync(Ticks):
    """The same; `on_timer` awaits, and must not overlap with itself or with events."""

    busy = False

    async def on_timer(self, name: str) -> Number | None:  # type: ignore[override]
        assert not self.busy
        self.busy = True
        await asyncio.sleep(0.002)
        self.busy = False
        return super().on_timer(name)

    def on_event(self, event: Number) -> Number:
        assert not self.busy
        return event


class Waits(Source):
    """Ten events, then as many when it is told to go on."""

    def __init__(self, hears: int) -> None:
        self.hears = hears

    async def events(self) -> AsyncIterator[Number]:
        for value in range(10):
            await asyncio.sleep(0)
            yield Number(value, 0)
        await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
        for value in range(10, 20):
            yield Number(value, 0)


@EVERYWHERE
@pytest.mark.parametrize("operator", [Ticks, TicksAsync])
def test_timers_fire_while_input_is_awaited(deploy: dict[str, Any], operator: type[Actor]) -> None:
    hears, told = os.pipe()
    try:
        topology = Topology("test")
        stream = topology.source(Waits, hears=hears).through(operator, told=told)
        stream.through(Pass).into(Collect, name="out")
        rows = [value for value, _ in topology.run(**deploy)["out"]]
    finally:
        os.close(hears)
        os.close(told)
    assert [value for value in rows if value >= 0] == list(range(20))
    assert sorted(value for value in rows if value < 0) == [-14, -13, -12, -11, -1]


class RingsAtOnce(Actor):
    """A timer with a period of a day rings at once, unless `after` says otherwise; then the source is told to go on."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, told: int) -> None:
        self.told = told

    def on_start(self) -> None:
        self.set_timer("later", after=86_400, every=86_400)
        self.set_timer("now", every=86_400)

    def on_timer(self, name: str) -> Number:
        os.write(self.told, b"x")
        return Number(-1 if name == "now" else -2, 0)

    def on_event(self, event: Number) -> Number:
        return event


@EVERYWHERE
def test_a_periodic_timer_rings_first_after_its_delay(deploy: dict[str, Any]) -> None:
    hears, told = os.pipe()
    try:
        topology = Topology("test")
        stream = topology.source(Waits, hears=hears).through(RingsAtOnce, told=told)
        stream.into(Collect, name="out")
        rows = [value for value, _ in topology.run(**deploy)["out"]]
    finally:
        os.close(hears)
        os.close(told)
    assert sorted(rows) == [-1, *range(20)]


class SetsNonsense(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_event(self, event: Number) -> Number:
        self.set_timer("spins", every=0)
        return event


def test_a_period_of_nothing_is_refused() -> None:
    topology = Topology("test")
    topology.source(Numbers, count=1).through(SetsNonsense, name="sets").into(Collect, name="out")
    with pytest.raises(OperatorError, match=r"'sets': timer 'spins' has after=0.0, every=0"):
        topology.run()


# -- frontiers


class Watches(Actor):
    """Writes down frontiers and complains of rows behind them."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, path: str) -> None:
        self.journal, self.frontier = Journal(Path(path)), -(2**63)

    def on_event(self, event: Number) -> Number:
        if event.value < self.frontier:
            self.journal.write("behind", event.value, self.frontier)
        return event

    def on_heartbeat(self, frontier: int) -> None:
        if frontier <= self.frontier:
            self.journal.write("falls", self.frontier, frontier)
        self.frontier = frontier
        self.journal.write("frontier", frontier)

    def on_end(self) -> None:
        self.journal.write("end", 0)


class WatchesAsync(Watches):
    async def on_heartbeat(self, frontier: int) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().on_heartbeat(frontier)


@EVERYWHERE
@pytest.mark.parametrize("operator", [Watches, WatchesAsync])
@pytest.mark.parametrize("edge_bytes", [1, 4 << 20])
def test_frontiers_rise_and_no_row_comes_behind_them(
    deploy: dict[str, Any], operator: type[Actor], edge_bytes: int, journal: Journal
) -> None:
    topology = Topology("test")
    first = topology.source(Numbers, name="a", count=2000).through(Pass, name="pass")
    second = topology.source(Numbers, name="b", count=1000)
    stream = first.shuffle().through(
        operator, second.shuffle(), name="watch", replicas=2, path=str(journal.path)
    )
    stream.through(operator, name="again", replicas=2, path=str(journal.path)).to_one().into(
        Collect, name="out"
    )
    rows = topology.run(**{**deploy, "edge_bytes": edge_bytes})["out"]
    assert len(rows) == 3000
    words = Counter(line.split()[0] for line in journal.lines())
    assert words["behind"] == words["falls"] == 0
    assert words["end"] == 4


class Counts(Source):
    """A hundred events, then none until it is told; promises the next one all the time."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, hears: int) -> None:
        self.hears, self.done = hears, 0

    async def read(self, max_rows: int) -> Batch | None:
        if self.done == 100:
            await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
            return None
        self.done += 10
        return numbers(np.arange(self.done - 10, self.done))

    def lower_bound(self, now_ns: int) -> int:
        return self.done


class Tells(Watches):
    """Tells the source to end when its promise has arrived."""

    def __init__(self, path: str, told: int) -> None:
        super().__init__(path)
        self.told = told

    def on_heartbeat(self, frontier: int) -> None:
        super().on_heartbeat(frontier)
        if frontier == 100:
            os.write(self.told, b"x")


@EVERYWHERE
def test_a_promise_arrives_while_no_row_does(deploy: dict[str, Any], journal: Journal) -> None:
    hears, told = os.pipe()
    try:
        topology = Topology("test")
        stream = (
            topology.source(Counts, hears=hears)
            .through(Pass)
            .shuffle()
            .through(Pass, name="more", replicas=2)
        )
        stream.through(Drop, replicas=2).to_one().through(Tells, path=str(journal.path), told=told).into(
            Collect, name="out"
        )
        assert topology.run(**deploy)["out"] == []
    finally:
        os.close(hears)
        os.close(told)
    lines = journal.lines()
    assert "frontier 100" in lines
    assert not [line for line in lines if line.startswith(("behind", "falls"))]


class Quiet(Numbers):
    """Promises nothing."""

    def lower_bound(self, now_ns: int) -> None:
        return None


class SaysTheEnd(Actor):
    """Rows of the input, and -1 where the end of event time is heard."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_event(self, event: Number) -> Number:
        return event

    def on_heartbeat(self, frontier: int) -> Number | None:
        return Number(-1, 0) if frontier == NO_MORE else None


@EVERYWHERE
def test_an_actor_hears_the_end_of_event_time_however_it_is_called(deploy: dict[str, Any]) -> None:
    topology = Topology("test")
    topology.source(Quiet, count=3).through(SaysTheEnd).into(Collect, name="out")
    assert [value for value, _ in topology.run(**deploy)["out"]] == [0, 1, 2, -1]


class SumsUp(Actor):
    """One row at the end, later than all that was promised; None before."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}
    last = 0

    def on_event(self, event: Number) -> None:
        self.last = event.value

    def on_end(self) -> Iterator[Number]:
        yield Number(1000 + self.last, 0)


class SumsUpAsync(SumsUp):
    async def on_end(self) -> Number:  # type: ignore[override]
        await asyncio.sleep(0)
        return Number(1000 + self.last, 0)


@EVERYWHERE
@pytest.mark.parametrize("operator", [SumsUp, SumsUpAsync])
@pytest.mark.parametrize("replicas", [1, 2])
def test_the_end_of_event_time_is_promised_behind_the_rows_of_on_end(
    deploy: dict[str, Any], operator: type[Actor], replicas: int
) -> None:
    topology = Topology("test")
    stream = topology.source(Numbers, count=100).shuffle().through(operator, name="sums", replicas=replicas)
    stream.to_one().through(SaysTheEnd).into(Collect, name="out")
    *sums, last = [value for value, _ in topology.run(**deploy)["out"]]
    assert len(sums) == replicas
    assert max(sums) == 1099
    assert last == -1
