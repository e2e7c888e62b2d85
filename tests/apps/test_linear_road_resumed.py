"""Linear Road, killed and resumed: the expected files, in the order of an undisturbed run."""

from __future__ import annotations

import random
import shutil
from functools import partial
from pathlib import Path

import pytest

from actorstream.checkpoint.store import CheckpointStore
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.plan.compile import read_job
from apps.linear_road.reference import COLUMNS
from tests.apps.test_linear_road import APP, DENSE, ROOT, as_sets, expected
from tests.integration.processes import kill_one, launched
from tests.integration.worker_kills import killer, was_killed

RATE = 4_000


def sets_of(out: Path) -> list[str]:
    files = [f"actors.{sink}.path={out / f'{sink}.csv'}" for sink in COLUMNS]
    return [f"actors.reports.path={DENSE}", "deploy.workers=2", "deploy.batch_size=64", *files]


def written(out: Path) -> dict[str, bytes]:
    return {sink: (out / f"{sink}.csv").read_bytes() for sink in COLUMNS}


def deployment(folder: Path) -> Path:
    path = folder / "deploy.toml"
    path.write_text('[checkpoint]\npath = "state"\nevery = "20ms"\n')
    return path


def undisturbed(folder: Path) -> dict[str, bytes]:
    run_job(read_job(APP / "topology.toml", None, sets_of(folder / "undisturbed")))
    return written(folder / "undisturbed")


def test_linear_road_killed_twice_and_resumed_gives_the_expected_files(tmp_path: Path) -> None:
    deploy, sets = deployment(tmp_path), sets_of(tmp_path / "out")
    for kill in range(2):
        job = read_job(APP / "topology.toml", deploy, [*sets, f"actors.reports.rate={RATE}"])
        restore_job(job)
        start = partial(run_job, job, on_start=lambda launcher, _, kill=kill: killer(kill, 2)(launcher))
        if not was_killed(start):
            break
    else:
        job = read_job(APP / "topology.toml", deploy, sets)
        restore_job(job)
        assert job.restored is not None
        run_job(job)
    found = written(tmp_path / "out")
    assert as_sets(found) == expected()
    assert found == undisturbed(tmp_path)


@pytest.mark.slow
def test_linear_road_killed_fifty_times_at_random_moments_gives_the_expected_files(tmp_path: Path) -> None:
    """Through the command line; workers or the launcher, until the run has ended, again and again."""
    before = undisturbed(tmp_path)
    out, store = tmp_path / "out", tmp_path / "state"
    sets = [part for each in sets_of(out) for part in ("--set", each)]
    command = [
        str(APP / "topology.toml"),
        "--deploy",
        str(deployment(tmp_path)),
        "--resume",
        "--quiet",
        *sets,
    ]
    slowly = ["--set", f"actors.reports.rate={RATE}"]
    dice = random.Random(5)
    kills = 0
    while kills < 50:
        with launched(ROOT, *command, *slowly) as launch:
            kills += kill_one(launch, dice, 2)
        done = CheckpointStore(str(store)).latest() if store.is_dir() else None
        if done is not None and (done.ended or kills == 50):
            with launched(ROOT, *command) as launch:
                status, _, errors = launch.wait()
            assert status == 0, errors
            assert written(out) == before
            shutil.rmtree(out)
            shutil.rmtree(store)
    assert as_sets(before) == expected()
