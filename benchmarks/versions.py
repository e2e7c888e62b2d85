"""Compares this version of actorstream with another one, a checkout with an environment of its own. Each version runs its own
probes by its own interpreter, probe by probe in turns, so that a machine that gets slower or faster meets both. No measuring
here."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.job import ROOT
from benchmarks.record import Record, read_records
from benchmarks.suite import PAIRED, Suite

TIMES = "times the other"
ROUNDS = 3
UNKNOWN = 2
"""Exit code of a version that has no suite or case of that name."""


class VersionError(Exception):
    """A checkout cannot run the suites, or has no case in common with this one."""


class FailedError(VersionError):
    """A probe failed in the checkout `place`."""

    def __init__(self, place: Path, message: str) -> None:
        super().__init__(message)
        self.place = place


class Part(NamedTuple):
    """A probe of a suite, named by its cases. One version measures it, then the other one does."""

    suite: str
    cases: tuple[str, ...]

    def has(self, record: Record) -> bool:
        """Whether a figure is of this probe; the cases that it is compared with come along."""
        return record.suite == self.suite and record.case.removesuffix(PAIRED) in self.cases


def parts(suites: Sequence[Suite]) -> list[Part]:
    """The probes of suites, in their order."""
    return [
        Part(suite.name, tuple(case.name for case in probe.cases))
        for suite in suites
        for probe in suite.probes
    ]


def compare(
    other: Path,
    asked: Sequence[Part],
    *,
    quick: bool = True,
    rounds: int = ROUNDS,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """The cases that both versions have: how many times as good as the other's each figure is here, with the least and the
    greatest of the rounds. A smaller time counts as better, as does a greater rate. `progress` is told which probes failed in
    the other version; they are left out.

    VersionError: a version cannot be run, a probe fails here, or no case is in both.
    """
    for place in (ROOT, other):
        interpreter(place)
    found: dict[tuple[str, str], list[float]] = {}
    unknown: list[str] = []
    left = list(asked)
    for number in range(rounds):
        turns = (ROOT, other) if number % 2 == 0 else (other, ROOT)
        for part in list(left):
            try:
                first, second = (measured(place, part, quick, unknown.append) for place in turns)
            except FailedError as error:
                if error.place == ROOT:
                    raise
                unknown.append(str(error))
                progress(f"not compared: {error}")
                left.remove(part)
                for key in [each for each in found if each[0] == part.suite and each[1] in part.cases]:
                    del found[key]
                continue
            own, others = (first, second) if number % 2 == 0 else (second, first)
            for key in own.keys() & others.keys():
                found.setdefault(key, []).append(ratio(own[key], others[key]))
        progress(f"round {number + 1} of {rounds}: {len(found)} cases of both versions")
    if not found:
        names = ", ".join(dict.fromkeys(part.suite for part in asked))
        said = f"; it said:\n{unknown[-1]}" if unknown else ""
        raise VersionError(f"{other}: none of its cases of {names} is called like one here{said}")
    return [
        Record(suite, case, median(ratios), TIMES, len(ratios), min(ratios), max(ratios))
        for (suite, case), ratios in sorted(found.items())
    ]


def ratio(own: Record, other: Record) -> float:
    """How many times as good a figure is as the other version's."""
    if own.unit.endswith("/s") or own.unit == "times":
        return own.value / other.value
    return other.value / own.value


def measured(
    place: Path, part: Part, quick: bool, unknown: Callable[[str], None] = lambda said: None
) -> dict[tuple[str, str], Record]:
    """The figures of a probe in a checkout, by suite and case. None if it has no such probe: `unknown` is told what it said."""
    with tempfile.TemporaryDirectory(prefix="versions-") as folder:
        records = Path(folder) / "records.json"
        command = [interpreter(place), "-m", "benchmarks", part.suite, "--json", str(records)]
        command += ["--quick"] if quick else []
        command += ["--only", ",".join(part.cases)]
        ran = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if ran.returncode == UNKNOWN:
            unknown(ran.stderr[-2000:])
            return {}
        if ran.returncode:
            said = f"{place}: {' '.join(command[1:])} failed:\n{ran.stderr[-2000:]}"
            raise FailedError(place, said)
        return {(record.suite, record.case): record for record in read_records(records) if part.has(record)}


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
