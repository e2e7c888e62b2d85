"""Hooks of the life cycle: each once, in order, also when the run fails; what they emit arrives."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.sink import Sink
from actorstream.errors import OperatorError
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Double, Journal, Number, Numbers, Pass

LOCAL = pytest.param({}, id="local")
QUEUED = pytest.param({"pipelining": False, "batch_size": 10}, id="local-queued")
SHM = pytest.param({"transport": "shm", "workers": 2, "batch_size": 50}, id="shm")
PIPELINE = pytest.param(
    {"transport": "shm", "workers": 3, "placement": "round-robin", "batch_size": 50}, id="shm-pipeline"
)
EVERYWHERE = pytest.mark.parametrize("deploy", [LOCAL, QUEUED, SHM, PIPELINE])


class Recorder:
    """What each of the three kinds of actor writes down of its life."""

    journal: Journal

    def note(self, hook: str) -> None:
        self.journal.write(f"{self.name}/{self.replica}", hook)  # type: ignore[attr-defined]

    def on_start(self) -> Any:
        self.note("start")

    def on_end(self) -> Any:
        self.note("end")

    def on_stop(self) -> Any:
        self.note("stop")

    def on_failure(self, error: BaseException) -> None:
        self.note("failure")


class RecordedSource(Recorder, Numbers):
    def __init__(self, path: str, count: int = 1000, parts: int = 1) -> None:
        super().__init__(count, parts)
        self.journal = Journal(Path(path))


class Recorded(Recorder, Actor):
    def __init__(self, path: str, fail_at: int = -1) -> None:
        self.journal, self.fail_at = Journal(Path(path)), fail_at

    def on_event(self, event: Number) -> Number:
        if event.value == self.fail_at:
            raise ValueError("this far and no further")
        return event


class AsyncRecorded(Recorded):
    """The same with hooks that await."""

    async def on_start(self) -> None:
        self.note("start")  # from here on on_stop is due, also if the run fails while this waits
        await asyncio.sleep(0)

    async def on_event(self, event: Number) -> Number:
        return super().on_event(event)

    async def on_end(self) -> None:
        await asyncio.sleep(0)
        self.note("end")

    async def on_stop(self) -> None:
        await asyncio.sleep(0)
        self.note("stop")


class RecordedSink(Recorder, Collect):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.journal = Journal(Path(path))


def recorded(journal: Journal, operator: type[Actor], **keys: Any) -> Topology:
    topology = Topology("test")
    path = str(journal.path)
    stream = topology.source(RecordedSource, name="source", count=1000, parts=3, replicas=2, path=path)
    stream = stream.through(operator, name="first", replicas=2, path=path)
    stream = stream.shuffle().through(operator, name="second", replicas=3, path=path, **keys)
    stream.to_one().into(RecordedSink, name="sink", path=path)
    return topology


REPLICAS = [f"source/{i}" for i in range(2)] + [f"first/{i}" for i in range(2)]
REPLICAS += [f"second/{i}" for i in range(3)] + ["sink/0"]


@EVERYWHERE
@pytest.mark.parametrize("operator", [Recorded, AsyncRecorded])
def test_start_end_and_stop_are_called_once_each_in_order(
    deploy: dict[str, Any], operator: type[Actor], journal: Journal
) -> None:
    recorded(journal, operator).run(**deploy)
    lived: dict[str, list[str]] = {}
    for line in journal.lines():
        replica, hook = line.split()
        lived.setdefault(replica, []).append(hook)
    assert lived == {replica: ["start", "end", "stop"] for replica in REPLICAS}


@EVERYWHERE
def test_nobody_ends_before_what_it_reads_from_and_all_end_before_any_stops(
    deploy: dict[str, Any], journal: Journal
) -> None:
    recorded(journal, Recorded).run(**deploy)
    lines = journal.lines()
    at = {line: number for number, line in enumerate(lines)}
    ends = {
        actor: [n for line, n in at.items() if line.startswith(f"{actor}/") and line.endswith(" end")]
        for actor in ("source", "first", "second", "sink")
    }
    for index in range(2):
        assert at[f"source/{index} end"] < at[f"first/{index} end"]
    assert max(ends["first"]) < min(ends["second"])
    assert max(ends["second"]) < min(ends["sink"])
    assert max(n for line, n in at.items() if line.endswith(" end")) < min(
        n for line, n in at.items() if line.endswith(" stop")
    )


@EVERYWHERE
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("operator", [Recorded, AsyncRecorded])
def test_a_failed_run_calls_failure_and_stop_once_in_everyone_that_started(
    deploy: dict[str, Any], operator: type[Actor], journal: Journal
) -> None:
    with pytest.raises(OperatorError, match="this far and no further"):
        recorded(journal, operator, fail_at=500).run(**deploy)
    counts = Counter(journal.lines())
    assert any(counts[f"second/{index} start"] for index in range(3))
    for replica in REPLICAS:
        started = counts[
            f"{replica} start"
        ]  # a worker may have heard of the failure before it started its own
        assert started <= 1
        assert counts[f"{replica} failure"] == counts[f"{replica} stop"] == started
        assert counts[f"{replica} end"] <= 1


class Unanswering(Recorder, Actor):
    """Its hook for messages awaits for ever, or is never called, since its hook for events does. Meanwhile another fails."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, path: str, waits_in: str) -> None:
        self.journal, self.waits_in = Journal(Path(path)), waits_in

    async def on_event(self, event: Number) -> Number:
        self.ref(self.name).tell("message")
        if self.waits_in == "event":
            await self._wait()
        return event

    async def on_message(self, message: str) -> None:
        await self._wait()

    async def _wait(self) -> None:
        self.ref("fails").tell("message")
        await asyncio.Event().wait()


class FailsWhenTold(Actor):
    def on_event(self, event: Number) -> Number:
        return event

    def on_message(self, message: str) -> None:
        raise ValueError("this far and no further")


@EVERYWHERE
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("waits_in", ["event", "message"])
def test_a_failed_run_does_not_wait_for_hooks_of_messages(
    deploy: dict[str, Any], waits_in: str, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    topology = Topology("test")
    source = topology.source(Numbers, name="source", count=100)
    waits = source.through(Unanswering, name="waits", path=str(journal.path), waits_in=waits_in)
    waits.to_one().into(Collect, name="out")
    source.shuffle().through(FailsWhenTold, name="fails").into(Collect, name="other")
    with pytest.raises(OperatorError, match="this far and no further"):
        topology.run(**deploy)
    assert journal.lines() == [f"waits/0 {hook}" for hook in ("start", "failure", "stop")]
    assert "does not stop" not in caplog.text


class FailsAtStart(Recorder, Actor):
    def __init__(self, path: str) -> None:
        self.journal = Journal(Path(path))

    def on_start(self) -> None:
        self.note("start")
        raise ValueError("no start today")

    def on_event(self, event: Number) -> Number:
        self.note("event")
        return event


@EVERYWHERE
@pytest.mark.usefixtures("patient")
def test_stop_is_called_only_where_start_was(deploy: dict[str, Any], journal: Journal) -> None:
    topology = Topology("test")
    path = str(journal.path)
    stream = topology.source(RecordedSource, name="source", count=100, path=path)
    stream = stream.through(FailsAtStart, name="bad", path=path)
    stream.into(RecordedSink, name="sink", path=path)
    with pytest.raises(OperatorError, match=r"operator 'bad'.*no start today"):
        topology.run(**deploy)
    counts = Counter(journal.lines())
    assert counts["bad/0 start"] == counts["bad/0 stop"] == 1
    assert counts["bad/0 event"] == 0
    for replica in ("source/0", "sink/0"):
        assert counts[f"{replica} stop"] == counts[f"{replica} start"] <= 1


class SumAtEnd(Actor):
    """Nothing per event; at the end the count, the sum, and as many rows as asked for."""

    def __init__(self, rows: int = 1, late: bool = False) -> None:
        self.rows, self.count, self.total = rows, 0, 0

    def on_event(self, event: Number) -> Number | None:
        self.count += 1
        self.total += event.value
        return None

    def on_end(self) -> Iterator[Number]:
        self.emit(Number(self.count, -1))
        for _ in range(self.rows):
            yield Number(self.total, -2)


class SumAtEndAsync(SumAtEnd):
    async def on_end(self) -> AsyncIterator[Number]:  # type: ignore[override]
        for event in super().on_end():
            await asyncio.sleep(0)
            yield event


@EVERYWHERE
@pytest.mark.parametrize("operator", [SumAtEnd, SumAtEndAsync])
def test_what_on_end_emits_passes_everything_behind_it(deploy: dict[str, Any], operator: type[Actor]) -> None:
    topology = Topology("test")
    stream = topology.source(Numbers, count=1000, parts=2, replicas=2).through(operator, replicas=2, rows=50)
    stream.through(Double, replicas=2).to_one().through(Pass).into(Collect, name="out")
    rows = topology.run(**{**deploy, "edge_bytes": 1})["out"]
    assert sorted(rows) == sorted(
        [(1000, -1)] * 2 + [(2 * sum(range(0, 1000, 2)), -2)] * 50 + [(2 * sum(range(1, 1000, 2)), -2)] * 50
    )


class Greets(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_start(self) -> list[Number]:
        self.emit(Number(-1, self.replica))
        return [Number(-2, self.replica)]

    def on_event(self, event: Number) -> Number:
        return event


@EVERYWHERE
def test_what_on_start_emits_comes_first(deploy: dict[str, Any]) -> None:
    topology = Topology("test")
    topology.source(Numbers, count=100).through(Greets).through(Pass).into(Collect, name="out")
    rows = topology.run(**deploy)["out"]
    assert rows[:2] == [(-1, 0), (-2, 0)]
    assert rows[2:] == [(value, value) for value in range(100)]


class SlowStart(Sink):
    """Takes no event before its own, awaiting, on_start is through."""

    def __init__(self, path: str) -> None:
        self.journal, self.ready = Journal(Path(path)), False

    async def on_start(self) -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        self.ready = True

    def on_event(self, event: Number) -> None:
        if not self.ready:
            self.journal.write("too early", event.value)


@EVERYWHERE
def test_no_event_comes_before_an_awaiting_on_start_is_through(
    deploy: dict[str, Any], journal: Journal
) -> None:
    topology = Topology("test")
    stream = topology.source(Numbers, count=100).through(Greets).shuffle().through(Pass, replicas=2)
    stream.shuffle().into(SlowStart, replicas=2, path=str(journal.path))
    topology.run(**deploy)
    assert journal.lines() == []
