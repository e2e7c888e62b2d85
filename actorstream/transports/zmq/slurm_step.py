"""A step of a SLURM job whose tasks are the workers of a run: `srun actorstream launch … --transport zmq`. Everything that the
tasks need to find each other follows from the variables of SLURM and a folder of the step's own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.transports.network.keys import FILE, make_key, parse_key, read_key

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec

_VARIABLES = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
"""A batch script has the first and the third, too, but is no step."""
FOLDER = ".actorstream-slurm"
AGAIN_S = 0.05


class SlurmStep(msgspec.Struct, frozen=True):
    """Attributes:
    rank: the number of this task. size: how many tasks there are.
    folder: of this step alone, below the folder that the step runs in. All nodes have to share it."""

    rank: int
    size: int
    folder: Path

    @classmethod
    def found(cls) -> SlurmStep | None:
        """The step that this process is one of several tasks of; None: there is none."""
        said = [os.environ.get(name, "") for name in _VARIABLES]
        if not all(each.isdigit() for each in said):
            return None
        job, step, rank, size = map(int, said)
        again = os.environ.get("SLURM_RESTART_COUNT", "0")
        return cls(rank, size, Path.cwd() / FOLDER / f"{job}.{step}.{again}") if size > 1 else None

    def completed(self, deploy: DeploySpec) -> DeploySpec:
        """The deployment with a worker for each task, and with the step's folder where it says nothing of hosts."""
        network = deploy.network
        if not deploy.hosts and not network.discovery:
            network = msgspec.structs.replace(network, discovery=str(self.folder))
        return msgspec.structs.replace(deploy, workers=self.size, network=network)

    def key(self, limit_s: float) -> bytes:
        """The key of the step: task 0 makes it, in a folder that only its user can open. ConfigurationError: it cannot, or
        the file does not appear."""
        path = self.folder / FILE
        if self.rank == 0:
            return read_key(make_key(self.folder))
        end = monotonic() + limit_s
        while not _is_complete(path):
            if monotonic() > end:
                raise ConfigurationError(
                    Problem(
                        "network.key",
                        f"task 0 of the SLURM step has not written {str(path)!r} within {limit_s:g} s",
                        "a folder that all nodes share",
                        "run the job in a shared folder (#SBATCH --chdir), or set network.key and network.discovery",
                    )
                )
            sleep(AGAIN_S)
        return read_key(path)

    def leave(self) -> None:
        """Takes away what task 0 has made, and the folders once they are empty."""
        with suppress(OSError):
            if self.rank == 0:
                (self.folder / FILE).unlink()
        with suppress(OSError):
            self.folder.rmdir()
            self.folder.parent.rmdir()


def _is_complete(path: Path) -> bool:
    """Whether the whole key is in the file."""
    try:
        parse_key(path.read_text(), str(path))
    except (OSError, ConfigurationError):
        return False
    return True
