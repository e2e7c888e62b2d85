"""Rows that an async hook has yielded are sent on while it awaits."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import AsyncIterator
from typing import Any

from actorstream.actors.actor import Actor
from actorstream.connectors.sink import Sink
from actorstream.topology.builder import Topology
from tests.integration.parts import Number, Numbers
from tests.integration.test_lifecycle import EVERYWHERE

WITHIN_S = 60.0


class YieldsAndAwaits(Actor):
    """Yields the next row only once the last one has come to the sink."""

    def __init__(self, hears: int) -> None:
        self.hears = hears

    async def on_event(self, event: Number) -> AsyncIterator[Number]:
        loop = asyncio.get_running_loop()
        for value in range(4):
            yield Number(value, event.value)
            await loop.run_in_executor(None, self.hear)

    def hear(self) -> None:
        if not select.select([self.hears], [], [], WITHIN_S)[0]:
            raise TimeoutError("the row has not come to the sink")
        os.read(self.hears, 1)


class Tells(Sink):
    def __init__(self, told: int) -> None:
        self.told = told

    def on_event(self, event: Number) -> None:
        os.write(self.told, b"x")


@EVERYWHERE
def test_each_row_that_a_hook_yields_goes_on_while_it_awaits(deploy: dict[str, Any]) -> None:
    hears, told = os.pipe()
    try:
        topology = Topology("meanwhile")
        topology.source(Numbers, count=2).through(YieldsAndAwaits, hears=hears).into(
            Tells, name="sink", told=told
        )
        assert topology.run(**deploy).report["events_in"]["sink"] == 8
    finally:
        os.close(hears)
        os.close(told)
