"""Runs a topology file with checkpoints, kills processes of the run at random moments, and lets `--resume` go on."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

from actorstream.launch.process import die_with_parent
from actorstream.topology.load import load_deploy
from actorstream.verify.deployments import Deployment
from actorstream.verify.launches import CHECKPOINT, STDERR, FileTarget, Ran, said
from actorstream.verify.sinks import SinkOutput

if TYPE_CHECKING:
    from actorstream.topology.graph import Graph

EVERY = ("deploy.checkpoint.path=state", "deploy.checkpoint.every=50ms")
"""Checkpoints of a deployment that has none."""
LOOK_S = 0.002
ENDING_S = 30.0
"""How long what is left of a run may take to end."""


class KilledTarget:
    """A topology file whose runs, but for the baseline, are killed `kills` times each.

    Args:
        topology, deploy, sets: as of `FileTarget`. seed: decides when, and which process.

    Attributes:
        struck: processes that were killed so far."""

    memory = False
    no_console = "a run that goes on may show lines twice"

    def __init__(
        self, topology: Path, deploy: Path | None, sets: Sequence[str], kills: int, seed: int
    ) -> None:
        has_checkpoints = load_deploy(
            deploy, [each for each in sets if each.startswith("deploy.")]
        ).checkpoint
        self.inner = FileTarget(topology, deploy, [*sets, *(() if has_checkpoints else EVERY)])
        self.kills, self.seed = kills, seed
        self.struck = 0
        self._seconds = 1.0

    @property
    def note(self) -> str:
        return f"{self.struck} processes were killed, and --resume went on"

    def graph(self, deployment: Deployment) -> Graph:
        return self.inner.graph(deployment)

    def command(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path) -> str:
        return self.inner.command(deployment, outputs, folder)

    def run(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path, timeout: float) -> Ran:
        if not deployment.number:
            ran = self.inner.run(deployment, outputs, folder, timeout)
            self._seconds = ran.seconds
            return ran
        folder.mkdir(parents=True)
        draw = Random(f"{self.seed} {deployment.number}")
        words = [sys.executable, "-m", "actorstream", *self.inner.arguments(deployment, outputs, folder)]
        started = monotonic()
        for _ in range(self.kills):
            error = self._killed([*words, "--quiet", "--resume"], folder, draw, started + timeout)
            if error is not None:
                return Ran(monotonic() - started, error=error)
        ran = self.inner.finish(deployment, outputs, folder, timeout, "--resume")
        ran.seconds = monotonic() - started
        return ran

    def _killed(self, command: list[str], folder: Path, draw: Random, end: float) -> str | None:
        """Starts a run and kills a process of it, unless it has ended before; what is wrong, or None."""
        with (folder / STDERR).open("wb") as err:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                process_group=0,
                preexec_fn=partial(die_with_parent, os.getpid(), ""),  # also where this process is killed
            )
        self._wait(process, folder / CHECKPOINT, draw, end)
        if process.poll() is not None:
            return None if process.returncode == 0 else f"exit status {process.returncode}\n{said(folder)}"
        family = {pid: os.pidfd_open(pid) for pid in [process.pid, *_descendants(process.pid)] if _lives(pid)}
        try:
            chosen = draw.choice([pid for pid in family if _is_python(pid)] or [process.pid])
            signal.pidfd_send_signal(family[chosen], signal.SIGKILL)
            self.struck += 1
            end = monotonic() + ENDING_S
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDING_S)
            left = [pid for pid, descriptor in family.items() if not _ends(descriptor, end)]
            for pid in left:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(family[pid], signal.SIGKILL)
            process.wait()
        finally:
            for descriptor in family.values():
                os.close(descriptor)
        if left:
            return f"{len(left)} of its processes lived {ENDING_S:g} s after one was killed\n{said(folder)}"
        return None

    def _wait(self, process: subprocess.Popen[bytes], store: Path, draw: Random, end: float) -> None:
        """Waits until some checkpoints were made, or for some time."""
        by_checkpoints = draw.random() < 0.6
        more = draw.randint(1, 3)
        until = monotonic() + draw.uniform(0, 1.5 * self._seconds)
        before = _checkpoints(store)
        while process.poll() is None and monotonic() < end:
            if len(_checkpoints(store) - before) >= more if by_checkpoints else monotonic() >= until:
                return
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)


def _checkpoints(store: Path) -> set[str]:
    return {path.name for path in store.glob("checkpoint-*")}


def _descendants(root: int) -> list[int]:
    """Children of a process, their children, and so on."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.parent.name))
    found = list(children.get(root, []))
    for pid in found:
        found += children.get(pid, [])
    return found


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _is_python(pid: int) -> bool:
    """Whether it is a process of the run itself, and none of those that start ranks."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(os.fsencode(sys.executable))
    return False


def _ends(descriptor: int, end: float) -> bool:
    return bool(select.select([descriptor], [], [], max(0.0, end - monotonic()))[0])
