"""States that are too large for a message: their worker writes them into the store, beside the rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.checkpoint.store import LARGE, CheckpointStore
from actorstream.errors import RunError
from actorstream.events.batch import Batch
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from tests.integration.parts import Number, Numbers
from tests.integration.test_recovery_hooks import job_of
from tests.integration.test_suspensions import suspender

ROWS = 20_000
SLOWLY = 200.0


class Remembers(Actor):
    """Counts rows beside a large state, which must come back as it was."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, kind: str) -> None:
        self.kind, self.rows = kind, 0
        self.large = self.first()

    def first(self) -> Any:
        values = {"dict": {str(n): bytes(100) for n in range(5_000)}, "bytes": b"x" * 500_000}
        return values["dict"] if self.kind == "dict" else values["bytes"]

    def snapshot(self) -> Any:
        if self.kind == "dict":
            return {"rows": self.rows, "large": self.large}
        return self.rows.to_bytes(8, "little") + self.large

    def restore(self, snapshot: Any) -> None:
        if self.kind == "dict":
            self.rows, self.large = snapshot["rows"], snapshot["large"]
        else:
            self.rows, self.large = int.from_bytes(snapshot[:8], "little"), snapshot[8:]
        assert self.large == self.first()

    def on_batch(self, batch: Batch) -> Batch:
        first = batch["value"][0]
        assert first == self.rows, "what was restored is of the same row as the source's position"
        self.rows += batch.rows
        return batch


def job(folder: Path, kind: str = "dict", rate: float | None = None) -> Job:
    topology = Topology("large")
    numbers = topology.source(Numbers, name="numbers", count=ROWS, rate=rate)
    numbers.through(Remembers, name="remembers", kind=kind).into(
        "csv-sink", name="rows", path=str(folder / "rows.csv")
    )
    return job_of(topology, checkpoint={"path": str(folder / "state"), "every": "20ms"}, batch_size=64)


@pytest.mark.parametrize("kind", ["dict", "bytes"])
def test_a_large_state_comes_back_and_never_passes_through_the_launcher(tmp_path: Path, kind: str) -> None:
    most = [0]

    def control(launcher: Launcher, _: object) -> Callable[[], None]:
        ask = suspender(launcher)

        def tick() -> None:
            taken = [each for some in launcher.snapshots.values() for each in some.values()]
            most[0] = max([most[0], *(len(each.state) for each in taken)])
            assert launcher.checkpoints is not None
            if launcher.checkpoints.made >= 3:
                ask()

        return tick

    assert run_job(job(tmp_path, kind, SLOWLY), on_start=control).suspended is not None
    assert most[0] < LARGE
    state = tmp_path / "state"
    names = {path.name for path in state.iterdir()}
    numbers = sorted(
        int(name.removeprefix("checkpoint-")) for name in names if name.startswith("checkpoint-")
    )
    assert len(numbers) == 2
    assert all((state / f"checkpoint-{number:012d}").stat().st_size < LARGE for number in numbers)
    assert {name for name in names if name.startswith("state-")} == {
        f"state-{number:012d}-1" for number in numbers
    }
    again = job(tmp_path, kind)
    restore_job(again)
    run_job(again)
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(ROWS))


def test_a_state_that_cannot_be_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RunError("no room for it")

    monkeypatch.setattr(CheckpointStore, "write_state", fails)
    with pytest.raises(RunError, match="no room for it"):
        run_job(job(tmp_path, rate=SLOWLY))
    assert not (tmp_path / "rows.csv").exists()


def test_a_damaged_state_is_not_gone_on_from(tmp_path: Path) -> None:
    first = job(tmp_path, rate=SLOWLY)
    assert run_job(first, on_start=lambda launcher, _: suspender(launcher)).suspended is not None
    (path,) = (tmp_path / "state").glob("state-*")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    again = job(tmp_path)
    restore_job(again)
    with pytest.raises(RunError, match=r"the state 'state-0+1-1' in .* is damaged"):
        run_job(again)
