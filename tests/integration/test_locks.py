"""Two runs at once: the second may use neither the checkpoint folder of the first nor its outputs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from actorstream.cli.main import main
from actorstream.errors import ResourceError, RunError
from actorstream.launch.locks import locked
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from tests.integration.parts import Numbers
from tests.integration.processes import Announcements, launched
from tests.integration.test_recovery_hooks import job_of
from tests.integration.test_suspensions import write


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Announcements]:
    announcements = Announcements(tmp_path / "here")
    yield announcements
    announcements.close()


def second(folder: Path, *more: str) -> int:
    """A launch of the same, in this process."""
    pipe = ["--set", f"actors.numbers.pipe={folder / 'here'}"]
    files = [str(folder / "topology.toml"), "--deploy", str(folder / "deploy.toml"), "--quiet"]
    return main(["launch", *files, "--set", "actors.numbers.count=10", *pipe, *more])


def test_a_second_run_on_one_checkpoint_folder_or_output_is_refused_until_the_first_has_died(
    tmp_path: Path, here: Announcements, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, count=1_000_000_000, workers=2)
    with launched(tmp_path, "topology.toml", "--deploy", "deploy.toml") as run:
        assert here.wait(run)
        assert second(tmp_path, "--set", f"actors.rows.path={tmp_path / 'other.csv'}") == 2
        errors = capsys.readouterr().err
        assert f"the checkpoint folder {str(tmp_path / 'state')!r} is in use by another run" in errors
        assert f"process {run.pid}" in errors
        (tmp_path / "link").symlink_to(tmp_path / "out")
        own = ["--set", f"deploy.checkpoint.path={tmp_path / 'own'}"]
        assert second(tmp_path, *own, "--set", f"actors.rows.path={tmp_path / 'link/rows.csv'}") == 2
        errors = capsys.readouterr().err
        assert (
            f"the output {str(tmp_path / 'out/rows.csv')!r} of actor 'rows' is in use by another run"
            in errors
        )
        assert f"process {run.pid}" in errors
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        assert second(tmp_path) == 0, "the lock is gone with the run"
    assert (tmp_path / "out/rows.csv").is_file()


def test_a_run_is_refused_while_another_of_the_same_process_has_its_output(tmp_path: Path) -> None:
    def topology() -> Topology:
        made = Topology("twice")
        numbers = made.source(Numbers, name="numbers", count=10)
        numbers.into("csv-sink", name="rows", path=str(tmp_path / "rows.csv"))
        return made

    refused: list[ResourceError] = []

    def on_start(*_: object) -> Callable[[], None]:
        def tick() -> None:
            if not refused:
                with pytest.raises(ResourceError, match="is in use by another run") as error:
                    topology().run()
                refused.append(error.value)

        return tick

    run_job(job_of(topology()), on_start=on_start)
    assert refused
    topology().run()


def test_the_workers_of_another_run_of_the_same_process_do_not_keep_its_locks(tmp_path: Path) -> None:
    def first() -> Job:
        topology = Topology("first")
        numbers = topology.source(Numbers, name="numbers", count=10)
        numbers.into("csv-sink", name="rows", path=str(tmp_path / "rows.csv"))
        return job_of(topology, checkpoint={"path": str(tmp_path / "state"), "every": "1h"})

    ends: list[None] = []

    def on_start(*_: object) -> Callable[[], None]:
        def tick() -> None:
            if not ends:
                ends.append(locks.close())
                run_job(first())

        return tick

    with ExitStack() as locks:
        locks.enter_context(locked(first()))
        other = Topology("other")
        other.source(Numbers, name="numbers", count=10).into("null-sink", name="out")
        run_job(
            job_of(other), on_start=on_start
        )  # its worker lives until its end is decided, behind the first tick
    assert ends
    assert (tmp_path / "rows.csv").is_file()


def test_a_run_that_is_refused_leaves_nothing_open(tmp_path: Path) -> None:
    def made() -> Job:
        topology = Topology("refused")
        numbers = topology.source(Numbers, name="numbers", count=10)
        numbers.into("csv-sink", name="rows", path=str(tmp_path / "rows.csv"))
        return job_of(topology)

    with locked(made()):
        jobs = [made(), made()]
        opened = []
        for job in jobs:
            with pytest.raises(ResourceError, match="is in use by another run"):
                run_job(job)
            opened.append(len(list(Path("/proc/self/fd").iterdir())))
    assert opened[1] <= opened[0]


def test_a_run_does_not_go_on_from_a_checkpoint_behind_which_another_run_has_made_one(tmp_path: Path) -> None:
    def made() -> Job:
        topology = Topology("behind")
        topology.source(Numbers, name="numbers", count=10).into("null-sink", name="out")
        return job_of(topology, checkpoint={"path": str(tmp_path / "state"), "every": "1h"})

    run_job(made())
    stale, other = made(), made()
    restore_job(stale)
    run_job(other)
    with pytest.raises(RunError, match=r"was to go on from checkpoint 1 .* another run has made 2 since"):
        run_job(stale)
