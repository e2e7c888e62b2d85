"""Sources of one's own that set their position themselves: a run that was lost goes on with each row once, wherever the
position is set and however far the source has run ahead of its rows."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from actorstream import Event, Position, Source
from actorstream.checkpoint.store import CheckpointStore
from actorstream.errors import ConfigurationError, OperatorError, WorkerDiedError
from actorstream.events.batch import Batch
from actorstream.launch.resume import restore_job
from actorstream.launch.run import RunResult, run_job
from actorstream.plan.compile import compile_job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy

ENOUGH = 300
"""Rows that a run which was resumed reads at least."""


class Row(Event):
    n: int


class Broker(Source):
    """Messages 1, 2, … from an offset on. Its process is killed when checkpoints have been made; the run that goes on ends."""

    def __init__(self, state: str, rate: float | None = None) -> None:
        super().__init__(rate=rate)
        self.state_path, self.offset, self.end = state, 0, 1 << 30

    def position(self) -> dict[str, int]:
        return {"0": self.offset}

    def seek(self, positions: dict[str, int]) -> None:
        self.offset = positions.get("0", 0)
        self.end = self.offset + ENOUGH

    def messages(self) -> Iterator[int]:
        for number in range(self.offset + 1, self.end):
            self.may_die(number)
            yield number

    def may_die(self, number: int) -> None:
        if number % 50 == 0 and self.end == 1 << 30:
            last = CheckpointStore(self.state_path).latest()
            if last is not None and last.number >= 2:
                os.kill(os.getpid(), signal.SIGKILL)


class Behind(Broker):
    def events(self) -> Iterator[Row]:
        for number in self.messages():
            yield Row(number)
            self.offset = number


class Before(Broker):
    def events(self) -> Iterator[Row]:
        for number in self.messages():
            self.offset = number
            yield Row(number)


class LiveBehind(Broker):
    async def events(self) -> AsyncIterator[Row]:
        for number in self.messages():
            yield Row(number)
            self.offset = number


class LiveBefore(Broker):
    async def events(self) -> AsyncIterator[Row]:
        for number in self.messages():
            self.offset = number
            yield Row(number)


class Named(Broker):
    """Yields its position, also behind messages that it passes over, the first of them before any row."""

    position = Source.position

    def events(self) -> Iterator[Row | Position]:
        for number in self.messages():
            if number % 3:
                yield Row(number)
            yield Position(number)


class LiveNamed(Named):
    async def events(self) -> AsyncIterator[Row | Position]:  # type: ignore[override]
        for number in self.messages():
            if number % 3:
                yield Row(number)
            if number % 7 == 0:
                yield Position({"0": number})


class AwaitedRead(Broker):
    """Moves its position, and only then waits for what makes the row whole."""

    outputs: ClassVar = {"default": Row}

    async def read(self, max_rows: int) -> Batch | None:  # type: ignore[override]
        import asyncio

        number = self.offset + 1
        self.may_die(number)
        if number >= self.end:
            return None
        self.offset = number
        for _ in range(3):
            await asyncio.sleep(0)
        return Batch.of_columns(Row, {"n": [number]})


class NoWayBack(Broker):
    """Its own `read` says how far it is, but nothing takes it back there."""

    outputs: ClassVar = {"default": Row}
    seek = Source.seek

    def read(self, max_rows: int) -> Batch:
        number = self.offset = self.offset + 1
        self.may_die(number)
        return Batch.of_columns(Row, {"n": [number]})


class NoPosition(NoWayBack):
    """Does not say how far it is, either."""

    position = Source.position


def run(source: type[Source], folder: Path, *, resume: bool) -> RunResult:
    topology = Topology("positions")
    state = str(folder / "state")
    topology.actor("source", source, state=state, rate=20_000)
    topology.actor("out", "csv-sink", ["source"], path=str(folder / "out.csv"))
    deploy = load_deploy(None, (), workers=1, checkpoint={"path": state, "every": "10ms"})
    job = compile_job(topology.spec(), deploy)
    if resume:
        restore_job(job)
    return run_job(job)


@pytest.mark.parametrize(
    "source",
    [Behind, Before, LiveBehind, LiveBefore, Named, LiveNamed, AwaitedRead],
    ids=lambda each: each.__name__,
)
def test_a_run_that_was_killed_goes_on_with_each_row_of_a_source_once(
    source: type[Source], tmp_path: Path
) -> None:
    with pytest.raises(WorkerDiedError):
        run(source, tmp_path, resume=False)
    run(source, tmp_path, resume=True)
    rows = [int(line) for line in (tmp_path / "out.csv").read_text().split()[1:]]
    named = issubclass(source, Named)
    assert len(rows) >= ENOUGH / 2
    assert rows == [number for number in range(1, rows[-1] + 1) if not named or number % 3]


@pytest.mark.parametrize("source", [NoWayBack, NoPosition], ids=lambda each: each.__name__)
def test_a_source_with_its_own_read_that_cannot_go_back_is_refused(
    source: type[Source], tmp_path: Path
) -> None:
    with pytest.raises(WorkerDiedError):
        run(source, tmp_path, resume=False)
    text = (
        rf"'source' .* its position: {source.__name__} has its own `read` and no `seek`, so it cannot go on"
    )
    with pytest.raises(OperatorError, match=text):
        run(source, tmp_path, resume=True)


def test_a_source_with_its_own_read_goes_on_without_a_seek_if_it_has_read_nothing(tmp_path: Path) -> None:
    def goes_on(source: Source, partitions: list[str]) -> None:
        source.open(partitions)
        source.take_back(source.kept_position())

    goes_on(NoWayBack(str(tmp_path)), ["0"])
    goes_on(NoPosition(str(tmp_path)), [])
    with pytest.raises(ConfigurationError, match="has its own `read` and no `seek`"):
        goes_on(NoPosition(str(tmp_path)), ["0"])
