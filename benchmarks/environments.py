"""The peers' virtual environments under benchmarks/.peers/, made on demand, and how a program is run in one.

A peer that cannot be installed is an error. Peers' programs (peers/*.py) import nothing but their own folder.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import job
from benchmarks.registry import UnknownNameError

HERE = Path(__file__).parent
FOLDER = HERE / ".peers"
LONGEST_INSTALL_SECONDS = 1800


class PeerError(Exception):
    """A peer could not be installed."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer and what `pip install` needs for it."""

    name: str
    requirements: tuple[str, ...]


PEERS = {
    peer.name: peer
    for peer in (
        Peer("bytewax", ("bytewax==0.21.1",)),
        Peer("flink", ("apache-flink==2.3.0", "setuptools<81")),
        Peer("pathway", ("pathway==0.33.0",)),
        Peer("spark", ("pyspark[sql]==4.3.0", "pandas<3")),
    )
}


def peer(name: str) -> Peer:
    """The peer of that name; UnknownNameError."""
    if name not in PEERS:
        raise UnknownNameError("peer", name, list(PEERS))
    return PEERS[name]


def python_of(name: str) -> Path:
    return FOLDER / name / "bin" / "python"


def install(name: str) -> None:
    """Makes the peer's environment unless it is complete; PeerError with what pip said."""
    wanted = "\n".join(peer(name).requirements)
    FOLDER.mkdir(exist_ok=True)
    marker = FOLDER / name / "installed.txt"
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if marker.exists() and marker.read_text() == wanted:
            return
        step([sys.executable, "-m", "venv", str(FOLDER / name)], name)
        step([str(python_of(name)), "-m", "pip", "install", "--quiet", *peer(name).requirements], name)
        marker.write_text(wanted)


def step(command: list[str], name: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=LONGEST_INSTALL_SECONDS
    )
    if done.returncode != 0:
        said = job.tail(done.stderr or done.stdout)
        raise PeerError(f"peer {name!r} cannot be installed; `{' '.join(command)}` said:\n{said}")


def run(name: str, program: str, *arguments: str) -> Any:
    """The JSON that peers/PROGRAM prints last, run in the peer's environment."""
    command = [str(python_of(name)), str(HERE / "peers" / program), *arguments]
    environment = {
        "PYTHONPATH": "",
        "PATH": f"{FOLDER / name / 'bin'}:{os.environ.get('PATH', '')}",
        "PYSPARK_PYTHON": str(python_of(name)),
        "VIRTUAL_ENV": str(FOLDER / name),
    }
    return job.run(command, what=f"peer {name} ({program})", environment=environment)
