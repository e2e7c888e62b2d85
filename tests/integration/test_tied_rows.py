"""Very many rows of one event time: what waits for its tie is spilled past a limit, no ring stays full, the order holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from actorstream.connectors.source import Source
from actorstream.errors import WorkerDiedError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import RunResult, run_job
from actorstream.metrics.counters import Counter
from actorstream.runtime.timestamp.merge import TimestampMerge
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect
from tests.integration.test_recovery_hooks import job_of

TIED, MANY, FEW = 7, 30_000, 50
DEPLOYMENTS = [
    {"workers": 1, "transport": "local", "batch_size": 1024, "edge_bytes": "64KiB"},
    {"workers": 2, "batch_size": 256, "edge_bytes": "64KiB"},
    {"workers": 3, "batch_size": 100, "edge_bytes": 1},
]
EVERYWHERE = pytest.mark.parametrize("deploy", DEPLOYMENTS, ids=str)


class Row(Event):
    __event_time__: ClassVar[str] = "t"

    t: int
    who: int
    n: int


class Many(Source):
    """`MANY` rows of one time, then `later` rows of the next one."""

    outputs: ClassVar[dict[str, Any]] = {"default": Row}

    def __init__(self, later: int = 0) -> None:
        self.later = later

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        self.done = 0

    def seek(self, positions: dict[str, int]) -> None:
        self.done = positions["0"]

    def position(self) -> dict[str, int]:
        return {"0": self.done}

    def read(self, max_rows: int) -> Batch | None:
        rows = min(max_rows, MANY + self.later - self.done)
        if rows <= 0:
            return None
        self.row, self.done = self.done, self.done + rows
        n = np.arange(self.row, self.done)
        return Batch.of_columns(Row, {"t": TIED + (n >= MANY), "who": np.full(rows, 1), "n": n})


class Waits(Source):
    """A row of that time; more of them, and later ones, once something can be read from a pipe."""

    outputs: ClassVar[dict[str, Any]] = {"default": Row}

    def __init__(self, hears: int = -1) -> None:
        self.hears = hears

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        self.done = 0

    def seek(self, positions: dict[str, int]) -> None:
        self.done = positions["0"]

    def position(self) -> dict[str, int]:
        return {"0": self.done}

    async def read(self, max_rows: int) -> Batch | None:
        import asyncio

        if self.done:
            loop, told = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(self.hears, told.set)
            try:
                await told.wait()
            finally:
                loop.remove_reader(self.hears)
        n = np.arange(self.done, 2 * FEW if self.done else 1)
        if not len(n):
            return None
        self.row, self.done = self.done, self.done + len(n)
        return Batch.of_columns(Row, {"t": np.where(n < FEW, TIED, 9), "who": np.zeros(len(n), int), "n": n})


class Keeps(Collect):
    """Its rows are its state."""

    def snapshot(self) -> Any:
        return self.rows

    def restore(self, snapshot: Any) -> None:
        self.rows = [tuple(row) for row in snapshot]


def expected(later: int) -> list[tuple[int, int, int]]:
    return [
        *((TIED, 0, n) for n in range(FEW)),
        *((TIED, 1, n) for n in range(MANY)),
        *((TIED + 1, 1, n) for n in range(MANY, MANY + later)),
        *((9, 0, n) for n in range(FEW, 2 * FEW)),
    ]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TimestampMerge, "most_tied", 50_000)


def topology_of(hears: int, later: int) -> Topology:
    topology = Topology("tied")
    first = topology.source(Waits, name="first", hears=hears)
    second = topology.source(Many, name="second", later=later)
    first.ordered("timestamp").into(Keeps, second.ordered("timestamp"), name="sink")
    return topology


def counted(launcher: Launcher, counter: Counter) -> int:
    """The greatest of all replicas."""
    return int(launcher.job.counters.words[:, counter].max())


def values(result: RunResult) -> list[tuple[int, int, int]]:
    return [tuple(row) for row in result.collected["sink"]]


@EVERYWHERE
@pytest.mark.parametrize("later", [0, 5_000])
def test_rows_that_wait_for_a_tie_are_spilled_and_come_in_order(
    deploy: dict[str, Any], later: int, pipe: tuple[int, int]
) -> None:
    """The first source goes on only once all tied rows of the second have left its ring, with a barrier between."""
    job = job_of(topology_of(pipe[0], later), **deploy)
    asked: list[bool] = []

    def control(launcher: Launcher, _: object) -> Callable[[], None]:
        second = next(each.id for each in launcher.job.plan.replicas if each.actor == "second")

        def tick() -> None:
            sent = launcher.job.counters.value(second, Counter.EVENTS_OUT)
            if not asked and sent >= MANY and counted(launcher, Counter.SPILLED_BYTES):
                asked.append(True)
                launcher.start_barrier(1)
            if asked and len(launcher.snapshots.get(1, ())) == len(launcher.job.plan.replicas):
                os.write(pipe[1], b"x")

        return tick

    result = run_job(job, on_start=control)
    assert values(result) == expected(later)
    rows = [row for replicas in result.report["actors"].values() for row in replicas]
    tied = max(row.get("tie_bytes", 0) for row in rows)
    spilled = max(row.get("spilled_bytes", 0) for row in rows)
    assert 0 < spilled <= tied <= MANY * 64 + 200_000
    assert tied - spilled <= 200_000


@EVERYWHERE
def test_what_was_spilled_is_in_a_checkpoint(
    deploy: dict[str, Any], pipe: tuple[int, int], tmp_path: Path
) -> None:
    deploy = {**deploy, "checkpoint": {"path": str(tmp_path / "state"), "every": "10ms"}}
    job = job_of(topology_of(pipe[0], 100), **deploy)

    def control(launcher: Launcher, _: object) -> Callable[[], None]:
        spilled: list[int] = []

        def tick() -> None:
            assert launcher.checkpoints is not None
            if counted(launcher, Counter.SPILLED_BYTES):
                spilled.append(launcher.checkpoints.made)
            if spilled and launcher.checkpoints.made > spilled[0] + 1:
                launcher.workers[0].kill()

        return tick

    with pytest.raises(WorkerDiedError):
        run_job(job, on_start=control)
    again = job_of(topology_of(pipe[0], 100), **{**deploy, "workers": 1})
    restore_job(again)
    assert again.restored is not None
    os.write(pipe[1], b"x")
    assert values(run_job(again)) == expected(100)
