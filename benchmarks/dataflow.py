"""Runs a topology by `actorstream launch` in processes of its own; reads what its meters and its report say.

A benchmark's topology is an app's file, or data: actor name -> table, as in a topology file, which is written to a
temporary one.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.job import LONGEST_SECONDS, ROOT, JobError, tail


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run left: the report of `--report`, and the notes that actors wrote into the folder `INTO`."""

    report: dict[str, Any]
    notes: list[dict[str, Any]]

    def rate(self) -> float:
        """Rows a second over all replicas of the meter: what came after each one's first batch, from the
        first meter's first batch to the last one's last."""
        meters = [note for note in self.notes if note["kind"] == "meter" and note["batches"] > 1]
        if not meters:
            raise JobError("no meter saw more than one batch: the run was too short")
        rows = sum(note["rows"] - note["first_rows"] for note in meters)
        begun, ended = min(note["begun_ns"] for note in meters), max(note["ended_ns"] for note in meters)
        return rows / ((ended - begun) / 1e9)

    def of(self, kind: str) -> dict[str, Any]:
        """The only note of a kind."""
        (found,) = (note for note in self.notes if note["kind"] == kind)
        return found


COMMAND = Path(sys.executable).with_name("actorstream")
Actors = Mapping[str, Mapping[str, Any]]
"""Actor name -> table."""
INTO = "{into}"
"""Stands for the folder of notes in the value of a key."""
INTERRUPTED = 130
PROGRESS = re.compile(r" *[\d.]+ s  [1-9]")
"""A line in which `launch` says how many rows its sources have made, if there are any."""


def launch(name: str, actors: Actors, *, seconds: float | None = None, **deploy: Any) -> Ran:
    """Runs a topology of these actors; otherwise like launch_file."""
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        into = Path(folder) / "notes"
        into.mkdir()
        topology = Path(folder) / f"{name}.toml"
        topology.write_text(toml(name, actors).replace(INTO, str(into)))
        report = launch_file(topology, seconds=seconds, **deploy).report
        return Ran(report, [json.loads(path.read_text()) for path in sorted(into.iterdir())])


def launch_file(
    topology: Path, *, sets: Mapping[str, Any] | None = None, seconds: float | None = None, **deploy: Any
) -> Ran:
    """Runs a topology to its end, or for `seconds` (see run_limited), after which its sources are asked to end.

    `sets` are keys as `--set` has them, `deploy` those of the deployment. Raises JobError with what it printed unless
    it exits with 0, or 130 where its time was limited.
    """
    given = {**(sets or {}), **{f"deploy.{key}": value for key, value in deploy.items()}}
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        report = Path(folder) / "report.json"
        command = [str(COMMAND), "launch", str(topology), "--report", str(report)]
        command += [part for key, value in given.items() for part in ("--set", f"{key}={inline(value)}")]
        code, said = run_limited(command, seconds)
        if code not in ((0,) if seconds is None else (0, INTERRUPTED)):
            raise JobError(f"{topology.stem} failed with exit code {code}; it said:\n{tail(said)}")
        if not report.exists():
            raise JobError(
                f"{topology.stem} was stopped after {seconds} s, before its actors ran: the machine is busy"
            )
        return Ran(json.loads(report.read_text()), [])


def run_limited(command: list[str], seconds: float | None) -> tuple[int, str]:
    """Exit code and standard error of a command that gets SIGTERM after `seconds`; JobError if it goes on for long.

    A run whose progress shows no row by then gets half as much time again from the line on that shows its first rows: on a busy
    machine a start may take longer than a run."""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        said = _Said(process.stderr)
        said.start()
        if seconds is not None and not _ended(process, seconds) and not said.rows.is_set():
            said.rows.wait(LONGEST_SECONDS)
            _ended(process, seconds / 2)
        if seconds is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
        if not _ended(process, LONGEST_SECONDS):
            process.kill()
            said.join()
            raise JobError(
                f"{command[2]} did not end within {LONGEST_SECONDS:.0f} s: {tail(''.join(said.lines))}"
            )
        said.join()
        return process.returncode, "".join(said.lines)


def _ended(process: subprocess.Popen[str], seconds: float) -> bool:
    """Whether the process ends within so many seconds. `Popen.wait` would look every 50 ms, on a core that is being measured."""
    if process.poll() is not None:
        return True
    descriptor = os.pidfd_open(process.pid)
    try:
        select.select([descriptor], [], [], seconds)
    finally:
        os.close(descriptor)
    return process.poll() is not None


class _Said(threading.Thread):
    """Reads the standard error of a command to its end. `rows`: set once a line of progress has shown a row, or at the end."""

    def __init__(self, stream: IO[str] | None) -> None:
        super().__init__(daemon=True)
        self.stream, self.lines, self.rows = stream, list[str](), threading.Event()

    def run(self) -> None:
        for line in self.stream or ():
            self.lines.append(line)
            if PROGRESS.match(line):
                self.rows.set()
        self.rows.set()


def toml(name: str, actors: Actors) -> str:
    """A topology file."""
    lines = [f"name = {inline(name)}"]
    for actor, keys in actors.items():
        lines.append(f"\n[actors.{actor}]")
        lines += [f"{key} = {inline(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def inline(value: Any) -> str:
    """A value as inline TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + " }"
    return json.dumps(str(value), ensure_ascii=False)
