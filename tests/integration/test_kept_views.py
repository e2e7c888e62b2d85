"""Views of batches that user code keeps: nothing stalls, the data stays, the report counts them, compact frees."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.sink import Sink
from actorstream.events.batch import Batch
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Named, Number, Numbers, Text

SHM = {"transport": "shm", "workers": 2, "placement": "round-robin", "batch_size": 100, "edge_bytes": 8192}
"""Budgets of a few jumbo tuples, so that whoever waits for kept ones would stall."""


class Keeps(Actor):
    """Keeps a view of each batch to the end, then says whether all still hold what they held."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, how: str = "numpy", last: int = 0) -> None:
        self.how = how
        self.kept: deque[Any] = deque(maxlen=last or None)
        self.sums: deque[int] = deque(maxlen=last or None)

    def on_batch(self, batch: Batch) -> None:
        self.kept.append(self.view(batch))
        self.sums.append(int(batch["value"].sum()))

    def view(self, batch: Batch) -> Any:
        if self.how == "numpy":
            return batch["value"]
        if self.how == "slice":
            return batch["value"][::2][1:]
        if self.how == "arrow":
            return batch.arrow()
        if self.how == "column":
            return batch.column("value")
        if self.how == "compact":
            return batch.compact()
        return batch

    def total(self, view: Any) -> int:
        if self.how in ("numpy", "slice"):
            return int(view.sum())
        if self.how == "arrow":
            return sum(view.column("value").to_pylist())
        if self.how == "column":
            return sum(view.tolist())
        return int(view["value"].sum())

    def on_end(self) -> Number:
        if self.how == "slice":
            return Number(len(self.kept), sum(self.total(view) for view in self.kept))
        same = [self.total(view) == total for view, total in zip(self.kept, self.sums)]
        return Number(len(same), sum(same))


def kept_in(report: dict[str, Any], actor: str) -> int:
    return sum(replica["kept_blocks"] for replica in report["actors"][actor])


@pytest.mark.parametrize("how", ["numpy", "arrow", "column", "batch"])
def test_what_is_kept_of_many_batches_stays_intact_and_is_counted(how: str) -> None:
    topology = Topology("kept")
    topology.source(Numbers, count=40_000).through(Keeps, name="keeps", how=how).into(Collect, name="out")
    result = topology.run(**SHM)
    ((kept, same),) = result["out"]
    assert kept >= 400
    assert same == kept
    assert kept_in(result.report, "keeps") > 0


def test_a_slice_of_a_slice_keeps_its_block() -> None:
    topology = Topology("kept")
    topology.source(Numbers, count=20_000).through(Keeps, name="keeps", how="slice").into(Collect, name="out")
    result = topology.run(**SHM)
    ((kept, total),) = result["out"]
    assert kept >= 200
    # of each batch of consecutive numbers every other one, without the first; batches start where the last one ended
    assert 0 < total < sum(range(20_000)) // 2
    assert kept_in(result.report, "keeps") > 0


def test_the_last_few_are_counted_not_all_that_were() -> None:
    topology = Topology("kept")
    topology.source(Numbers, count=40_000).through(Keeps, name="keeps", last=5).into(Collect, name="out")
    result = topology.run(**SHM)
    assert result["out"] == [(5, 5)]
    assert 1 <= kept_in(result.report, "keeps") <= 7


def test_compact_copies_and_keeps_no_block() -> None:
    topology = Topology("kept")
    topology.source(Numbers, count=40_000).through(Keeps, name="keeps", how="compact").into(
        Collect, name="out"
    )
    result = topology.run(**SHM)
    ((kept, same),) = result["out"]
    assert same == kept >= 400
    assert kept_in(result.report, "keeps") <= 1


class KeepsText(Sink):
    """Keeps Arrow arrays of text of different widths."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def on_batch(self, batch: Batch) -> None:
        self.kept.append((batch["text"], batch["value"]))

    def on_end(self) -> None:
        for texts, values in self.kept:
            expected = ["x" * (value % 40) + str(value) for value in values.tolist()]
            if texts.to_pylist() != expected:
                raise ValueError("a kept text has changed")


def test_kept_texts_stay_intact() -> None:
    topology = Topology("kept")
    topology.source(Numbers, count=20_000).through(Text).into(KeepsText, name="keeps")
    report = topology.run(**SHM).report
    assert report["events_in"]["keeps"] == 20_000
    assert kept_in(report, "keeps") > 0


class PassesOnLater(Actor):
    """Sends what it has kept on, by reference, long after it came."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, hold: int = 50) -> None:
        self.hold = hold
        self.kept: deque[Batch] = deque()

    def on_batch(self, batch: Batch) -> Batch | None:
        self.kept.append(batch)
        return self.kept.popleft() if len(self.kept) > self.hold else None

    def on_end(self) -> list[Batch]:
        return [self.kept.pop() for _ in range(len(self.kept))]


@pytest.mark.parametrize("hold", [1, 50])
def test_batches_that_are_forwarded_late_arrive_whole(hold: int) -> None:
    topology = Topology("kept")
    stream = topology.source(Numbers, count=30_000).through(PassesOnLater, hold=hold)
    stream.through(PassesOnLater, hold=hold, name="again").into(Collect, name="out")
    rows = topology.run(**{**SHM, "workers": 3})["out"]
    assert sorted(rows) == [(value, value % 101) for value in range(30_000)]


class Writes(Actor):
    """Tries to write into what it got."""

    outputs: ClassVar[dict[str, Any]] = {"default": Named}

    def on_batch(self, batch: Batch) -> list[Named]:
        try:
            batch["value"][0] = -1
        except ValueError as error:
            return [Named(str(error), batch.rows)]
        return [Named("written", batch.rows)]


def test_views_cannot_be_written() -> None:
    topology = Topology("kept")
    topology.source(Numbers, count=200).through(Writes).into(Collect, name="out")
    for deploy in (SHM, {}):
        rows = topology.run(**deploy)["out"]
        assert rows
        assert all("read-only" in text for text, _ in rows)


def test_a_kept_view_outlives_the_run_inside_one_process() -> None:
    """Embedded, blocks are on the heap and live as long as their views."""
    kept: list[np.ndarray] = []

    class KeepsOutside(Sink):
        def on_batch(self, batch: Batch) -> None:
            kept.append(batch["value"])

    topology = Topology("kept")
    topology.source(Numbers, count=1000).into(KeepsOutside)
    topology.run(batch_size=100)
    assert np.concatenate(kept).tolist() == list(range(1000))
