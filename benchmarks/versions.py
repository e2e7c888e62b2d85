"""Compares this version of actorstream with another one, a checkout with an environment of its own. Each version runs its own
suites by its own interpreter, in turns, so that drift of the machine meets both. No measuring here."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.job import ROOT
from benchmarks.record import Record, read_records

TIMES = "times the other"
ROUNDS = 3


class VersionError(Exception):
    """A checkout cannot run the suites, or has no case in common with this one."""


def compare(
    other: Path,
    suites: Sequence[str],
    *,
    only: str = "",
    quick: bool = True,
    rounds: int = ROUNDS,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """The cases that both versions have: how many times as good as the other's each figure is here, with the least and the
    greatest of the rounds. A smaller time counts as better, as does a greater rate.

    VersionError: a version cannot be run, or no case is in both.
    """
    for place in (ROOT, other):
        interpreter(place)
    found: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds):
        here, there = (ROOT, other) if number % 2 == 0 else (other, ROOT)
        first, second = (measured(place, suites, only, quick) for place in (here, there))
        own, others = (first, second) if here is ROOT else (second, first)
        for key in own.keys() & others.keys():
            found.setdefault(key, []).append(ratio(own[key], others[key]))
        progress(f"round {number + 1} of {rounds}: {len(found)} cases of both versions")
    if not found:
        raise VersionError(f"{other}: none of its cases of {', '.join(suites)} is called like one here")
    return [
        Record(suite, case, median(ratios), TIMES, len(ratios), min(ratios), max(ratios))
        for (suite, case), ratios in sorted(found.items())
    ]


def ratio(own: Record, other: Record) -> float:
    """How many times as good a figure is as the other version's."""
    if own.unit.endswith("/s") or own.unit == "times":
        return own.value / other.value
    return other.value / own.value


def measured(place: Path, suites: Sequence[str], only: str, quick: bool) -> dict[tuple[str, str], Record]:
    """The figures of the version in a checkout, by suite and case."""
    with tempfile.TemporaryDirectory(prefix="versions-") as folder:
        records = Path(folder) / "records.json"
        command = [interpreter(place), "-m", "benchmarks", *suites, "--json", str(records)]
        command += ["--quick"] if quick else []
        command += ["--only", only] if only else []
        ran = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise VersionError(f"{place}: {' '.join(command[1:])} failed:\n{ran.stderr[-2000:]}")
        return {(record.suite, record.case): record for record in read_records(records)}


def interpreter(place: Path) -> str:
    """The Python of the environment of a checkout; VersionError: it has none."""
    python = place / ".venv" / "bin" / "python"
    if python.exists():
        return str(python)
    if place == ROOT:
        return sys.executable
    raise VersionError(
        f"{python} does not exist; make an environment there: uv venv && uv pip install -e '.[dev]'"
    )
