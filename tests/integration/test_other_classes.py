"""A hook that returns, yields or emits events of another class than its output has ends the run, before fields get lost.
Rows of equal fields become rows of the output's class."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, ClassVar, Literal

import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.sink import Sink
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Number, Numbers
from tests.integration.test_lifecycle import EVERYWHERE


class Enriched(Event):
    value: int
    group: int
    word: str


class Returns(Actor):
    """Says nothing of its output, which has the class of its input."""

    def on_event(self, event):  # type: ignore[no-untyped-def]
        return Enriched(event.value, event.group, "x")


class Yields(Actor):
    def on_event(self, event):  # type: ignore[no-untyped-def]
        yield Enriched(event.value, event.group, "x")


class Emits(Actor):
    def on_event(self, event):  # type: ignore[no-untyped-def]
        self.emit(Enriched(event.value, event.group, "x"))


class Awaits(Actor):
    async def on_event(self, event):  # type: ignore[no-untyped-def]
        return Enriched(event.value, event.group, "x")


class SaysOtherwise(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_event(self, event: Number) -> Iterator[Enriched]:
        yield Enriched(event.value, event.group, "x")


class Takes(Sink):
    """Takes events, as `Collect` takes batches."""

    def on_event(self, event: Number) -> None:
        pass


class Trip(Event):
    number: int
    state: Literal["new", "done"]
    stops: list[str]


class State(StrEnum):
    NEW = "new"
    DONE = "done"


class Journey(Event):
    """Has the fields of a `Trip`, as other types of Python."""

    number: int
    state: State
    stops: set[str]

    def text(self) -> str:
        return f"{self.number} {self.state.name} {sorted(self.stops)}"


class Renames(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Journey}

    def on_batch(self, batch: Batch) -> Batch:
        return batch


class RenamesEach(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Journey}

    def on_event(self, event: Trip):  # type: ignore[no-untyped-def]
        return event


class Text(Event):
    text: str


class Tells(Actor):
    def on_event(self, event: Journey) -> Text:
        return Text(event.text())


@EVERYWHERE
@pytest.mark.parametrize("operator", [Renames, RenamesEach])
@pytest.mark.parametrize("from_columns", [False, True])
def test_rows_of_an_equal_class_become_events_of_the_class_of_the_output(
    deploy: dict[str, Any], operator: type[Actor], from_columns: bool
) -> None:
    trips = [Trip(1, "new", ["b", "a", "b"]), Trip(2, "done", [])]
    topology = Topology("equal")
    rows: list[Any] = [Batch.of_events(Trip, trips).compact()] if from_columns else trips
    source = topology.source(rows, event=Trip)
    found = source.through(operator).through(Tells).collect()
    topology.run(**deploy)
    assert [event.text for event in found] == ["1 NEW ['a', 'b']", "2 DONE []"]


@EVERYWHERE
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("sink", [Collect, Takes])
@pytest.mark.parametrize("operator", [Returns, Yields, Emits, Awaits, SaysOtherwise])
def test_events_of_another_class_are_refused_by_name(
    deploy: dict[str, Any], operator: type[Actor], sink: type[Sink]
) -> None:
    topology = Topology("other")
    stream = topology.source(Numbers, count=100).through(operator, name="other", on_error="skip")
    stream.into(sink, name="out")
    with pytest.raises(
        OperatorError, match=r"Enriched\(.*is not of class Number.*declare its class"
    ) as caught:
        topology.run(**deploy)
    assert caught.value.actor == "other"
