"""The command that starts the ranks of a run over MPI: the mpiexec that belongs to the MPI of this environment."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from actorstream.errors import ConfigurationError

COMMAND = "ACTORSTREAM_RANK_COMMAND"
"""The environment's variable that has the command of a rank."""
SURVIVED_S = 3
ASKED = 128 + signal.SIGTERM
"""Of a rank that SIGTERM has ended where MPI starts; all ranks were asked to end then."""
LEFT_S = 5
"""How long what mpiexec leaves on this host may take to end by itself."""
SHELL = f"""
trap : INT TERM USR1
eval "${COMMAND}"
status=$?
[ $status -eq {ASKED} ] && status=130
if [ $status -ge 128 ] && [ $status -ne 130 ]; then
    trap "exit $status" TERM
    sleep {SURVIVED_S} & wait $!
    rank=${{PMI_RANK:-${{OMPI_COMM_WORLD_RANK:-$PMIX_RANK}}}}
    echo "actorstream: rank $rank on host $(uname -n) was ended by signal $((status - 128)), and no other rank could say so;\
 launch again, with --resume if the run has checkpoints" >&2
fi
exit $status
"""
"""Runs a rank. mpiexec kills all ranks as soon as a process of its own was killed; this one is not, and waits until the other
ranks have said why the run ends, and have ended it (MPICH by SIGKILL, Open MPI by SIGTERM). Where they cannot, it says so
itself: some versions of MPI crash when they send to a process that was killed. Its command line does not show the rank's, so
that nobody takes it for one."""


def find_mpiexec() -> str | None:
    """The mpiexec of this Python environment, or else that of PATH. None: there is none."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec")


def mpiexec(ranks: int, command: Sequence[str]) -> list[str]:
    """The command that runs so many ranks on this host, or on those that a batch system has given.

    ConfigurationError: there is no mpiexec."""
    found = find_mpiexec()
    if found is None:
        raise ConfigurationError(
            "transport 'mpi': there is no mpiexec, neither in this Python environment nor in PATH; load the cluster's MPI "
            "module, or pip install 'actorstream[mpi]'"
        )
    os.environ[COMMAND] = shlex.join(command)
    guard = [sys.executable, "-S", "-E", str(Path(__file__).with_name("guard.py")), str(LEFT_S)]
    return [*guard, found, *_options(_version(found)), "-n", str(ranks), "sh", "-c", SHELL]


def _version(command: str) -> str:
    try:
        said = subprocess.run(
            [command, "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigurationError(
            f"transport 'mpi': {command} does not start: {error}; repair it, or pip install 'actorstream[mpi]'"
        ) from error
    return said.stdout + said.stderr


def _options(version: str) -> list[str]:
    """So that ranks may share cores, and root may start them."""
    if "Open MPI" in version or "OpenRTE" in version or "PRRTE" in version:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return ["--map-by", ":OVERSUBSCRIBE"]
    return []
