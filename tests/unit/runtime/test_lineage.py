"""Outputs carry the event time of the rows they descend from, where a class downstream has none of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Journal, Number, Numbers


class Bare(Event):
    """Has no event time."""

    name: str


class Once(Actor):
    def on_event(self, event: Number) -> Bare:
        return Bare(str(event.value))


class Several(Actor):
    def on_event(self, event: Number) -> Iterator[Bare]:
        for _ in range(event.value % 3):
            yield Bare(str(event.value))


class Columns(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Bare}

    def on_batch(self, batch: Batch) -> Batch:
        odd = batch.take(batch["value"] % 2 == 1)
        return Batch.of({"name": [str(value) for value in odd["value"].tolist()]}, event=Bare, origin=odd)


class Numbered(Actor):
    """Names the rows that its rows descend from, and leaves some out afterwards."""

    outputs: ClassVar[dict[str, Any]] = {"default": Bare}

    def on_batch(self, batch: Batch) -> Batch:
        names = [str(value) for value in batch["value"].tolist()]
        made = Batch.of({"name": names}, event=Bare, origin=range(batch.rows))
        return made.take(batch["value"] % 2 == 1)


class Mixed(Actor):
    """Events and a batch to one output: it is not known which descends from what, and nothing breaks."""

    outputs: ClassVar[dict[str, Any]] = {"default": Bare}

    def on_event(self, event: Number) -> Bare:
        if event.value % 5 == 0:
            self.emit(Batch.of_events(Bare, [Bare("-1")]))
        return Bare(str(event.value))


class Hears(Actor):
    """Notes a row whose inherited time is not the number it is called by, and rows behind the frontier."""

    outputs: ClassVar[dict[str, Any]] = {"default": Bare}

    def __init__(self, path: str) -> None:
        self.journal, self.frontier = Journal(Path(path)), -(2**63)

    def on_batch(self, batch: Batch) -> Batch:
        times = batch.event_times()
        for name, time in zip(batch.column("name").tolist(), times if times is not None else []):
            if int(name) != int(time):
                self.journal.write("wrong", name, time)
            if int(time) < self.frontier:
                self.journal.write("behind", time, self.frontier)
        if times is None:
            self.journal.write("timeless")
        return batch

    def on_heartbeat(self, frontier: int) -> None:
        self.frontier = frontier


DEPLOYMENTS = [
    pytest.param({}, id="local"),
    pytest.param({"pipelining": False, "batch_size": 7}, id="local-queued"),
    pytest.param({"transport": "shm", "workers": 3, "placement": "round-robin", "batch_size": 50}, id="shm"),
]


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
@pytest.mark.parametrize("operator", [Once, Several, Columns, Numbered])
def test_outputs_without_a_time_have_that_of_the_row_they_come_from(
    deploy: dict[str, Any], operator: type[Actor], tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal")
    topology = Topology("lineage")
    stream = topology.source(Numbers, count=500).through(operator)
    stream.shuffle().through(Hears, replicas=2, path=str(journal.path)).to_one().into(Collect, name="out")
    rows = topology.run(**deploy)["out"]
    expected = {
        Once: [str(value) for value in range(500)],
        Several: [str(value) for value in range(500) for _ in range(value % 3)],
        Columns: [str(value) for value in range(1, 500, 2)],
        Numbered: [str(value) for value in range(1, 500, 2)],
    }[operator]
    assert sorted(name for (name,) in rows) == sorted(expected)
    assert journal.lines() == []


@pytest.mark.parametrize("deploy", DEPLOYMENTS[1:])
def test_rows_whose_descent_is_not_known_are_an_error_that_says_what_to_do(
    deploy: dict[str, Any], tmp_path: Path
) -> None:
    topology = Topology("lineage")
    stream = topology.source(Numbers, count=100).through(Mixed, name="mixed")
    stream.through(Hears, path=str(tmp_path / "journal")).into(Collect, name="out")
    with pytest.raises(OperatorError, match=r"'mixed'.*carry no _time.*origin=rows"):
        topology.run(**deploy)
