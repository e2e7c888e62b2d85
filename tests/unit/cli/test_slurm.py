"""slurm: what SLURM would refuse is said when the script is written. That scripts run is tests/integration/test_slurm.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Answer

Run = Callable[..., Answer]


def test_all_that_cannot_be_is_listed_at_once(run: Run, topology: Path) -> None:
    answer = run("slurm", topology, "-N", "4", "-n", "2", "-c", "0", "--time", "banana")
    assert answer.code == 2
    assert [line.split(";")[0] for line in answer.err.splitlines()[1:]] == [
        "--ntasks: is 2",
        "--cpus-per-task: is 0",
        "--time: is 'banana'",
    ]


@pytest.mark.parametrize("time", ["1:2:3:4", "1.5", "-1", "1-", "1h", "1:234", ""])
def test_a_time_limit_that_slurm_does_not_read_is_refused(time: str, run: Run, topology: Path) -> None:
    answer = run("slurm", topology, f"--time={time}")
    assert answer.code == 2
    assert f"--time: is {time!r}; allowed: minutes, M:SS, H:MM:SS" in answer.err


@pytest.mark.parametrize("time", ["3", "2:01", "0:02:01", "1-0", "0-0:03", "0-0:02:01", "UNLIMITED"])
def test_all_forms_of_a_time_limit_are_taken(time: str, run: Run, topology: Path) -> None:
    answer = run("slurm", topology, "--time", time)
    assert answer.code == 0, answer.err
    assert f"#SBATCH --time={time}\n" in answer.out


def test_a_notice_of_nothing_is_refused(run: Run, topology: Path) -> None:
    answer = run("slurm", topology, "--notice", "0s")
    assert answer.code == 2 and "--notice: is 0 s; allowed: at least 1s" in answer.err


def test_a_job_without_checkpoints_has_nothing_to_go_on_from(run: Run, topology: Path) -> None:
    without = run("slurm", topology).out
    assert "resume" not in without and "scontrol requeue" not in without
    checkpoint = 'deploy.checkpoint={ path = "state", every = "10s" }'
    script = run("slurm", topology, "--set", checkpoint).out
    assert "resume=(--resume)" in script and '"${resume[@]}" &' in script and "scontrol requeue" in script


@pytest.mark.parametrize(("time", "seconds"), [("2", 120), ("1:59", 119), ("0:01:00", 60), ("0-0:02", 120)])
def test_a_notice_as_long_as_the_time_limit_is_refused(
    time: str, seconds: int, run: Run, topology: Path
) -> None:
    answer = run("slurm", topology, "--time", time)
    assert answer.code == 2
    assert f"--notice: is 120 s, and the time limit is {seconds} s" in answer.err


def test_a_name_with_blanks_is_one_word_of_one_line(run: Run, topology: Path) -> None:
    text = topology.read_text().replace('name = "small"', 'name = "daily counts\\nexit 1 #"')
    topology.write_text(text)
    answer = run("slurm", topology)
    assert answer.code == 0, answer.err
    assert "#SBATCH --job-name='daily counts exit 1 #'\n" in answer.out and "\nexit 1" not in answer.out
