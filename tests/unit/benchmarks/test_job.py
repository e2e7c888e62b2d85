"""A job runs in a fresh interpreter and its failure is told in its own words."""

from __future__ import annotations

import os
import sys

import pytest

from benchmarks import job


def pid_and(value: int) -> list[int]:
    print("not the answer")
    return [os.getpid(), value]


def test_a_job_runs_in_a_process_of_its_own() -> None:
    pid, value = job.call("tests.unit.benchmarks.test_job:pid_and", value=7)
    assert value == 7
    assert pid != os.getpid()


def test_a_job_that_fails_says_what_it_printed() -> None:
    with pytest.raises(job.JobError, match="exit code 3; it said:\nout of luck"):
        job.run(
            [sys.executable, "-c", "import sys; print('out of luck', file=sys.stderr); sys.exit(3)"],
            what="draw",
        )
