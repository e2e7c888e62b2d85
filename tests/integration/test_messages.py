"""Operators that are told and asked while they run, from any worker: between their hooks, never within one."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import ActorDeadError, BrokenError, OperatorError
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Number, Numbers, Pass

DEPLOYMENTS = [
    pytest.param({}, id="local"),
    pytest.param({"pipelining": False, "batch_size": 10}, id="local-queued"),
    pytest.param({"transport": "shm", "workers": 2, "batch_size": 50}, id="shm"),
    pytest.param(
        {"transport": "shm", "workers": 4, "placement": "round-robin", "batch_size": 50}, id="shm-pipeline"
    ),
]
EVERYWHERE = pytest.mark.parametrize("deploy", DEPLOYMENTS)


class Table(Actor):
    """Answers what it was told; emits what it is told to emit."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def on_event(self, event: Number) -> None:
        """Takes rows and makes none."""

    def on_message(self, message: Any) -> Any:
        what, number = message
        if what == "remember":
            self.known[number] = number * number
        elif what == "emit":
            self.emit(Number(number, self.replica))
        elif what == "where":
            return [self.name, self.replica]
        elif what == "raise":
            raise ValueError("no answer")
        elif what == "exit":
            sys.exit("no more")
        return self.known.get(number)


class Asks(Actor):
    """Tells and asks the table for every event."""

    async def on_event(self, event: Number) -> Number:
        table = self.ref(f"table/{event.value % 2}")
        table.tell(["remember", event.value])
        answer = await table.ask(["get", event.value])
        return Number(answer, event.group)


def asking(count: int) -> Topology:
    topology = Topology("messages")
    source = topology.source(Numbers, name="source", count=count)
    table = source.through(Pass).shuffle().through(Table, name="table", replicas=2)
    source.shuffle().through(Asks, name="asks", replicas=2).to_one().into(Collect, name="out")
    table.to_one().into(Collect, name="emitted")
    return topology


@EVERYWHERE
def test_an_operator_asks_another_in_any_worker(deploy: dict[str, Any]) -> None:
    result = asking(300).run(**deploy)
    assert sorted(result["out"]) == sorted((value * value, value % 101) for value in range(300))


class Opens(Actor):
    """Has something to answer once its async on_start is through; sends a row where it is asked to."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self) -> None:
        self.opened = 0

    async def on_start(self) -> None:
        await asyncio.sleep(0)
        self.opened += 1

    def on_event(self, event: Number) -> Number:
        return event

    def on_message(self, message: int) -> int:
        if message:
            self.emit(Number(message, 100))
        return self.opened


class AsksAtStart(Actor):
    """Its on_start asks every actor of `others`, whether upstream or downstream."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, others: list[str]) -> None:
        self.others = others
        self.answers: list[int] = []

    async def on_start(self) -> None:
        self.answers = [await self.ref(other).ask(1000 * (other == "after")) for other in self.others]

    def on_event(self, event: Number) -> Number:
        return Number(event.value, sum(self.answers))


@EVERYWHERE
def test_an_on_start_that_asks_has_the_other_actor_started_first(deploy: dict[str, Any]) -> None:
    topology = Topology("messages")
    before = topology.source(Numbers, name="source", count=10).through(Opens, name="before")
    asks = before.through(AsksAtStart, name="asks", others=["before", "after", "before"])
    asks.through(Opens, name="after").to_one().into(Collect, name="out")
    result = topology.run(**deploy)
    rows = [(value, 3) for value in range(10)]
    assert sorted(result["out"]) == [*rows, (1000, 100)]


class TellsToEmit(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    async def on_event(self, event: Number) -> None:
        await self.ref(f"table/{event.value % 2}").ask(["emit", event.value])


@EVERYWHERE
def test_what_on_message_emits_flows_on(deploy: dict[str, Any]) -> None:
    topology = Topology("messages")
    source = topology.source(Numbers, name="source", count=300)
    teller = source.through(TellsToEmit, name="teller")
    table = teller.shuffle().through(Table, name="table", replicas=2)  # ends after the teller
    table.to_one().into(Collect, name="emitted")
    rows = topology.run(**deploy)["emitted"]
    assert sorted(rows) == [(value, value % 2) for value in range(300)]


class AsksForErrors(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    async def on_event(self, event: Number) -> Number | None:
        if event.value:
            return None
        with pytest.raises(Exception, match="no answer"):
            await self.ref("table").ask(["raise", 0])
        with pytest.raises(ActorDeadError, match="has no replica 'nobody'"):
            self.ref("nobody")
        with pytest.raises(ActorDeadError, match="takes no messages"):
            self.ref("source")
        name, replica = await self.ref("table/1").ask(["where", 0])
        assert (name, replica) == ("table", 1)
        return Number(1, 1)


@EVERYWHERE
def test_errors_come_back_to_who_asked_and_the_run_goes_on(deploy: dict[str, Any]) -> None:
    topology = Topology("messages")
    source = topology.source(Numbers, name="source", count=100)
    source.through(AsksForErrors, name="asks").into(Collect, name="out")
    source.shuffle().through(Table, name="table", replicas=2).to_one().into(Collect, name="emitted")
    assert topology.run(**deploy)["out"] == [(1, 1)]


class Exclusive(Actor):
    """Complains if an event and a message are worked on at the same time."""

    busy = False

    async def _alone(self) -> None:
        assert not self.busy, "two hooks at once"
        self.busy = True
        for _ in range(3):
            await asyncio.sleep(0)
        self.busy = False

    async def on_event(self, event: Number) -> Number:
        await self._alone()
        return event

    async def on_message(self, message: Any) -> Any:
        await self._alone()
        return message


class AsksExclusive(Actor):
    async def on_event(self, event: Number) -> Number:
        return Number(await self.ref("exclusive").ask(event.value), event.group)


@EVERYWHERE
def test_a_message_never_runs_within_another_hook(deploy: dict[str, Any]) -> None:
    topology = Topology("messages")
    source = topology.source(Numbers, name="source", count=200)
    source.shuffle().through(Exclusive, name="exclusive").into(Collect, name="events")
    source.shuffle().through(AsksExclusive, name="asks", replicas=2).to_one().into(Collect, name="out")
    result = topology.run(**deploy)
    rows = [(value, value % 101) for value in range(200)]
    assert sorted(result["out"]) == sorted(result["events"]) == rows


class AsyncTable(Table):
    async def on_message(self, message: Any) -> Any:
        await asyncio.sleep(0)
        return super().on_message(message)


class TellsItself(AsyncTable):
    """Gets its message while another hook of it awaits, so that the message waits until that hook has ended."""

    async def on_event(self, event: Number) -> None:
        if event.value == 0:
            self.ref(self.name).tell(["raise", 0])
            await self.ref("other").ask(["get", 0])


class TellsAndWaits(Actor):
    """Tells the table something at the first event, and waits until the table has dealt with it."""

    def __init__(self, what: str) -> None:
        self.what = what

    async def on_event(self, event: Number) -> Number:
        if event.value == 0:
            table = self.ref("table")
            table.tell([self.what, 0])
            with suppress(ActorDeadError, BrokenError):
                await table.ask(["get", 0])
        return event


@EVERYWHERE
@pytest.mark.parametrize(
    ("what", "error"), [("raise", "ValueError: no answer"), ("exit", "SystemExit: no more")]
)
@pytest.mark.parametrize("table", [Table, AsyncTable])
def test_an_error_of_a_message_that_was_told_ends_the_run_and_nothing_is_committed(
    tmp_path: Path, deploy: dict[str, Any], what: str, error: str, table: type[Actor]
) -> None:
    topology = Topology("messages")
    source = topology.source(Numbers, name="source", count=300)
    told = source.through(TellsAndWaits, name="teller", what=what)
    told.to_one().into("csv-sink", name="out", path=str(tmp_path / "rows.csv"))
    source.shuffle().through(table, name="table").into(Collect, name="emitted")
    with pytest.raises(OperatorError, match=f"'table'.*{error}"):
        topology.run(**deploy)
    assert not (tmp_path / "rows.csv").exists()


@EVERYWHERE
def test_an_error_of_a_message_that_had_to_wait_ends_the_run(deploy: dict[str, Any]) -> None:
    topology = Topology("messages")
    source = topology.source(Numbers, name="source", count=300)
    source.shuffle().through(TellsItself, name="table").into(Collect, name="out")
    source.shuffle().through(Table, name="other").into(Collect, name="emitted")
    with pytest.raises(OperatorError, match=r"'table'.*ValueError: no answer"):
        topology.run(**deploy)


class TellsInCommit(Collect):
    """Tells the table something when all is decided."""

    def prepare(self, barrier: int) -> str:
        return "token"

    def commit(self, token: Any) -> None:
        self.ref("table").tell(["raise", 0])


def test_an_error_of_a_message_that_came_after_the_commit_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    topology = Topology("messages")
    source = topology.source(Numbers, name="source", count=10)
    source.through(Pass).into(TellsInCommit, name="out")
    source.through(Table, name="table").into(Collect, name="emitted")
    assert len(topology.run()["out"]) == 10
    assert "ValueError: no answer" in caplog.text


class Raises(Actor):
    def on_event(self, event: Number) -> Number:
        raise ValueError("broken downstream")


@EVERYWHERE
def test_an_error_downstream_of_what_a_message_emitted_ends_the_run(deploy: dict[str, Any]) -> None:
    topology = Topology("messages")
    source = topology.source(Numbers, name="source", count=300)
    teller = source.through(TellsToEmit, name="teller")
    table = teller.shuffle().through(Table, name="table", replicas=2)
    table.through(Raises, name="broken", replicas=2).to_one().into(Collect, name="emitted")
    with pytest.raises(OperatorError, match=r"'broken'.*broken downstream"):
        topology.run(**deploy)


class AsksLate(Actor):
    """Asks an operator that has ended long ago."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    async def on_end(self) -> Number:
        table = self.ref("table")
        await table.ask(["remember", 7])
        table.tell(["emit", 8])
        with pytest.raises(Exception, match="has ended"):
            await table.ask(["emit", 9])
        return Number(await table.ask(["get", 7]), 0)

    def on_event(self, event: Number) -> None:
        """Only the end matters."""


@EVERYWHERE
def test_an_operator_that_has_ended_answers_but_sends_no_more(deploy: dict[str, Any]) -> None:
    topology = Topology("messages")
    first = topology.source(Numbers, name="source", count=10).through(Table, name="table")
    first.through(AsksLate, name="asks").into(Collect, name="out")
    assert topology.run(**deploy)["out"] == [(49, 0)]
