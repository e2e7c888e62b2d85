"""Runs a topology by `actorstream launch` in processes of its own; reads what its meters and its report say.

A benchmark's topology is data: actor name -> table, as in a topology file. It is written to a temporary file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def launch(name: str, actors: Actors, **deploy: Any) -> Ran:
    """Runs the topology to its end; JobError with what it printed unless it exits with 0."""
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        into = Path(folder) / "notes"
        into.mkdir()
        topology, report = Path(folder) / f"{name}.toml", Path(folder) / "report.json"
        topology.write_text(toml(name, actors).replace(INTO, str(into)))
        command = [str(COMMAND), "launch", str(topology), "--report", str(report)]
        for key, value in deploy.items():
            command += ["--set", f"deploy.{key}={inline(value)}"]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise JobError(
                f"{name} did not end within {LONGEST_SECONDS:.0f} s: {tail(error.stderr)}"
            ) from error
        if done.returncode != 0:
            raise JobError(f"{name} failed with exit code {done.returncode}; it said:\n{tail(done.stderr)}")
        notes = [json.loads(path.read_text()) for path in sorted(into.iterdir())]
        return Ran(json.loads(report.read_text()), notes)


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
