"""Rows never wait for the next one: what waits beside a full channel, or behind a hook that awaits, is sent."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.sink import Sink
from actorstream.connectors.source import Source
from actorstream.events.batch import Batch
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Number, Pass, numbers

DEPLOYMENTS = [
    pytest.param({}, id="local"),
    pytest.param({"transport": "shm", "workers": 2}, id="shm"),
    pytest.param({"transport": "shm", "workers": 4, "placement": "round-robin"}, id="shm-pipeline"),
]
EVERYWHERE = pytest.mark.parametrize("deploy", DEPLOYMENTS)


class OneByOne(Source):
    """Batches of one row: many within a turn, so that rows gather in front of consumers that have some already."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, count: int) -> None:
        self.done, self.rows = 0, count

    def read(self, max_rows: int) -> Batch | None:
        if self.done == self.rows:
            return None
        self.done += 1
        return numbers(np.array([self.done - 1]))


class WaitsForTheOther(Sink):
    """Takes nothing until the other one tells it that it has got what it waits for."""

    def __init__(self, hears: int) -> None:
        self.hears, self.told = hears, False

    async def on_event(self, event: Number) -> None:
        import asyncio

        if not self.told:
            await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
            self.told = True


class TellsAt(Sink):
    """Tells that value `at` has arrived."""

    def __init__(self, told: int, at: int) -> None:
        self.told, self.at = told, at

    def on_event(self, event: Number) -> None:
        if event.value == self.at:
            os.write(self.told, b"x")


def first_two(batch: Batch, consumers: int) -> Any:
    """Rows 0 and 1 to the second replica, the rest to the first."""
    return (batch["value"] < 2).astype(int)


@EVERYWHERE
def test_what_waits_beside_a_full_channel_is_sent_before_the_worker_rests(deploy: dict[str, Any]) -> None:
    hears, told = os.pipe()
    try:
        topology = Topology("batching")
        source = topology.source(OneByOne, count=100)
        source.to_one().into(WaitsForTheOther, name="full", hears=hears)
        source.routed("tests.integration.test_natural_batching:first_two").into(
            TellsAt, name="starved", replicas=2, told=told, at=1
        )
        report = topology.run(**deploy, batch_size=4, edge_bytes=1, pipelining=False).report
    finally:
        os.close(hears)
        os.close(told)
    assert report["events_in"] == {"one_by_one": 0, "full": 100, "starved": 100}


class HoldsAfter(Actor):
    """Awaits, in the hook of the row after `at`, until somebody behind it has got `at`."""

    def __init__(self, hears: int, at: int) -> None:
        self.hears, self.at = hears, at

    async def on_event(self, event: Number) -> Number:
        import asyncio

        if event.value == self.at + 1:
            await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
        return event


@EVERYWHERE
@pytest.mark.parametrize("at", [0, 3, 30])
def test_what_an_awaiting_hook_answered_goes_on_while_the_next_one_awaits(
    deploy: dict[str, Any], at: int
) -> None:
    hears, told = os.pipe()
    try:
        topology = Topology("batching")
        stream = topology.source(OneByOne, count=50).through(HoldsAfter, hears=hears, at=at)
        stream.through(Pass).into(TellsAt, told=told, at=at)
        report = topology.run(**deploy).report
    finally:
        os.close(hears)
        os.close(told)
    assert report["events_in"]["tells_at"] == 50


class Tells(Sink):
    """Tells of every row."""

    def __init__(self, told: int) -> None:
        self.told = told

    def on_event(self, event: Number) -> None:
        os.write(self.told, b"x")


class OneAtATime(Source):
    """A live source whose next row comes only when the last one has arrived at the end."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, hears: int) -> None:
        self.hears, self.done = hears, 0

    async def read(self, max_rows: int) -> Batch | None:
        import asyncio

        if self.done:
            await asyncio.get_running_loop().run_in_executor(None, os.read, self.hears, 1)
        if self.done == 20:
            return None
        self.done += 1
        return numbers(np.array([self.done - 1]))


@EVERYWHERE
def test_a_single_row_reaches_the_sink_while_its_source_waits(deploy: dict[str, Any]) -> None:
    hears, told = os.pipe()
    try:
        topology = Topology("batching")
        stream = topology.source(OneAtATime, hears=hears).shuffle().through(Pass, replicas=2)
        stream.by("group").through(Pass, name="again", replicas=2).to_one().into(Tells, told=told)
        report = topology.run(**deploy).report
    finally:
        os.close(hears)
        os.close(told)
    assert report["events_in"]["tells"] == 20


def test_rows_arrive_one_by_one_in_order() -> None:
    topology = Topology("batching")
    topology.source(OneByOne, count=200).through(Pass).into(Collect, name="out")
    rows = topology.run(batch_size=7, pipelining=False)["out"]
    assert [value for value, _ in rows] == list(range(200))
