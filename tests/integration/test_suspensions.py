"""SIGTERM of a run with checkpoints: it stops at one with exit status 75, and `--resume` leaves what an undisturbed run
does. Ctrl-C ends it for good; a signal that comes before the run, or after it, changes no status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from actorstream.checkpoint.checkpoint import Checkpoint
from actorstream.checkpoint.store import CheckpointStore
from actorstream.errors import RunError
from actorstream.events.batch import Batch
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from tests.integration.parts import Numbers, Pass, numbers
from tests.integration.processes import Announcements, launched
from tests.integration.test_checkpoints import RATE, content, folder, run, undisturbed
from tests.integration.test_recovery_hooks import job_of

__all__ = ["folder", "undisturbed"]

TOPOLOGY = """
name = "suspended"
[actors.numbers]
type = "tests.integration.parts:Announced"
pipe = "here"
count = {count}
rate = 8_000
[actors.double]
type = "tests.integration.parts:{kind}"
inputs = [{{ from = "numbers", route = "shuffle" }}]
replicas = 2
{keys}
[actors.rows]
type = "csv-sink"
inputs = ["double"]
path = "out/rows.csv"
"""
COUNT = 6_000
COMMAND = ["topology.toml", "--deploy", "deploy.toml", "--quiet"]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Announcements]:
    announcements = Announcements(tmp_path / "here")
    yield announcements
    announcements.close()


def write(
    folder: Path,
    *,
    workers: int = 1,
    count: int = COUNT,
    kind: str = "Double",
    keys: str = "",
    every: str = "1h",
) -> None:
    (folder / "topology.toml").write_text(TOPOLOGY.format(count=count, kind=kind, keys=keys))
    checkpoint = f'[checkpoint]\npath = "state"\nevery = "{every}"\n' if every else ""
    (folder / "deploy.toml").write_text(f"workers = {workers}\nbatch_size = 64\n{checkpoint}")


def suspender(launcher: Launcher) -> Callable[[], None]:
    """Suspends the run once its workers have started."""
    asked: list[bool] = []

    def tick() -> None:
        if launcher.workers and all(each.started for each in launcher.workers) and not asked:
            asked.append(True)
            launcher.suspend()

    return tick


@pytest.mark.parametrize("case", ["keyed state, several sinks", "all orders", "parquet"])
def test_a_run_that_is_suspended_and_resumed_leaves_what_an_undisturbed_one_does(
    folder: Path, undisturbed: Callable[[str], dict[str, list[str]]], case: str
) -> None:
    for workers in (1, 2):
        several = (f"deploy.workers={workers}", "deploy.checkpoint.every='1h'")
        result = run(folder, case, "disturbed", *several, rate=RATE, control=suspender)
        assert result.suspended is not None
        assert result.suspended.number == workers, "it made one checkpoint, for itself"
        assert not [path for path in (folder / "disturbed").glob("*") if not path.name.startswith(".")]
    result = run(folder, case, "disturbed")
    assert result.suspended is None
    assert content(folder / "disturbed", case) == undisturbed(case)


def test_sigterm_exits_with_75_until_the_input_has_ended(tmp_path: Path, here: Announcements) -> None:
    write(tmp_path, workers=2)
    with launched(tmp_path, *COMMAND) as launch:
        assert here.wait(launch)
        here.clear()
        os.kill(launch.pid, signal.SIGTERM)
        status, _, errors = launch.wait()
    assert status == 75, errors
    assert not (tmp_path / "out/rows.csv").exists()
    with launched(tmp_path, *COMMAND, "--resume") as launch:
        assert launch.wait()[0] == 0
    lines = (tmp_path / "out/rows.csv").read_text().splitlines()[1:]
    assert sorted(int(line.split(",")[0]) for line in lines) == list(range(0, 2 * COUNT, 2))


def test_ctrl_c_ends_a_run_with_checkpoints_for_good(tmp_path: Path, here: Announcements) -> None:
    write(tmp_path, count=1_000_000_000, every="20ms")
    with launched(tmp_path, *COMMAND) as launch:
        assert here.wait(launch)
        os.kill(launch.pid, signal.SIGINT)
        assert launch.wait()[0] == 130
    rows = (tmp_path / "out/rows.csv").read_text()
    with launched(tmp_path, *COMMAND, "--resume") as launch:
        assert launch.wait()[0] == 0
    assert (tmp_path / "out/rows.csv").read_text() == rows


def test_a_second_signal_stops_at_once_also_where_no_checkpoint_comes_about(
    tmp_path: Path, here: Announcements
) -> None:
    write(tmp_path, kind="StuckInHook", keys='pipe = "stuck"')
    stuck = Announcements(tmp_path / "stuck")  # not `here`, where the source's own announcements are
    with launched(tmp_path, *COMMAND) as launch:
        assert stuck.wait(launch), "a batch is in the hook"
        os.kill(launch.pid, signal.SIGTERM)
        os.kill(launch.pid, signal.SIGINT)
        status, _, errors = launch.wait()
    stuck.close()
    assert status == 130, errors
    assert not (tmp_path / "out/rows.csv").exists()


class CountsToTheEnd(Pass):
    """Gives the number of rows at its end, which takes until there is something in a pipe in the file system."""

    def __init__(self, go: str) -> None:
        self.go, self.state = go, 0

    def on_batch(self, batch: Batch) -> None:  # type: ignore[override]
        self.state += batch.rows

    def on_end(self) -> Batch:
        end = os.open(self.go, os.O_RDONLY)
        os.read(end, 1)
        os.close(end)
        return numbers(np.array([self.state]))


def test_a_run_that_fails_behind_a_first_ctrl_c_goes_on_from_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the input was made up: what was emitted at it must not be in a checkpoint."""
    os.mkfifo(tmp_path / "go")
    go = os.open(tmp_path / "go", os.O_RDWR)

    def made(rate: float) -> Job:
        topology = Topology("behind")
        given = topology.source(Numbers, name="numbers", count=5_000, rate=rate)
        counted = given.through(CountsToTheEnd, name="counted", go=str(tmp_path / "go"))
        counted.into("csv-sink", name="rows", path=str(tmp_path / "rows.csv"))
        return job_of(topology, checkpoint={"path": str(tmp_path / "state"), "every": "10ms"})

    def control(launcher: Launcher, _: object) -> Callable[[], None]:
        ticks: list[bool] = []

        def tick() -> None:
            assert launcher.checkpoints is not None
            if ticks or launcher.checkpoints.made:
                ticks.append(True)
            if len(ticks) == 1:
                launcher.interrupt()
            if len(ticks) == 4:
                os.write(go, b"x")

        return tick

    written = CheckpointStore.write

    def fails_at_the_end(store: CheckpointStore, checkpoint: Checkpoint) -> None:
        if checkpoint.ended:
            raise RunError("no room")
        written(store, checkpoint)

    with monkeypatch.context() as patch, pytest.raises(RunError, match="no room"):
        patch.setattr(CheckpointStore, "write", fails_at_the_end)
        run_job(made(1_000), on_start=control)
    os.write(go, b"x")
    job = made(1e6)
    restore_job(job)
    run_job(job)
    os.close(go)
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert [int(line.split(",")[0]) for line in lines[1:]] == [5_000]


SLOW = """
import os
from tests.integration.parts import Double, announce

def announce_and_wait(open=os.open, write=os.write, read=os.read, close=os.close):
    for name, does in (("here", lambda end: write(end, b"x")), ("go", lambda end: read(end, 1))):
        end = open(name, 2)
        does(end)
        close(end)

class Last:
    def __del__(self, does=announce_and_wait):
        does()

if {at_end}:
    last = Last()
else:
    announce_and_wait()
"""


@pytest.mark.parametrize(
    ("number", "every", "expected"),
    [
        (signal.SIGTERM, "1h", 75),
        (signal.SIGTERM, "", 130),
        (signal.SIGINT, "1h", 130),
        (signal.SIGINT, "", 130),
    ],
)
def test_a_signal_before_the_run_begins_has_the_status_of_one_within_it(
    tmp_path: Path, here: Announcements, number: int, every: str, expected: int
) -> None:
    write(tmp_path, every=every)
    os.mkfifo(tmp_path / "go")
    topology = tmp_path / "topology.toml"
    topology.write_text(topology.read_text().replace("tests.integration.parts:Double", "slow:Double"))
    (tmp_path / "slow.py").write_text(SLOW.format(at_end=False))
    with launched(tmp_path, *COMMAND) as launch:
        assert here.wait(launch), "a module of the topology is being read"
        os.kill(launch.pid, number)
        status, _, errors = launch.wait()
    assert status == expected, errors
    assert "Traceback" not in errors


FIRST = """
import os, sys

def hear(event, arguments):
    if event == "import" and arguments[0] == "actorstream.cli.streams":
        for number in {numbers}:
            os.kill(os.getpid(), number)

from actorstream.cli.main import main
sys.addaudithook(hear)
sys.argv = ["actorstream", "launch", "topology.toml", "--deploy", "deploy.toml"]
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([signal.SIGTERM], 75),
        ([signal.SIGINT], 130),
        ([signal.SIGINT, signal.SIGTERM], 130),
        ([signal.SIGTERM, signal.SIGINT], 130),
    ],
)
def test_signals_while_the_command_is_still_being_imported_have_the_status_of_those_within_a_run(
    tmp_path: Path, numbers: list[int], expected: int
) -> None:
    write(tmp_path)
    first = FIRST.format(numbers=[int(number) for number in numbers])
    found = subprocess.run([sys.executable, "-c", first], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == expected, found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["sigterm", "ctrl-c"])
def test_a_signal_after_the_run_has_ended_changes_nothing(
    tmp_path: Path, here: Announcements, number: int
) -> None:
    """The interpreter is on its way out, which takes as long as what it has to free."""
    write(tmp_path, count=100, every="")
    os.mkfifo(tmp_path / "go")
    topology = tmp_path / "topology.toml"
    parts = "tests.integration.parts:"
    topology.write_text(
        topology.read_text()
        .replace(f"{parts}Double", "slow:Double")
        .replace(f"{parts}Announced", f"{parts}Numbers")
        .replace('pipe = "here"\n', "")
    )
    (tmp_path / "slow.py").write_text(SLOW.format(at_end=True))
    go = os.open(tmp_path / "go", os.O_RDWR)
    with launched(tmp_path, *[each for each in COMMAND if each != "--quiet"]) as launch:
        assert here.wait(launch)
        os.kill(launch.pid, number)
        os.write(go, b"x")
        status, _, errors = launch.wait()
    os.close(go)
    assert "done" in errors
    assert status == 0, errors
