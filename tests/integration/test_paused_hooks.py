"""Hooks that yield pause while an output is full. Nothing is lost, doubled or overtaken by it, also where neighbours call each
other, and at barriers and ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.launch.run import run_job
from actorstream.plan.compile import compile_job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Number, Numbers

COUNT = 60
TIMES = 40
WIDE = "x" * 4_000


class Row(Event):
    number: int
    text: str


class Times(Actor):
    """Many wide rows of each number, one after the other."""

    def on_event(self, event: Number) -> Iterator[Row]:
        for time in range(TIMES):
            yield Row(event.value * TIMES + time, WIDE)


class TimesAtOnce(Actor):
    """The same of a batch, as a generator of batches."""

    outputs: ClassVar[dict[str, Any]] = {"default": Row}

    def on_batch(self, batch: Batch) -> Iterator[Batch]:
        for value in batch["value"].tolist():
            numbers = list(range(value * TIMES, (value + 1) * TIMES))
            yield Batch.of_columns(Row, {"number": numbers, "text": [WIDE] * TIMES})


class Twice(Actor):
    """Called by its neighbour: two rows of each, and as many again, which nobody counts, at the end."""

    rows = 0

    def on_event(self, event: Row) -> Iterator[Row]:
        self.rows += 1
        yield Row(2 * event.number, event.text)
        yield Row(2 * event.number + 1, event.text)

    def on_end(self) -> Iterator[Row]:
        assert self.rows == COUNT * TIMES
        for number in range(2 * self.rows, 4 * self.rows):
            yield Row(number, WIDE)


@pytest.mark.parametrize("first", [Times, TimesAtOnce], ids=lambda each: each.__name__)
@pytest.mark.parametrize("transport", ["local", "shm"])
def test_rows_of_hooks_that_pause_come_whole_and_in_order(
    first: type[Actor], transport: str, tmp_path: Path
) -> None:
    topology = Topology("paused")
    stream = topology.source(Numbers, name="numbers", count=COUNT).through(first, name="first")
    stream = stream.through(Twice, name="twice").shuffle()
    stream.into("csv-sink", name="out", path=str(tmp_path / "out.csv"))
    keys: dict[str, Any] = {"transport": transport, "workers": 2 if transport == "shm" else 1}
    deploy = load_deploy(
        None,
        ("checkpoint.every=20ms", f"checkpoint.path={tmp_path / 'checkpoints'}"),
        edge_bytes=64 << 10,
        batch_size=64,
        **keys,
    )
    run_job(compile_job(topology.spec(), deploy))
    rows = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == list(range(4 * COUNT * TIMES))
