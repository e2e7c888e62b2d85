"""Checkpoints while the sources of one process run on and all of another process has ended."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import pytest

from actorstream.checkpoint.store import CheckpointStore
from actorstream.connectors.sink import END, Sink
from actorstream.connectors.source import Source
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.launch.run import run_job
from actorstream.plan.compile import compile_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy


class Row(Event):
    value: int


class Short(Source):
    """One row; it leaves a file behind when it has no more."""

    outputs: ClassVar = {"default": Row}

    def __init__(self, mark: str, rate: float | None = None) -> None:
        super().__init__(rate=rate)
        self.mark = mark

    def read(self, max_rows: int) -> Batch | None:
        if self._opened == [] or self.row:
            Path(self.mark).touch()
            return None
        self.row = 1
        return Batch.of_columns(Row, {"value": [1]})

    def lower_bound(self, now_ns: int) -> None:
        return None


class Long(Short):
    """Rows until many checkpoints were made after the other source had ended."""

    def __init__(self, mark: str, state: str, rate: float | None = None) -> None:
        super().__init__(mark, rate)
        self.state, self.since, self.until = state, 0, monotonic() + 60

    def read(self, max_rows: int) -> Batch | None:
        last = CheckpointStore(self.state).latest()
        made = 0 if last is None else last.number
        if not Path(self.mark).exists():
            self.since = made
        if made > self.since + 6 or monotonic() > self.until:
            return None
        self.row += 1
        return Batch.of_columns(Row, {"value": [self.row]})


def job_of(folder: Path, sink: tuple[str, Any, dict[str, Any]]) -> Job:
    """One row goes into `sink`, in a process of its own, and many into all.csv."""
    mark, state = str(folder / "mark"), str(folder / "state")
    found = Topology("ends")
    found.actor("long", Long, mark=mark, state=state, rate=2_000)
    found.actor("short", Short, mark=mark)
    found.actor("all", "csv-sink", ["long"], path=str(folder / "all.csv"))
    found.actor(sink[0], sink[1], ["short"], **sink[2])
    deploy = load_deploy(
        None,
        (),
        transport="shm",
        workers=2,
        placement="round-robin",
        checkpoint={"path": state, "every": "5ms"},
    )
    job = compile_job(found.spec(), deploy)
    processes = {each.actor: each.worker for each in job.plan.replicas}
    assert processes["short"] == processes["one"] != processes["long"] == processes["all"]
    return job


class FailsThen(Sink):
    """Cannot prepare the third barrier behind the end of its input, but the end."""

    def __init__(self) -> None:
        self.behind = -1

    def on_batch(self, batch: Batch) -> None:
        pass

    def on_end(self) -> None:
        self.behind = 0

    def prepare(self, barrier: int) -> None:
        self.behind += self.behind >= 0
        if self.behind == 3 and barrier != END:
            raise OSError(28, "no space left")


def test_a_sink_that_cannot_prepare_behind_its_end_ends_the_run(tmp_path: Path) -> None:
    job = job_of(tmp_path, ("one", FailsThen, {}))
    with pytest.raises(OperatorError, match=r"operator 'one' .* failed: .*no space left"):
        run_job(job)


def test_checkpoints_go_on_when_all_of_a_process_has_ended(tmp_path: Path) -> None:
    result = run_job(job_of(tmp_path, ("one", "csv-sink", {"path": str(tmp_path / "one.csv")})))
    assert result.report["checkpoints"] > 6
    assert (tmp_path / "one.csv").read_text().splitlines() == ["value", "1"]
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + result.report["events_out"]["long"]
