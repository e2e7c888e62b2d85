"""The harness: runs the probes of a suite in alternating rounds and takes medians. Knows no suite, no
engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from benchmarks.record import Record
from benchmarks.suite import PAIRED, Case, Probe, Settings, Suite

MOST_ROUNDS = 7
"""Of a full run."""
FEWEST_ROUNDS = 3
"""Also of a quick run, and of peers: the median of three leaves out one bad round, that of one or two does not."""
FULL_SECONDS = 150.0
"""Rounds of a full run beyond FEWEST_ROUNDS must fit into this time."""
TIMES = "times"
"""The unit of what was compared round by round."""


class MeasureError(Exception):
    """A suite or a probe is wrong: two cases of one name, an unknown `against`, a run without its values."""


def run_suite(
    suite: Suite,
    settings: Settings,
    *,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """Runs rounds A B C, A B C, ... so that drift of the machine meets every case, until the time is spent.

    FEWEST_ROUNDS are run in any case, and no more under --quick. A further round is only begun if one like the longest
    so far still fits, or if a probe asks for it (`Probe.rounds`), and then only those that ask take part. The time of peers is
    not counted, and they take part in the first FEWEST_ROUNDS only; a probe may take part in fewer.
    """
    check(suite)
    values: dict[str, list[float]] = {case.name: [] for case in cases(suite)}
    spent = longest = 0.0
    most = FEWEST_ROUNDS if settings.quick else MOST_ROUNDS
    asked = max((probe.rounds or 0 for probe in suite.probes), default=0)
    done = 0
    while done < most:
        of_round, fits = 0.0, done < FEWEST_ROUNDS or spent + longest <= FULL_SECONDS
        if not fits and done >= asked:
            break
        for probe in suite.probes:
            if probe.peer is not None and done >= FEWEST_ROUNDS:
                continue
            if probe.rounds is None and not fits:
                continue
            if probe.rounds is not None and done >= probe.rounds:
                continue
            begun = clock()
            for case, value in measure(suite, probe):
                values[case.name].append(value)
                progress(f"{suite.name} {case.name}: round {done + 1}, {value:,.6g} {case.unit}")
            if probe.peer is None:
                of_round += clock() - begun
        spent += of_round
        longest = max(longest, of_round)
        done += 1
    return records(suite, values)


def measure(suite: Suite, probe: Probe) -> list[tuple[Case, float]]:
    """One run of a probe."""
    found = probe.run()
    if len(found) != len(probe.cases):
        names = ", ".join(case.name for case in probe.cases)
        raise MeasureError(f"suite {suite.name!r}: a run gave {len(found)} values for the cases {names}")
    return [(case, float(value)) for case, value in zip(probe.cases, found)]


def records(suite: Suite, values: dict[str, list[float]]) -> list[Record]:
    """Medians and ratios of the values by case; behind a paired one the ratios within its rounds."""
    medians = {name: median(found) for name, found in values.items()}
    made = []
    for case in cases(suite):
        ratio = medians[case.name] / medians[case.against] if case.against is not None else None
        made.append(record(suite, case.name, values[case.name], case.unit, case.against, ratio))
        if case.paired and case.against is not None:
            within = [one / other for one, other in zip(values[case.name], values[case.against])]
            made.append(record(suite, paired(case), within, TIMES))
    return made


def record(
    suite: Suite,
    case: str,
    found: list[float],
    unit: str,
    against: str | None = None,
    ratio: float | None = None,
) -> Record:
    return Record(
        suite=suite.name,
        case=case,
        value=median(found),
        unit=unit,
        runs=len(found),
        min=min(found),
        max=max(found),
        against=against,
        ratio=ratio,
    )


def paired(case: Case) -> str:
    """The name of the figure that is the median of its rounds' ratios."""
    return case.name + PAIRED


def cases(suite: Suite) -> list[Case]:
    return [case for probe in suite.probes for case in probe.cases]


def check(suite: Suite) -> None:
    """MeasureError unless names are unique, every `against` is a case of the suite, whatever is paired has one, and the runs
    that a probe needs are before it."""
    names = [case.name for case in cases(suite)]
    figures = names + [paired(case) for case in cases(suite) if case.paired]
    twice = sorted({name for name in figures if figures.count(name) > 1})
    if twice:
        raise MeasureError(f"suite {suite.name!r}: more than one case is called {', '.join(twice)}")
    for case in cases(suite):
        if case.against is not None and case.against not in names:
            raise MeasureError(
                f"suite {suite.name!r}: case {case.name} is against {case.against}, not one of its cases"
            )
        if case.paired and case.against is None:
            raise MeasureError(f"suite {suite.name!r}: case {case.name} is paired, but against nothing")
    before: set[str] = set()
    for probe in suite.probes:
        if missing := sorted(set(probe.needs) - before):
            raise MeasureError(
                f"suite {suite.name!r}: case {probe.cases[0].name} needs {', '.join(missing)}, which is no case before it"
            )
        before.update(case.name for case in probe.cases)
