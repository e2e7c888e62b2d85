"""Ranks that mpiexec starts, for tests: a topology of numbers, who is which rank, and operators that misbehave in one."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from actorstream.actors.actor import Actor
from tests.integration.parts import Number
from tests.integration.processes import Run

TOPOLOGY = """
name = "ranks"
[actors.numbers]
type = "tests.integration.parts:Announced"
pipe = "here"
count = {count}
rate = {rate}
[actors.double]
type = "tests.integration.{kind}"
inputs = [{{ from = "numbers", route = "shuffle" }}]
replicas = 3
[actors.rows]
type = "csv-sink"
inputs = ["double"]
path = "out/rows.csv"
"""
VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
"""They say which rank a process is, under MPICH, Open MPI and SLURM."""
RANKS = tuple(f"{name}=".encode() for name in VARIABLES)
ENDLESS = 1_000_000_000
CHECKPOINT = '[checkpoint]\npath = "state"\nevery = "1h"\n'


def write(
    folder: Path, *, count: int = 3000, rate: int = 20_000, kind: str = "parts:Double", deploy: str = ""
) -> None:
    """Files for `launch topology.toml --deploy deploy.toml`."""
    (folder / "topology.toml").write_text(TOPOLOGY.format(count=count, rate=rate, kind=kind))
    (folder / "deploy.toml").write_text(f'transport = "mpi"\nbatch_size = 64\n{deploy}')


def doubled(folder: Path) -> list[int]:
    """The values in the output, sorted."""
    lines = (folder / "out/rows.csv").read_text().splitlines()[1:]
    return sorted(int(line.split(",")[0]) for line in lines)


def own_rank() -> str:
    """The rank of this process."""
    return next(os.environ[name] for name in VARIABLES if name in os.environ)


def rank_pids(run: Run) -> dict[int, int]:
    """Rank -> pid, of the ranks of a run that live."""
    found = {}
    for pid in run.family():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            found.update(
                {
                    int(word.partition(b"=")[2]): pid
                    for word in words
                    if word.startswith(RANKS) and b"actorstream\0launch" in command
                }
            )
    return found


class RaisesInRank2(Actor):
    """An operator with a defect that shows in one rank only."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_event(self, event: Number) -> Number:
        if own_rank() == "2":
            raise ValueError("no such key: 7")
        return event


class HangsInRank2(Actor):
    """An operator whose hook never returns in one rank."""

    outputs: ClassVar[dict[str, Any]] = {"default": Number}

    def on_event(self, event: Number) -> Number:
        if own_rank() == "2":
            threading.Event().wait()
        return event
