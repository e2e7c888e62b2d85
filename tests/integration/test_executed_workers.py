"""Workers that were started by exec, not by a fork: they compile the same job themselves, and a run is what it is with forks."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import ConfigurationError, OperatorError, RunError, WorkerDiedError
from actorstream.launch.executed import ExecutedWorkers
from actorstream.launch.files import JobFiles
from actorstream.launch.fork import fork_worker
from actorstream.launch.launcher import Launcher, StartWorker
from actorstream.launch.process import WorkerProcess
from actorstream.launch.resume import restore_job
from actorstream.launch.run import RunResult, run_job
from actorstream.plan.job import Job
from actorstream.transports.shm.fabric import ShmFabric
from tests.integration.parts import Number

ROOT = Path(__file__).parents[2]
Tick = Callable[[Launcher], Callable[[], None]]


def run(files: JobFiles, start: str, *, resume: bool = False, control: Tick | None = None) -> RunResult:
    """Runs what `files` say, with workers of one kind."""
    job = files.job()
    if resume:
        restore_job(job)
    starts: dict[str, StartWorker] = {"fork": fork_worker, "exec": ExecutedWorkers(files).start}
    on_start = None if control is None else lambda launcher, _: control(launcher)
    return run_job(job, start=starts[start], on_start=on_start)


def written(folder: Path) -> dict[str, bytes]:
    """The rows of each file, in any order: where replicas send without an order, it is chance."""
    return {path.name: b"\n".join(sorted(path.read_bytes().splitlines())) for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("app", "sinks", "transport"), [("word_count", ["counts"], "shm"), ("ysb", ["counts", "late"], "zmq")]
)
def test_an_app_gives_the_same_outputs(tmp_path: Path, app: str, sinks: list[str], transport: str) -> None:
    found = []
    for start in ("fork", "exec"):
        folder = tmp_path / start
        folder.mkdir()
        sets = [f"actors.{name}.path={folder / name}.csv" for name in sinks]
        sets += ["deploy.workers=2", f"deploy.transport={transport}", "deploy.batch_size=1024"]
        result = run(JobFiles(ROOT / "apps" / app / "topology.toml", sets=tuple(sets)), start)
        found.append((result.report["events_in"], result.report["events_out"], written(folder)))
    assert found[0] == found[1]
    assert all(found[0][2].values())


class Table(Actor):
    """Answers what it was told."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def on_event(self, event: Number) -> None:
        """Takes rows and makes none."""

    def on_message(self, message: Any) -> Any:
        what, number = message
        if what == "remember":
            self.known[number] = number * number
        return self.known.get(number)


class Asks(Actor):
    """Tells and asks the table for every event."""

    async def on_event(self, event: Number) -> Number:
        table = self.ref(f"table/{event.value % 2}")
        table.tell(["remember", event.value])
        return Number(await table.ask(["get", event.value]), event.group)


class Dies(Actor):
    """Kills its process, or raises, at one event."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def __init__(self, how: str) -> None:
        self.how = how

    def on_event(self, event: Number) -> Number:
        if event.value == 500:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("no")
        return event


class Signals(Actor):
    """Sends SIGTERM to its own process, then tells with which status a program and a forked process end that send it, and a
    program that sends SIGINT, to themselves."""

    def on_event(self, event: Number) -> list[Number]:
        os.kill(os.getpid(), signal.SIGTERM)
        program = subprocess.run(["sh", "-c", "kill -TERM $$"], check=False).returncode
        pid = os.fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        forked = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        interrupted = subprocess.run(["sh", "-c", "kill -INT $$"], check=False).returncode
        return [Number(program, forked), Number(interrupted, 0)]


TOPOLOGY = """
name = "started"
[actors.numbers]
type = "tests.integration.parts:Numbers"
count = {count}
{rate}
{middle}
[actors.rows]
type = "csv-sink"
inputs = ["middle"]
path = "{out}"
"""
MIDDLE = """
[actors.middle]
type = "tests.integration.{cls}"
inputs = [{{ from = "numbers", route = "shuffle" }}]
{keys}
"""
TABLE = """
[actors.table]
type = "tests.integration.test_executed_workers:Table"
inputs = ["numbers"]
replicas = 2
"""


def files_of(
    folder: Path,
    cls: str,
    keys: str = "",
    *,
    workers: int = 1,
    count: int = 2000,
    rate: str = "",
    more: str = "",
    deploy: str = "",
) -> JobFiles:
    """A topology with one operator of a class."""
    folder.mkdir(exist_ok=True)
    middle = MIDDLE.format(cls=cls, keys=keys) + more
    text = TOPOLOGY.format(count=count, rate=rate, middle=middle, out=folder / "rows.csv")
    (folder / "topology.toml").write_text(text)
    (folder / "deploy.toml").write_text(
        f'transport = "shm"\nworkers = {workers}\nplacement = "round-robin"\nbatch_size = 64\n{deploy}'
    )
    return JobFiles(folder / "topology.toml", folder / "deploy.toml")


def test_actors_are_told_and_asked_across_workers(tmp_path: Path) -> None:
    for start in ("fork", "exec"):
        keys = "replicas = 2"
        files = files_of(
            tmp_path / start, "test_executed_workers:Asks", keys, workers=2, count=200, more=TABLE
        )
        run(files, start)
    rows = [(tmp_path / start / "rows.csv").read_text().splitlines() for start in ("fork", "exec")]
    assert sorted(rows[0]) == sorted(rows[1])
    assert {int(row.split(",")[0]) for row in rows[1][1:]} == {number**2 for number in range(200)}


def test_a_run_that_is_suspended_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    count = 6000
    checkpoint = '[checkpoint]\npath = "state"\nevery = "1h"\n'
    whole = files_of(tmp_path / "whole", "parts:Pass", count=count)
    run(whole, "fork")
    files = files_of(tmp_path / "parts", "parts:Pass", count=count, rate="rate = 5000.0", deploy=checkpoint)

    def suspend(launcher: Launcher) -> Callable[[], None]:
        asked: list[bool] = []

        def tick() -> None:
            if launcher.workers and all(each.started for each in launcher.workers) and not asked:
                asked.append(True)
                launcher.suspend()

        return tick

    result = run(files, "exec", control=suspend)
    assert result.suspended is not None
    assert result.suspended.number == 1
    assert run(files, "exec", resume=True).suspended is None
    rows = [sorted((tmp_path / name / "rows.csv").read_text().splitlines()) for name in ("whole", "parts")]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("how", "workers", "kind"), [("kill", 2, WorkerDiedError), ("raise", 1, OperatorError)]
)
def test_a_worker_that_fails_ends_the_run_as_a_forked_one_does(
    tmp_path: Path, how: str, workers: int, kind: type[RunError]
) -> None:
    said = []
    for start in ("fork", "exec"):
        files = files_of(tmp_path / start, "test_executed_workers:Dies", f'how = "{how}"', workers=workers)
        started: list[list[WorkerProcess]] = []

        def control(launcher: Launcher, started: list[list[WorkerProcess]] = started) -> Callable[[], None]:
            started.append(launcher.workers)
            return lambda: None

        with pytest.raises(kind) as caught:
            run(files, start, control=control)
        words = str(caught.value)
        for worker in started[0]:
            words = words.replace(str(worker.pid), "PID")
        said.append(words)
    assert said[0] == said[1]


@pytest.mark.parametrize("start", ["fork", "exec"])
def test_sigterm_ends_what_a_hook_has_started_and_no_worker(tmp_path: Path, start: str) -> None:
    run(files_of(tmp_path, "test_executed_workers:Signals", count=1), start)
    rows = (tmp_path / "rows.csv").read_text().splitlines()
    assert rows[1:] == ["-15,-15", "0,0"], (
        "Ctrl-C is left to the launcher, as long as hooks need their programs"
    )


def refused(files: JobFiles, job: Job) -> str:
    with pytest.raises(RunError) as caught:
        run_job(job, start=ExecutedWorkers(files).start)
    return str(caught.value)


def test_a_worker_that_makes_another_plan_says_so(tmp_path: Path) -> None:
    files = files_of(tmp_path, "parts:Pass")
    other = JobFiles(files.topology, files.deploy, ("deploy.batch_size=7",))
    words = refused(other, files.job())
    assert "made plan 0x" in words
    assert "both have to read the same topology" in words


def test_a_worker_that_cannot_read_its_files_says_so(tmp_path: Path) -> None:
    files = files_of(tmp_path, "parts:Pass")
    assert "nowhere.toml" in refused(JobFiles(tmp_path / "nowhere.toml", files.deploy), files.job())


def test_a_fabric_that_cannot_be_handed_over_is_an_error_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(ShmFabric, "hand_over")
    with pytest.raises(
        ConfigurationError, match="ShmFabric cannot be handed to a worker that was not forked"
    ):
        run(files_of(tmp_path, "parts:Pass", workers=2), "exec")
