"""`python -m benchmarks SUITE... [--peers NAME,...] [--only GLOB,...] [--quick] --json F`: measure, print, write, draw."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import environments, registry
from benchmarks.harness import MeasureError, cases, run_suite
from benchmarks.job import JobError
from benchmarks.machine import facts
from benchmarks.plots import bars, lines
from benchmarks.record import Record, write_records
from benchmarks.suite import Settings, Suite
from benchmarks.table import facts_table, records_table
from benchmarks.versions import ROUNDS, VersionError, compare, parts

if TYPE_CHECKING:
    from rich.console import Console

RESULTS = Path(__file__).parent / "results"
FILE_WIDTH = 132


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 if everything was measured, 1 if a run failed, 2 if a name is unknown or a peer cannot be
    installed."""
    from rich.console import Console

    options = parser().parse_args(arguments)
    settings = Settings(quick=options.quick, peers=tuple(name for name in options.peers.split(",") if name))
    console, errors = Console(), Console(stderr=True)
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    try:
        for name in settings.peers:
            environments.peer(name)
        for name in settings.peers:
            errors.print(f"peer {name}: installing unless it is there")
            environments.install(name)
        suites = [registry.load(name, settings) for name in registry.asked_for(options.suites)]
        if options.only:
            suites = only(suites, options.only.split(","))
    except (registry.UnknownNameError, environments.PeerError) as error:
        errors.print(str(error), style="red", markup=False)
        return 2
    console.print(facts_table(facts()))
    if options.against is not None:
        return against(options, suites, console, errors)
    found: list[Record] = []
    for suite in suites:
        try:
            records = run_suite(suite, settings, progress=partial(errors.print, style="dim", markup=False))
        except (JobError, MeasureError) as error:
            errors.print(f"suite {suite.name!r}: {error}", style="red", markup=False)
            return 1
        found += records
        if options.json is not None:
            write_records(options.json, found)
        console.print(records_table(suite.name, records))
        for note in suite.notes:
            console.print(f"  {note if isinstance(note, str) else note()}", markup=False)
        medians = {record.case: record.value for record in records}
        if suite.summary is not None:
            for line in suite.summary(medians):
                console.print(f"  {line}", markup=False)
        if not options.only:
            draw(suite.name, bars(suite.name, records))
        if suite.curves is not None:
            draw(f"{suite.name}-lines", lines(suite.name, suite.curves()))
        for name, picture in suite.pictures(medians).items() if suite.pictures is not None else ():
            draw(name, picture)
    return 0


def against(options: argparse.Namespace, suites: list[Suite], console: Console, errors: Console) -> int:
    """Prints and writes how many times as good as another version's the figures are here."""
    try:
        records = compare(
            options.against.resolve(),
            parts(suites),
            quick=options.quick,
            rounds=options.rounds,
            progress=partial(errors.print, style="dim", markup=False),
        )
    except VersionError as error:
        errors.print(str(error), style="red", markup=False)
        return 1
    if options.json is not None:
        write_records(options.json, records)
    console.print(records_table(f"against {options.against}", records))
    return 0


def only(suites: list[Suite], patterns: list[str]) -> list[Suite]:
    """Some cases of the suites, and no suite without any; UnknownNameError if none is called like that."""
    found = [part for part in (suite.only(patterns) for suite in suites) if part.probes]
    if not found:
        names = [case.name for suite in suites for case in cases(suite)]
        raise registry.UnknownNameError("case", ",".join(patterns), names)
    return found


def draw(name: str, picture: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.svg").write_text(picture)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    made.add_argument("suites", nargs="+", metavar="SUITE", help=f"one of {', '.join(registry.SUITES)}")
    made.add_argument("--peers", default="", metavar="NAME,...", help=f"of {', '.join(environments.PEERS)}")
    made.add_argument("--quick", action="store_true", help="three short rounds: about a minute a suite")
    made.add_argument(
        "--only",
        default="",
        metavar="GLOB,...",
        help="cases called like that, and those they need or are compared with; no plots",
    )
    made.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="compare with another version: a checkout with an environment in .venv; both run in turns",
    )
    made.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="N", help="of --against; %(default)s unless set"
    )
    made.add_argument("--json", type=Path, metavar="F", help="write the records here")
    return made


if __name__ == "__main__":
    sys.exit(main())
