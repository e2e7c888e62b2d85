"""Batches written in place go to another process by their shortest way, among all that cannot: same rows, same order."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.memory import MemorySink
from actorstream.connectors.source import Source
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.topology.builder import Topology

APART: dict[str, Any] = {"transport": "shm", "workers": 2, "placement": "round-robin", "pipelining": False}
FULL = 64
KINDS = ("whole", "whole", "part", "small", "event", "heap", "whole", "kept", "again", "large")


class Pair(Event):
    number: int
    half: float


class Mixed(Source):
    """Rows numbered from 0, in every form in which a source can answer them."""

    outputs: ClassVar[dict[str, Any]] = {"default": Pair}

    def __init__(self, reads: int) -> None:
        self.reads, self.done, self.next = reads, 0, 0
        self.kept: list[tuple[Any, np.ndarray]] = []

    def read(self, max_rows: int) -> Any:
        if self.done == self.reads:
            for array, values in self.kept:
                assert np.array_equal(array, values), "written again while somebody held it"
            return None
        kind = KINDS[self.done % len(KINDS)]
        self.done += 1
        rows = {"small": 3, "event": 1, "large": 2 * FULL}.get(kind, FULL)
        numbers = np.arange(self.next, self.next + rows)
        self.next += rows if kind != "part" else rows - 5
        if kind == "event":
            return Pair(int(numbers[0]), numbers[0] / 2)
        if kind == "heap":
            return Batch.of_columns(Pair, {"number": numbers, "half": numbers / 2})
        batch = self.allocate(Pair, rows)
        for column, values in zip(batch.arrays(), (numbers, numbers / 2)):
            column[:] = values
        if kind == "kept":
            self.kept.append((batch["number"], numbers.copy()))
        if kind == "again":
            assert batch.seal().events()[0].number == numbers[0]
        return batch.seal(rows - 5) if kind == "part" else batch


@pytest.mark.parametrize("budget", [1, 4096, 4 << 20])
def test_rows_written_in_place_arrive_as_they_were_written_and_in_order(budget: int) -> None:
    topology = Topology("mixed")
    topology.source(Mixed, name="rows", reads=200).shuffle().into(MemorySink, name="out")
    result = topology.run(batch_size=FULL, edge_bytes=budget, **APART)
    sent = result.report["events_out"]["rows"]
    assert sent == 20 * (6 * FULL + (FULL - 5) + 3 + 1 + 2 * FULL)
    assert result["out"] == [Pair(number, number / 2) for number in range(sent)]


class Light(Event):
    colour: Literal["red", "green"]
    number: int


class Colours(Actor):
    """Writes codes in place, among which is one that is no category."""

    def on_batch(self, batch: Batch) -> Light:
        lights = self.allocate(Light, batch.rows)
        lights["colour"][:] = batch["number"] % 3
        lights["number"][:] = batch["number"]
        return lights  # type: ignore[return-value]


@pytest.mark.parametrize("deploy", [{}, {"pipelining": False}, APART], ids=str)
@pytest.mark.parametrize("order", ["none", "timestamp"])
def test_a_code_that_is_no_category_is_an_error_of_who_wrote_it(deploy: dict[str, Any], order: str) -> None:
    topology = Topology("codes")
    pairs = topology.source([Pair(number, 0.0) for number in range(10)], event_time="number")
    lights = pairs.ordered(order).through(Colours, name="lights", on_error="skip")
    lights.ordered(order).into(MemorySink, name="out")
    with pytest.raises(OperatorError, match="field 'colour', row 2: code 2 is not one of its") as caught:
        topology.run(**deploy)
    assert caught.value.actor == "lights"
