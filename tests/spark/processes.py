"""Processes that a test has left running, by their command lines."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def end_runs(folder: Path) -> None:
    for process in processes_with(str(folder), "launch"):
        with suppress(ProcessLookupError):  # it has ended with the one before
            os.kill(process, signal.SIGTERM)


def children_of(process: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in path.read_text().split()]
    return found


def parent_of(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0  # it has ended


def processes_with(*texts: str) -> list[int]:
    """Processes whose command line has these texts."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            command = path.read_text()
            if all(text in command for text in texts):
                found.append(int(path.parent.name))
    return found
