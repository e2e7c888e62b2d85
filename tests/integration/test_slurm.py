"""The batch script of `actorstream slurm` under a real SLURM of two nodes on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actorstream.transports.zmq.slurm_step import FOLDER
from tests.integration.processes import PATIENCE_S, ROOT, Announcements, readable
from tests.integration.rank_parts import CHECKPOINT, doubled, write
from tests.integration.slurm import Slurm, cluster, missing

ENDED = ("FAILED", "COMPLETED", "TIMEOUT")
LIMIT_S = 240.0
"""A job of a minute may wait as long again."""
COMMAND = [sys.executable, "-m", "actorstream", "slurm", "topology.toml", "--deploy", "deploy.toml"]


def script(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """Two nodes on this machine."""
    reason = missing()
    if reason:
        assert not os.environ.get("CI"), f"CI needs SLURM: {reason}"
        pytest.skip(reason)
    with cluster(tmp_path_factory.mktemp("slurm")) as made:
        made.environment["PYTHONPATH"] = str(ROOT)
        yield made


@pytest.mark.parametrize(("transport", "signalled"), [("zmq", []), ("mpi", ["--batch"])])
def test_a_job_that_is_told_to_stop_goes_on_when_it_is_queued_again(
    slurm: Slurm, tmp_path: Path, transport: str, signalled: list[str]
) -> None:
    write(tmp_path, count=8000, rate=4000, deploy=CHECKPOINT)
    words = ["-N", "2", "-n", "4", "-t", "5", "--transport", transport, "-o", "job.sh"]
    made = script(tmp_path, *words)
    assert made.returncode == 0, made.stderr
    here = Announcements(tmp_path / "here")
    said = tmp_path / "said.txt"
    job = slurm.run("sbatch", "--parsable", "--output=said.txt", "job.sh", cwd=tmp_path)
    assert readable(here.descriptor, PATIENCE_S), slurm.state(job)
    slurm.run("scancel", *signalled, "--signal=TERM", job)  # as SLURM itself does before the time limit
    assert slurm.wait(job, "PENDING", "FAILED", "COMPLETED") == "PENDING", said.read_text()
    assert not (tmp_path / "out/rows.csv").exists()
    # in the same second SLURM would refuse the job's credential
    slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now+2")
    assert slurm.wait(job, "FAILED", "COMPLETED") == "COMPLETED", said.read_text()
    here.close()
    text = said.read_text()
    assert "suspended at checkpoint 1" in text and f"on 4 workers ({transport})" in text, text
    assert doubled(tmp_path) == list(range(0, 16000, 2))
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["zmq", "mpi"])
def test_a_job_stops_before_its_time_limit_and_goes_on_as_often_as_it_takes(
    slurm: Slurm, tmp_path: Path, transport: str
) -> None:
    count = 480_000
    write(tmp_path, count=count, rate=8000, deploy=CHECKPOINT)
    words = ["-N", "2", "-n", "4", "-t", "1", "--notice", "20s", "--transport", transport, "-o", "job.sh"]
    made = script(tmp_path, *words)
    assert made.returncode == 0, made.stderr
    here = Announcements(tmp_path / "here")
    said = tmp_path / "said.txt"
    job = slurm.run("sbatch", "--parsable", "--output=said.txt", "job.sh", cwd=tmp_path)
    stops = 0
    while slurm.wait(job, *ENDED, "PENDING", patience_s=LIMIT_S) == "PENDING":
        if slurm.restarts(job) > stops:
            stops += 1
            slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now+2")
        slurm.wait(job, *ENDED, "RUNNING", patience_s=LIMIT_S)
    here.close()
    text = said.read_text()
    assert slurm.state(job) == "COMPLETED", text
    assert stops and "suspended at checkpoint" in text, text
    assert doubled(tmp_path) == list(range(0, 2 * count, 2))


@pytest.mark.parametrize(("transport", "manager"), [("zmq", "none"), ("mpi", "pmi2")])
def test_srun_starts_a_run_without_a_script(
    slurm: Slurm, tmp_path: Path, transport: str, manager: str
) -> None:
    write(tmp_path)
    here = Announcements(tmp_path / "here")
    launch = [sys.executable, "-m", "actorstream", "launch", "topology.toml", "--transport", transport]
    slurm.run("srun", f"--mpi={manager}", "-N2", "-n4", *launch, cwd=tmp_path)
    here.close()
    assert doubled(tmp_path) == list(range(0, 6000, 2))
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-N", "2", "-n", "1"], "--ntasks: is 1; allowed: at least 2"),
        (["-n", "2", "--plan", "plan.json"], "--plan"),
    ],
)
def test_numbers_that_cannot_be_are_refused(tmp_path: Path, words: list[str], expected: str) -> None:
    write(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    plan = [sys.executable, "-m", "actorstream", "plan", "topology.toml", "--save", "plan.json"]
    subprocess.run(plan, cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=True)
    done = script(tmp_path, *words)
    assert done.returncode == 2
    assert expected in done.stderr


def test_a_key_that_the_first_task_does_not_write_is_waited_for_in_vain(tmp_path: Path) -> None:
    write(tmp_path)
    tasks = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
    short = ["--transport", "zmq", "--set", "deploy.network.start_timeout=200ms"]
    done = subprocess.run(
        [*COMMAND[:3], "launch", "topology.toml", *short],
        cwd=tmp_path,
        env={**os.environ, **tasks, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "task 0 of the SLURM step has not written" in done.stderr
    assert f"{FOLDER}/7.0.0/job.key" in done.stderr and "a folder that all nodes share" in done.stderr


def test_a_transport_that_stays_on_one_machine_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    done = script(tmp_path, "-N", "2", "--transport", "shm")
    assert done.returncode == 2
    assert "--transport: is 'shm'; allowed: mpi or zmq" in done.stderr


def test_a_run_without_checkpoints_is_not_told_to_resume(tmp_path: Path) -> None:
    write(tmp_path)
    said = script(tmp_path, "-n", "3", "-c", "2").stdout
    assert "--resume" not in said
    assert "#SBATCH --ntasks=3\n#SBATCH --ntasks-per-node=3\n#SBATCH --cpus-per-task=2\n" in said
    subprocess.run(["bash", "-n"], input=said, text=True, check=True)
