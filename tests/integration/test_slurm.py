"""The batch script of `actorstream slurm` under a real SLURM of two nodes on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.processes import PATIENCE_S, ROOT, Announcements, readable
from tests.integration.rank_parts import CHECKPOINT, doubled, write
from tests.integration.slurm import cluster, missing

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


@pytest.mark.slow  # mpich 5.0.2 does not always start under SLURM 22.05: docs/deploy.md
def test_a_job_that_is_told_to_stop_goes_on_when_it_is_queued_again(tmp_path: Path) -> None:
    reason = missing()
    if reason:
        assert not os.environ.get("CI"), f"CI needs SLURM: {reason}"
        pytest.skip(reason)
    folder = tmp_path / "job"
    folder.mkdir()
    write(folder, count=8000, rate=4000, deploy=CHECKPOINT)
    made = script(folder, "-N", "2", "-n", "2", "-t", "5", "--report", "report.json", "-o", "job.sh")
    assert made.returncode == 0, made.stderr
    here = Announcements(folder / "here")
    (tmp_path / "slurm").mkdir()
    with cluster(tmp_path / "slurm") as slurm:
        slurm.environment["PYTHONPATH"] = str(ROOT)
        job = slurm.run("sbatch", "--parsable", "--output=said.txt", "job.sh", cwd=folder)
        assert readable(here.descriptor, PATIENCE_S), slurm.state(job)
        slurm.run("scancel", "--signal=TERM", job)  # as SLURM itself does before the time limit
        assert slurm.wait(job, "PENDING", "FAILED", "COMPLETED") == "PENDING", (
            folder / "said.txt"
        ).read_text()
        assert not (folder / "out/rows.csv").exists()
        slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now")
        assert slurm.wait(job, "FAILED", "COMPLETED") == "COMPLETED", (folder / "said.txt").read_text()
    here.close()
    said = (folder / "said.txt").read_text()
    assert "suspended at checkpoint 1" in said and "on 2 workers (mpi)" in said, said
    assert doubled(folder) == list(range(0, 16000, 2))


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


def test_a_run_without_checkpoints_is_not_told_to_resume(tmp_path: Path) -> None:
    write(tmp_path)
    said = script(tmp_path, "-n", "3", "-c", "2").stdout
    assert "--resume" not in said
    assert "#SBATCH --ntasks=3\n#SBATCH --ntasks-per-node=3\n#SBATCH --cpus-per-task=2\n" in said
    subprocess.run(["bash", "-n"], input=said, text=True, check=True)
