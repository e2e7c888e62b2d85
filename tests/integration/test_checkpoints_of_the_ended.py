"""Checkpoints while the sources of one process run on and all of another process has ended."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import ClassVar

from actorstream.checkpoint.store import CheckpointStore
from actorstream.connectors.source import Source
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.launch.run import run_job
from actorstream.runtime.compile import compile_job
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


def test_checkpoints_go_on_when_all_of_a_process_has_ended(tmp_path: Path) -> None:
    mark, state = str(tmp_path / "mark"), str(tmp_path / "state")
    found = Topology("ends")
    found.actor("long", Long, mark=mark, state=state, rate=2_000)
    found.actor("short", Short, mark=mark)
    found.actor("all", "csv-sink", ["long"], path=str(tmp_path / "all.csv"))
    found.actor("one", "csv-sink", ["short"], path=str(tmp_path / "one.csv"))
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
    result = run_job(job)
    assert result.report["checkpoints"] > 6
    assert (tmp_path / "one.csv").read_text().splitlines() == ["value", "1"]
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + result.report["events_out"]["long"]
