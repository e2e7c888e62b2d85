"""Starts the command line in processes of its own and finds everything that descends from them. Waits on ends only."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parents[2]
MPIEXEC = Path(sys.executable).with_name("mpiexec")
TAG = "ACTORSTREAM_TEST_RUN"
PATIENCE_S = 45.0
"""How long an end may take on a machine that does much else."""


@dataclass
class Run:
    """One `actorstream launch`: its process, and by a mark in their environment all that descend from it."""

    process: subprocess.Popen[str]
    tag: str
    pidfd: int = field(default=-1)
    read: str = ""
    """What was read of stderr before the end."""

    def __post_init__(self) -> None:
        self.pidfd = os.pidfd_open(self.process.pid)

    @property
    def pid(self) -> int:
        return self.process.pid

    def ends_within(self, seconds: float) -> bool:
        """Waits until the command ends, at most so long."""
        return bool(readable(self.pidfd, seconds))

    def family(self) -> list[int]:
        """Pids of all processes of this run that live, the command's own first."""
        mark = f"{TAG}={self.tag}".encode()
        found = []
        for path in Path("/proc").iterdir():
            if path.name.isdigit():
                with suppress(OSError):
                    if mark in (path / "environ").read_bytes().split(b"\0") and is_alive(int(path.name)):
                        found.append(int(path.name))
        return sorted(found, key=lambda pid: (pid != self.pid, pid))

    def workers(self) -> list[int]:
        return [pid for pid in self.family() if pid != self.pid]

    def says(self, word: str) -> bool:
        """Waits until `word` is in what the command has written to stderr; False if it ended without."""
        assert self.process.stderr is not None
        descriptor, until = self.process.stderr.fileno(), monotonic() + PATIENCE_S
        while word not in self.read and readable(descriptor, until - monotonic()):
            data = os.read(descriptor, 1 << 16)
            if not data:
                break
            self.read += data.decode("utf-8", "replace")
        return word in self.read

    def wait(self) -> tuple[int, str, str]:
        """Exit status, stdout and stderr. TimeoutExpired: it hangs."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, self.read + err

    def wait_until_nobody_is_left(self) -> list[int]:
        """Those that are still there after a long while; nobody, if all is well."""
        until = monotonic() + PATIENCE_S
        while (left := self.workers()) and monotonic() < until:
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(left[0])
                readable(descriptor, until - monotonic())
                os.close(descriptor)
        return left


def kill_one(run: Run, dice: random.Random, within: float) -> bool:
    """Kills a random process of a run at a random moment, and waits until none is left; whether there was one to kill."""
    run.ends_within(dice.random() * within)
    family = run.family()
    if family:
        with suppress(ProcessLookupError):
            os.kill(dice.choice(family), signal.SIGKILL)
    run.wait()
    assert run.wait_until_nobody_is_left() == []
    return bool(family)


@contextmanager
def launched(folder: Path, *arguments: object, environment: Mapping[str, str] | None = None) -> Iterator[Run]:
    """`actorstream launch ARGUMENTS` from `folder`, with the project's tests importable and more in its environment."""
    words = [sys.executable, "-m", "actorstream", "launch", *map(str, arguments)]
    with _started(folder, words, environment) as run:
        yield run


@contextmanager
def ranked(folder: Path, ranks: int, *command: str) -> Iterator[Run]:
    """The same of `mpiexec -n RANKS COMMAND`."""
    with _started(folder, [str(MPIEXEC), "-n", str(ranks), *command]) as run:
        yield run


@contextmanager
def _started(
    folder: Path, words: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator[Run]:
    tag = uuid.uuid4().hex
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        words,
        cwd=folder,
        env={**os.environ, **(environment or {}), TAG: tag, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    run = Run(process, tag)
    try:
        yield run
    finally:
        for pid in run.family():
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        process.communicate()
        os.close(run.pidfd)


def readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or an end, within so long."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))


class Announcements:
    """A pipe in the file system in which workers say that they have come to something."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.descriptor = os.open(
            path, os.O_RDWR | os.O_NONBLOCK
        )  # a writer of its own: it never reads an end

    def clear(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self.descriptor, 1 << 16):
                pass

    def wait(self, run: Run) -> bool:
        """Waits for an announcement; False if the run ended without."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        poll.register(run.pidfd, select.POLLIN)
        poll.poll(PATIENCE_S * 1000)
        return readable(self.descriptor, 0)

    def close(self) -> None:
        os.close(self.descriptor)


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
