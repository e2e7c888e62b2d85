"""Random faults of a run: which signals whom, which disk is full, and when. Strikes; judges nothing but what may follow."""

from __future__ import annotations

import os
import random
import resource
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from tests.integration.fault_steps import STEP, STEPS
from tests.integration.processes import PATIENCE_S, Announcements, Run

KINDS = {
    "kill one": "KILL one",
    "kill the launcher": "KILL launcher",
    "kill two": "KILL worker, KILL one",
    "sigterm": "TERM launcher",
    "sigterm to all": "TERM all",
    "ctrl-c": "INT all",
    "sigterm twice": "TERM launcher, TERM launcher",
    "ctrl-c twice": "INT all, INT all",
    "sigterm, then ctrl-c": "TERM all, INT all",
    "ctrl-c, then sigterm": "INT launcher, TERM launcher",
    "sigterm to a worker": "TERM worker",
    "ctrl-c, then kill": "INT all, KILL one",
    "sigterm, then kill": "TERM launcher, KILL one",
    "stop for a while": "STOP one, CONT stopped",
    "stop all for a while": "STOP all, CONT stopped",
    "kill while one is stopped": "STOP worker, KILL one, CONT stopped",
    "kill the launcher, a worker is stopped": "STOP worker, KILL launcher",
    "sigterm while one is stopped": "STOP one, TERM launcher, CONT stopped",
    "ctrl-c twice, a worker is stopped": "STOP worker, INT launcher, INT again",
    "outputs full": "FULL out",
    "checkpoints full": "FULL state",
    "all full": "FULL out, FULL state",
    "files limited": "LIMIT all",
}
"""What happens: an action and on whom, several one after the other."""
SUSPENDED, INTERRUPTED, FAILED, DONE = 75, 130, 1, 0


@dataclass
class Fault:
    """One fault of one run: drawn before it, then struck.

    Attributes:
        kind: of `KINDS`. when: a step of the run, "spawned", "running" or "done".
        killed: who was, in order. stops: signals that tell the launcher to stop, in order. struck: whether it has been
        at all.
    """

    kind: str
    when: str
    number: int = 0
    after: float = 0.0
    holds: bool = False
    killed: list[int] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    struck: bool = False
    met_python: bool = False
    """Whether the command had not begun: a signal then ends the interpreter as it ends any other."""

    def describe(self) -> str:
        place = f"{self.when} {self.number}" if self.when in STEPS else f"{self.when} + {self.after:.3f} s"
        return f"{self.kind} at {place}{', which waits' if self.holds else ''}"

    @property
    def fills(self) -> bool:
        return "FULL" in KINDS[self.kind]

    def environment(self, here: Path, go: Path) -> dict[str, str]:
        step = self.when if self.when in STEPS else "start"
        return {STEP: f"{step} {self.number} {here} {go}"}

    def may_end_with(self, launcher: int, *, checkpoints: bool) -> set[int]:
        """Exit statuses of the command."""
        allowed = {DONE}
        if any(pid != launcher for pid in self.killed) or "FULL" in KINDS[self.kind]:
            allowed.add(FAILED)
        if "LIMIT" in KINDS[self.kind]:
            allowed |= {FAILED, 2}
        if launcher in self.killed:
            allowed.add(-signal.SIGKILL)
        if self.stops:
            allowed.add(SUSPENDED if checkpoints and self.stops[0] == "TERM" else INTERRUPTED)
        if len(self.stops) > 1:
            allowed.add(INTERRUPTED)
        if self.met_python:
            allowed |= {FAILED, *(-signal.Signals[f"SIG{each}"] for each in self.stops)}
        return allowed


def draw(kind: str, dice: random.Random, *, resumes: bool) -> Fault:
    """When the fault of a kind strikes; `resumes`: the run goes on from another."""
    chance = dice.random()
    if chance < 0.2:
        return Fault(kind, "spawned", after=dice.uniform(0, 1.2))
    if chance < 0.45:
        return Fault(kind, "running", after=dice.uniform(0, 1.2))
    if chance < 0.52:
        return Fault(kind, "done", after=dice.choice((0, 0, 0.01)))
    step = dice.choice([each for each in STEPS if resumes or each != "reopen"])
    return Fault(kind, step, number=dice.randrange(STEPS[step]), holds=dice.random() < 0.6)


def strike(fault: Fault, run: Run, here: Announcements, go: int, folder: Path, dice: random.Random) -> None:
    """Waits for the moment and strikes; lets go who waits at the step."""
    at = wait_for(fault, run, here)
    if at is not None:
        stopped: list[int] = []
        for place, word in enumerate(KINDS[fault.kind].split(", ")):
            if place:
                run.ends_within(dice.choice((0.0, 0.0, 0.02, 0.3)))
            if word.endswith("again"):  # who waits at the step may be the launcher
                os.write(go, b"." * 64)
            fault.struck |= act(fault, word, run, at, stopped, folder, dice)
    os.write(go, b"." * 64)


def wait_for(fault: Fault, run: Run, here: Announcements) -> int | None:
    """The process that has come to the step, 0: there is none that is; None: the run has ended before."""
    if fault.when == "spawned":
        return None if run.ends_within(fault.after) else 0
    if fault.when == "done":
        run.says("done")
        run.ends_within(fault.after)
        return 0
    if not here.wait(run):
        return None
    at = int(os.read(here.descriptor, 1 << 16).split()[0])
    if fault.when == "running":
        return None if run.ends_within(fault.after) else 0
    return at


def act(
    fault: Fault, word: str, run: Run, at: int, stopped: list[int], folder: Path, dice: random.Random
) -> bool:
    """One action; whether it met anybody."""
    action, whom = word.split()
    if action == "FULL":
        fill(folder / whom, dice.choice((0, 1 << 12, 1 << 14)))
        return True
    if whom == "again":  # of two signals that come before the first is heard, only one is
        until = monotonic() + PATIENCE_S
        while not run.ends_within(0.5) and monotonic() < until:
            send([run.pid], signal.Signals[f"SIG{action}"])
        fault.stops.append(action)
        return True
    if action == "CONT":
        send(stopped, signal.SIGCONT)
        return True
    family = run.family()
    workers = [pid for pid in family if pid != run.pid]
    found = {"launcher": [run.pid], "all": family, "one": family, "worker": workers}[whom]
    if whom in ("one", "worker") and found:
        found = [at if at in found and dice.random() < 0.6 else dice.choice(found)]
    if action == "LIMIT":
        limit = dice.choice((0, 1 << 10, 1 << 16))
        for pid in found:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))
        return bool(found)
    if action == "KILL":
        fault.killed += found
    elif action == "STOP":
        stopped += found
    elif run.pid in found:
        fault.met_python |= not fault.stops and not catches(run.pid, signal.SIGTERM)
        fault.stops.append(action)
    send(found, signal.Signals[f"SIG{action}"])
    return bool(found)


def send(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal, or ignores it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigCgt", "SigIgn"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


BALLAST = ".ballast"


def fill(folder: Path, left: int) -> None:
    """Takes all room of a file system but `left` bytes, or less than that if others write meanwhile."""
    with (folder / BALLAST).open("wb") as file:
        taken, step = 0, 1 << 20
        while step >= 1 << 12:
            room = os.statvfs(folder)
            try:
                if room.f_bavail * room.f_bsize - step < left:
                    raise OSError
                os.posix_fallocate(file.fileno(), taken, step)
                taken += step
            except OSError:
                step >>= 1
