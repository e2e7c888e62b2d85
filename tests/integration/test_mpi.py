"""Ranks that mpiexec starts keep the transports' rules, and a world that is none is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import mpi4py  # noqa: F401  # missing: an error, not a skip
import pytest

from actorstream.errors import ConfigurationError
from actorstream.transports.mpi.fabric import MpiFabric
from actorstream.transports.mpi.world import check_rank, check_size

ROOT = Path(__file__).resolve().parents[2]
MPIEXEC = Path(sys.executable).with_name("mpiexec")


def ranks(count: int, *command: str, timeout: float = 200) -> subprocess.CompletedProcess[str]:
    """Starts ranks of this interpreter from the root of the repository."""
    words = [str(MPIEXEC), "-n", str(count), sys.executable, *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.mark.parametrize(("count", "checks"), [(2, 28), (3, 2)])
def test_mpi_keeps_the_rules(count: int, checks: int) -> None:
    done = ranks(count, "tests/conformance/mpi_ranks.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        f"each rank of {count} played {checks} checks" in done.stdout
    )  # mpiexec may lose the last line of a rank


def test_ranks_of_one_host_share_memory_and_reach_others_over_mpi() -> None:
    done = ranks(3, "tests/conformance/mpi_ranks.py", "same-host")
    assert done.returncode == 0, done.stdout + done.stderr
    shared = {0: "[0, 2]", 1: "[0, 2]", 2: "[]"}
    for rank, channels in shared.items():
        assert f"rank {rank} shares {channels}" in done.stdout
    assert "each rank of 3 played 2 checks" in done.stdout


SILENT_RANK = """
import signal, sys
from actorstream.errors import ConfigurationError
from actorstream.transports.mpi.assembly import MpiAssembly

assembly = MpiAssembly()
if assembly.rank == 1:
    signal.pause()  # until it is ended with the job
try:
    assembly.gather(b"", 0.1)
except ConfigurationError as error:
    print(error, file=sys.stderr)
    if "leaves" in sys.argv:
        assembly.end(2, in_order=True, ends_others=True)
"""


@pytest.mark.parametrize(("words", "status"), [(("leaves",), 2), ((), 1)])
def test_a_rank_that_does_not_answer_before_the_run_is_named_and_ended_with_the_job(
    words: tuple[str, ...], status: int
) -> None:
    done = ranks(2, "-c", SILENT_RANK, *words, timeout=60)
    assert done.returncode == status, done.stderr
    assert "rank 1: no answer within 0.1 s" in done.stderr


def test_a_worker_that_was_forked_from_another_rank_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_RANK", "0")
    check_rank(0)
    with pytest.raises(ConfigurationError, match="worker 1 in a process of rank 0"):
        check_rank(1)


def test_a_rank_of_an_mpiexec_in_a_batch_script_is_not_taken_for_the_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("SLURM_PROCID", "0")
    check_rank(1)
    with pytest.raises(ConfigurationError, match=r"worker 0 in a process of rank 1 \(PMI_RANK\)"):
        check_rank(0)


ALONE = """
from actorstream.errors import ConfigurationError
from actorstream.transports.mpi.transport import MpiTransport
try:
    MpiTransport(MpiTransport.fabric(2, [], 1), 0)
except ConfigurationError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [({}, "mpiexec -n 2"), ({"SLURM_NTASKS": "2"}, "each is alone in a world of its own")],
)
def test_a_process_that_is_alone_in_its_world_says_why(said: dict[str, str], expected: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **said}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert expected in done.stdout, done.stdout + done.stderr


def test_a_world_that_is_larger_than_the_plan_is_right() -> None:
    check_size(3, 2, 3)
    with pytest.raises(ConfigurationError, match="the plan has 4 workers, MPI started 3 ranks"):
        check_size(3, 4, 3)


def test_fabrics_of_one_process_are_told_apart() -> None:
    first, second = MpiFabric(1, [], 1), MpiFabric(1, [], 1)
    assert second.run == first.run + 1


KILLED = """
import os, signal
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
MPI.COMM_WORLD.Barrier()
"""


def test_a_rank_that_is_killed_ends_the_others() -> None:
    assert ranks(2, "-c", KILLED, timeout=60).returncode != 0
