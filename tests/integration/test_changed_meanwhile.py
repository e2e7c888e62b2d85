"""What a run that goes on finds changed: its input files, the run that it would go on from, a commit that failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actorstream.connectors.sink import Sink
from actorstream.errors import ConfigurationError, OperatorError, WorkerDiedError
from actorstream.events.batch import Batch
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import RunResult, run_job
from actorstream.plan.compile import read_job

from .worker_kills import killer

SOURCE = """
name = "changed"
[actors.numbers]
type = "csv-source"
path = "numbers"
schema = { value = "int" }
replicas = 2
[actors.halves]
type = "map"
inputs = [{ from = "numbers", route = "forward" }]
set = { value = "value // 1" }
replicas = 2
"""
OUT = """
[actors.out]
type = "csv-sink"
inputs = ["halves"]
path = "out.csv"
"""
REFUSES = """
[actors.first]
type = "tests.integration.test_changed_meanwhile:Refuses"
inputs = ["halves"]
"""
ROWS = 1_000


class Refuses(Sink):
    """Commits only once the file `open` is there."""

    def on_batch(self, batch: Batch) -> None:
        """Rows are of no use here."""

    def prepare(self, barrier: int) -> Any:
        return str(Path.cwd())

    def commit(self, token: Any) -> None:
        if not (Path(token) / "open").exists():
            raise OSError("the catalog does not answer")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "numbers").mkdir()
    for part, name in enumerate("bcd"):
        put(tmp_path, name, part)
    (tmp_path / "deploy.toml").write_text('batch_size = 64\n[checkpoint]\npath = "state"\nevery = "10ms"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(folder: Path, name: str, part: int, rows: int = ROWS) -> None:
    """Writes an input file with `rows` numbers from `part` times ROWS on."""
    numbers = "".join(f"{part * ROWS + row}\n" for row in range(rows))
    (folder / "numbers" / f"{name}.csv").write_text("value\n" + numbers)


def run(
    folder: Path,
    *sets: str,
    resume: bool = False,
    sinks: str = OUT,
    control: Callable[[Launcher], Callable[[], None]] | None = None,
) -> RunResult:
    (folder / "topology.toml").write_text(SOURCE + sinks)
    job = read_job(folder / "topology.toml", folder / "deploy.toml", list(sets))
    if resume:
        restore_job(job)
    return run_job(job, on_start=None if control is None else lambda launcher, _: control(launcher))


def content(path: Path) -> list[int]:
    return sorted(int(line) for line in path.read_text().splitlines()[1:])


def test_files_that_were_put_between_others_are_refused_and_those_behind_them_are_read(folder: Path) -> None:
    with pytest.raises(WorkerDiedError):
        run(folder, "actors.numbers.rate=2000", control=killer(1, 1))
    put(folder, "a", 4)
    with pytest.raises(
        OperatorError, match=r"its partitions: '.*[bc]\.csv', of which the checkpoint says how far"
    ):
        run(folder, resume=True)
    (folder / "numbers" / "a.csv").rename(folder / "numbers" / "e.csv")
    run(folder, resume=True)
    assert content(folder / "out.csv") == [*range(3 * ROWS), *range(4 * ROWS, 5 * ROWS)]


def test_a_run_that_died_before_its_first_checkpoint_does_not_go_on_from_an_earlier_run(folder: Path) -> None:
    run(folder)
    assert content(folder / "out.csv") == list(range(3 * ROWS))
    put(folder, "d", 2, ROWS // 2)
    with pytest.raises(OperatorError, match="division"):
        run(folder, "actors.halves.set.value=1 // (value - value)", "deploy.checkpoint.every=1h")
    run(folder, resume=True)
    assert content(folder / "out.csv") == list(range(2 * ROWS + ROWS // 2))
    assert run(folder, resume=True).report["events_out"]["numbers"] == 0, "there is nothing left to do"


def test_other_key_groups_are_refused_where_a_key_leads_to_several_replicas(folder: Path) -> None:
    by_key = 'actors.halves.inputs=[{ from = "numbers", key = "value" }]'
    run(folder, by_key)
    with pytest.raises(ConfigurationError, match=r"with 128 key groups, and this run has 100.*set deploy"):
        run(folder, by_key, "deploy.key_groups=100", resume=True)
    assert run(folder, by_key, resume=True).report["events_out"]["numbers"] == 0
    run(folder)
    assert run(folder, "deploy.key_groups=100", resume=True).report["events_out"]["numbers"] == 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_commit_that_failed_leaves_the_other_sinks_what_they_have_prepared(folder: Path, form: str) -> None:
    import pyarrow.parquet as pq

    out = OUT.replace("csv", form)
    sinks = out + REFUSES + out.replace("actors.out", "actors.other").replace("out.", "other.")
    for resume in (False, True):
        with pytest.raises(OperatorError, match="the catalog does not answer"):
            run(folder, "deploy.checkpoint.every=1h", resume=resume, sinks=sinks)
    (folder / "open").touch()
    run(folder, resume=True, sinks=sinks)
    for name in ("out", "other"):
        path = folder / f"{name}.{form}"
        rows = pq.read_table(path).column("value").to_pylist() if form == "parquet" else content(path)
        assert sorted(rows) == list(range(3 * ROWS))
