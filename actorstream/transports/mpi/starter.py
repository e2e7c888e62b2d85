"""The command that starts the ranks of a run over MPI: the mpiexec that belongs to the MPI of this environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from actorstream.errors import ConfigurationError


def mpiexec(ranks: int) -> list[str]:
    """The command and its options for so many ranks on this host, or on those that a batch system has given.

    ConfigurationError: there is none."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    if found is None:
        raise ConfigurationError(
            "transport 'mpi': there is no mpiexec, neither in this Python environment nor in PATH; load the cluster's MPI "
            "module, or pip install 'actorstream[mpi]'"
        )
    return [found, *_options(_version(found)), "-n", str(ranks)]


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
    """So that ranks may share cores and root may start them, and that the other ranks live long enough to say why the run
    has ended, when one has died."""
    if "Open MPI" in version or "OpenRTE" in version or "PRRTE" in version:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return ["--map-by", ":OVERSUBSCRIBE"]
    return ["-disable-auto-cleanup"] if "HYDRA" in version else []
