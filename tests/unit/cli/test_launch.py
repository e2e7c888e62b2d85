"""launch: what it says of a command line that does not fit how the workers of a run start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("PMI", "OMPI_", "SLURM_", "MV2_", "ACTORSTREAM_RANK")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("transport", ["local", "mpi"])
def test_a_rank_of_a_run_that_starts_its_workers_itself_is_refused(
    transport: str, run: Run, topology: Path, monkeypatch: pytest.MonkeyPatch, no_rank: None
) -> None:
    monkeypatch.setenv("ACTORSTREAM_RANK", "")  # the command sets it, and this process lives on
    answer = run("launch", topology, "--transport", transport, "--rank", "0")
    assert answer.code == 2
    assert "--rank: is 0; allowed: with transport zmq and [[hosts]]" in answer.err


@pytest.mark.parametrize("workers", ["0", "-1"])
def test_no_workers_are_refused_over_mpi_as_over_shm(
    workers: str, run: Run, topology: Path, no_rank: None
) -> None:
    answer = run("launch", topology, "--transport", "mpi", f"--workers={workers}")
    assert answer.code == 2
    assert f"workers: is {workers}; allowed: a whole number from 1 to 4096" in answer.err


@pytest.mark.parametrize(("rank", "notes"), [("0", 1), ("3", 0)])
def test_copies_of_a_run_that_mpiexec_starts_are_noted_once(
    rank: str, notes: int, run: Run, topology: Path, monkeypatch: pytest.MonkeyPatch, no_rank: None
) -> None:
    monkeypatch.setenv("PMI_SIZE", "4")
    monkeypatch.setenv("PMI_RANK", rank)
    topology.write_text(re.sub('".*:Out"', '"null-sink"', topology.read_text()))
    answer = run("launch", topology, "--transport", "local")
    assert answer.code == 0
    assert answer.err.count("4 processes were started, and each runs the whole topology by itself") == notes
