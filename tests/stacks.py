"""Where a hanging test hangs: processes write the stacks of all their threads when they are told to."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from time import sleep

SHOW = signal.SIGRTMIN + 5
"""Tells a process to write its stacks. Forked processes inherit what handles it; programs that are started do not."""
APART_S = 0.05
"""Time for one process to write before the next one is told: two at once would write between each other's letters."""


def listen(file: int) -> None:
    """From now on this process, and all that it forks, write their stacks to a descriptor when they are told to."""
    faulthandler.register(SHOW, file=file, all_threads=True)


def show_stacks(pids: Iterable[int]) -> None:
    """Tells processes to write their stacks. Those that do not listen are left alone, since the signal would end them."""
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
            if int(caught.split()[1], 16) >> (SHOW - 1) & 1:
                os.kill(pid, SHOW)
                sleep(APART_S)
        except OSError:  # it has ended meanwhile
            continue


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    return [each for child in children_of(pid) for each in (child, *descendants(child))]


def children_of(pid: int) -> list[int]:
    """The child processes of all threads of a process that have not been waited for."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                found += map(int, (task / "children").read_text().split())
            except OSError:  # the thread has ended meanwhile, and its children are now another thread's
                continue
    except OSError:  # the process has
        pass
    return found
