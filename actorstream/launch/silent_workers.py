"""Workers of this machine that have given no sign of life: the kernel says which of them are lost, and which only wait for a
core."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

STOPPED = "T"
FROZEN_S = 20.0
"""A silent process that has not run for so long is lost: it is frozen, or waits for a device that does not answer."""


class Looked(NamedTuple):
    """A process as the kernel sees it. `state`: a letter of proc_pid_stat(5). `ran`: a number that is another one whenever the
    process has run."""

    state: str
    ran: int


def look_at(pid: int) -> Looked | None:
    """None: the process is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Looked(fields[0], int(fields[11]) + int(fields[12]) + _switches(pid))


def _switches(pid: int) -> int:
    """How often the threads of a process have got or left a core. One that only wakes up to say that it lives may need minutes
    for a clock tick of processor time."""
    found = 0
    for path in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread is gone
            counts = (line for line in path.read_text().splitlines() if "ctxt_switches:" in line)
            found += sum(int(line.rpartition(":")[2]) for line in counts)
    return found


class SilentWorkers:
    """Decides which silent workers are lost. One that runs from time to time is not: other processes have the cores, and its
    thread that gives signs of life does not get one in time."""

    def __init__(self, look: Callable[[int], Looked | None] = look_at) -> None:
        self._look = look
        self._ran: dict[int, tuple[int, float]] = {}
        """Process -> its last `ran`, and when that was last found to be another one."""

    def add(self, pid: int, now: float) -> None:
        """A worker has fallen silent."""
        self._ran[pid] = (-1, now)

    def lost(self, now: float) -> dict[int, str]:
        """Process -> the end of a sentence that says how it was lost. Each process is named once."""
        found: dict[int, str] = {}
        for pid, (ran, since) in list(self._ran.items()):
            looked = self._look(pid)
            if looked is None:
                del self._ran[pid]  # its end is heard of elsewhere
            elif looked.state == STOPPED:
                found[pid] = "its process is stopped"
            elif looked.ran != ran:
                self._ran[pid] = (looked.ran, now)
            elif now - since > FROZEN_S:
                found[pid] = f"its process has not run for {FROZEN_S:g} s"
        for pid in found:
            del self._ran[pid]
        return found
