"""A loop that is a program of its own, alone or as the ranks of MPI, and the one figure that it finds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = "ACTORSTREAM_BENCHMARK_FIGURE"
"""The environment's variable with the file that the figure goes to: mpiexec may drop the last line that a rank prints."""


def figure_of(module: str, *words: object, mpi: bool, seconds: float) -> float:
    """What the program `python -m MODULE WORDS...` has told by `tell`; with `mpi` under mpiexec -n 2. RuntimeError: it failed."""
    command = [sys.executable, "-m", module, *map(str, words)]
    if mpi:
        command = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2", *command]
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        file = Path(folder) / "figure"
        done = subprocess.run(
            command,
            env={**os.environ, FILE: str(file)},
            capture_output=True,
            text=True,
            timeout=60 + 20 * seconds,
            check=False,
        )
        if done.returncode != 0 or not file.exists():
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return float(file.read_text())


def tell(figure: float) -> None:
    """Prints the figure, and hands it to whoever waits for it."""
    print(figure, flush=True)
    if file := os.environ.get(FILE):
        Path(file).write_text(str(figure))


def leave_together() -> None:
    """Every rank calls it as the last thing that it does: mpiexec may end the others once one has left."""
    from mpi4py import MPI

    from actorstream.transports.mpi.world import finalize

    finalize(MPI)
