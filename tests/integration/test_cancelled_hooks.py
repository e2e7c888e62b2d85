"""A hook that awaits and is cancelled by its own doing ends the run, by name; the run does not wait for it for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.source import Source
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Journal, Number, Numbers
from tests.integration.test_lifecycle import EVERYWHERE


class Cancels(Actor):
    """In the hook it is told to, cancels and awaits a task of its own, or, as `itself`, the task that it runs in."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, where: str, whom: str) -> None:
        self.where, self.whom = where, whom

    async def on_start(self) -> None:
        self.beside = asyncio.create_task(asyncio.Event().wait())
        await self.reaches("start")

    async def on_event(self, event: Number) -> Number:
        await self.reaches("event")
        return event

    async def on_end(self) -> None:
        await self.reaches("end")

    async def on_stop(self) -> None:
        await self.reaches("stop")
        self.beside.cancel()

    async def reaches(self, where: str) -> None:
        if where == self.where and self.whom == "itself":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.Event().wait()
        elif where == self.where:
            self.beside.cancel()
            await self.beside


class Stops(Actor):
    """Notes its on_stop."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, path: str) -> None:
        self.journal = Journal(Path(path))

    def on_event(self, event: Number) -> Number:
        return event

    def on_stop(self) -> None:
        self.journal.write(self.name)


@EVERYWHERE
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("where", "whom"),
    [
        ("start", "own"),
        ("event", "own"),
        ("end", "own"),
        ("stop", "own"),
        ("event", "itself"),
        ("end", "itself"),
    ],
)
def test_a_hook_that_is_cancelled_by_its_own_doing_is_an_error_of_its_actor(
    deploy: dict[str, Any], where: str, whom: str, journal: Journal
) -> None:
    topology = Topology("cancelled")
    stream = topology.source(Numbers, count=100).through(Stops, name="before", path=str(journal.path))
    stream = stream.through(Cancels, name="cancels", where=where, whom=whom)
    stream.through(Stops, name="behind", path=str(journal.path)).into(Collect, name="out")
    with pytest.raises(OperatorError, match="cancelled") as caught:
        topology.run(**deploy)
    assert caught.value.actor == "cancels"
    if whom == "own":
        assert "await self.beside" in caught.value.traceback
    if where != "start":  # then those before it were not started
        assert sorted(journal.lines()) == ["before", "behind"]


class Gives(Source):
    """A live source whose first read is cancelled by its own doing."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, whom: str) -> None:
        self.whom = whom

    async def read(self, max_rows: int) -> Batch | None:
        task: Any = asyncio.current_task()
        if self.whom == "own":
            task = asyncio.create_task(asyncio.Event().wait())
        task.cancel()
        await (task if self.whom == "own" else asyncio.Event().wait())
        return None


@EVERYWHERE
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("whom", ["own", "itself"])
def test_a_read_that_is_cancelled_by_its_own_doing_is_an_error_of_its_source(
    deploy: dict[str, Any], whom: str
) -> None:
    topology = Topology("cancelled")
    topology.source(Gives, name="gives", whom=whom).into(Collect, name="out")
    with pytest.raises(OperatorError, match="CancelledError") as caught:
        topology.run(**deploy)
    assert caught.value.actor == "gives"
    assert "await (task" in caught.value.traceback
