"""Runs a topology file by the command line, its sinks led into a folder of the run. Compares nothing."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from actorstream.launch.process import die_with_parent
from actorstream.plan.compile import available
from actorstream.plan.registry import registry
from actorstream.topology.inputs import read_inputs
from actorstream.topology.load import load_deploy
from actorstream.verify.comparison import ReadLines
from actorstream.verify.deployments import Deployment, toml_text
from actorstream.verify.rows import parts_of, rows_of
from actorstream.verify.sinks import SinkOutput

if TYPE_CHECKING:
    from actorstream.topology.graph import Graph

STDOUT, STDERR, REPORT, CHECKPOINT = "stdout.txt", "stderr.txt", "report.json", "checkpoint"
SAID_LINES = 12
"""Of what a run that failed has said, the last so many are repeated."""


class Ran(msgspec.Struct):
    """What one run has left: rows by sink (or part of one), files by the same names, or the error that ended it."""

    seconds: float
    rows: dict[str, ReadLines] = {}
    files: dict[str, Path] = {}
    error: str | None = None
    busiest: int = 0
    """Rows into or out of the actor that had the most."""


class RunTarget(Protocol):
    """A topology that can be run under a deployment again and again."""

    memory: bool
    """Whether events of in-memory sinks can be had."""
    no_console: str
    """Why the lines of console-sinks are not compared; "": they are."""

    def graph(self, deployment: Deployment) -> Graph:
        """The checked graph; ConfigurationError lists what is wrong with it under this deployment."""

    def command(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path) -> str:
        """What runs it once more."""

    def run(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path, timeout: float) -> Ran:
        """One run; its files come into the folder."""


class FileTarget:
    """A topology file, run by `actorstream launch`.

    Args:
        topology, deploy, sets: as for that command."""

    memory = False
    no_console = ""

    def __init__(self, topology: Path, deploy: Path | None = None, sets: Sequence[str] = ()) -> None:
        self.topology, self.deploy, self.sets = topology, deploy, list(sets)

    def graph(self, deployment: Deployment) -> Graph:
        sets = [*self.sets, *deployment.sets()]
        return read_inputs(self.topology, self.deploy, sets, registry=registry(), available=available()).graph

    def arguments(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path) -> list[str]:
        """Behind `actorstream`."""
        found = ["launch", str(self.topology)]
        if self.deploy is not None:
            found += ["--deploy", str(self.deploy)]
        settings = deployment.settings()
        short = {"deploy.workers": "--workers", "deploy.transport": "--transport"}
        for key, option in short.items():
            if key in settings:
                found += [option, str(settings[key])]
        sets = [f"{key}={toml_text(value)}" for key, value in settings.items() if key not in short]
        paths = [f"actors.{each.sink}.path={toml_text(str(path))}" for each, path in _led(outputs, folder)]
        if load_deploy(self.deploy, self.sets).checkpoint is not None:
            paths.append(f"deploy.checkpoint.path={toml_text(str(folder.absolute() / CHECKPOINT))}")
        return found + [part for each in (*self.sets, *sets, *paths) for part in ("--set", each)]

    def command(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path) -> str:
        return shlex.join(["actorstream", *self.arguments(deployment, outputs, folder)])

    def run(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path, timeout: float) -> Ran:
        folder.mkdir(parents=True)
        return self.finish(deployment, outputs, folder, timeout)

    def finish(
        self,
        deployment: Deployment,
        outputs: Sequence[SinkOutput],
        folder: Path,
        timeout: float,
        *more: str,
    ) -> Ran:
        """One run in a folder that is there; `more`: further words of its command line."""
        command = [sys.executable, "-m", "actorstream", *self.arguments(deployment, outputs, folder)]
        command += ["--quiet", "--report", str(folder / REPORT), *more]
        started = monotonic()
        with (folder / STDOUT).open("wb") as out, (folder / STDERR).open("wb") as err:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                process_group=0,
                preexec_fn=partial(die_with_parent, os.getpid(), ""),  # also where this process is killed
            )
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                used = _processor_time(process.pid)  # tells a run that hangs from one that is slow
                _kill(process)
                how = f"within {timeout:.0f} s, in which it used {used:.1f} s of processor time"
                return Ran(monotonic() - started, error=f"did not end {how}\n{said(folder)}")
            except BaseException:
                _kill(process)
                raise
        seconds = monotonic() - started
        if status != 0:
            return Ran(seconds, error=f"exit status {status}\n{said(folder)}")
        ran = Ran(seconds, busiest=busiest(json.loads((folder / REPORT).read_text())))
        for output, path in _led(outputs, folder):
            add_files(ran, output, path)
        for output in outputs:
            if output.kind == "console":
                ran.files[output.sink] = folder / STDOUT
                ran.rows[output.sink] = rows_of([folder / STDOUT], output)
        return ran


def add_files(ran: Ran, output: SinkOutput, path: Path) -> None:
    """Adds the rows of a sink that writes files."""
    parts = parts_of(path)
    if output.each and path.is_dir():
        for part in parts:
            ran.rows[f"{output.sink}/{part.name}"] = rows_of([part], output)
            ran.files[f"{output.sink}/{part.name}"] = part
        return
    ran.rows[output.sink] = rows_of(parts, output)
    ran.files[output.sink] = path


def _led(outputs: Sequence[SinkOutput], folder: Path) -> list[tuple[SinkOutput, Path]]:
    return [(each, led_to(each, folder)) for each in outputs if each.kind == "file"]


def led_to(output: SinkOutput, folder: Path) -> Path:
    """Where a sink writes in place of its own path: the name stays, since its ending may say how it is compressed."""
    return folder.absolute() / output.sink / output.name


def busiest(report: dict[str, Any]) -> int:
    """Rows into or out of the actor of a report that had the most."""
    moved = (
        max(sum(row["in"] for row in replicas), sum(row["out"] for row in replicas))
        for replicas in report["actors"].values()
    )
    return max(moved, default=0)


def said(folder: Path) -> str:
    """The last lines of what a run has said."""
    lines = (folder / STDERR).read_text(errors="replace").rstrip().splitlines()
    return "\n".join(lines[-SAID_LINES:])


def _processor_time(group: int) -> float:
    """Seconds that the processes of a group which are alive have used so far."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            fields = (
                path.read_text().rpartition(")")[2].split()
            )  # from the third field on: state, parent, group
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a run and its workers at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
