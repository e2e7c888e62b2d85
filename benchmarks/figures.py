"""`python -m benchmarks.figures --json F [SUITE...] [--quick]`: measures the figures of the README and of docs/benchmarks.md, and
writes them there.

Each row of the table is a text with figures of one suite: `{case}` is a case's median, `{case/other}` the ratio of two.
The suites run one after the other, only the cases that the table needs, with the defaults. Their records are kept in F; if
suites are named, only these are measured, and the figures of the others are those of F."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import registry
from benchmarks.harness import run_suite
from benchmarks.job import ROOT
from benchmarks.record import Record, read_records, write_records
from benchmarks.suite import Settings
from benchmarks.table import figure

PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
_CASE = re.compile(r"\{([^}/]+)(?:/([^}]+))?\}")
Medians = Mapping[tuple[str, str], float]
"""(suite, case) -> the median."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        what: its first column. suite: whose figures it has. text: its second column, with cases in braces.
        leaves_out: what is not measured. short: whether the README has the row too."""

    what: str
    suite: str
    text: str
    leaves_out: str
    short: bool = False

    @property
    def cases(self) -> list[str]:
        """The cases that the row needs, in the order of the text."""
        return [case for pair in _CASE.findall(self.text) for case in pair if case]

    def filled(self, medians: Medians) -> str:
        """The text with its figures; KeyError where one was not measured."""

        def value(match: re.Match[str]) -> str:
            found = medians[self.suite, match[1]]
            return figure(found) if match[2] is None else f"{found / medians[self.suite, match[2]]:.2f}"

        return _CASE.sub(value, self.text)


ROWS = (
    Row(
        "Word count, one result per word, 2 workers",
        "word-count",
        "{per-event-2} words/s with a Python call per event, {batch-2} with NumPy and Arrow, {native-2} with the app's own C",
        "reading the book from disk, writing the results",
        True,
    ),
    Row(
        "Python calls of `on_event` on one core",
        "python-map",
        "{event-3-fields-return} events/s with 3 fields, {event-3-fields-return/bare-loop-return} times a hand-written loop; "
        "{event-int} with one integer",
        "any work in the hook, other processes",
        True,
    ),
    Row(
        "Yahoo benchmark, 2 workers",
        "ysb",
        "{native-2} events/s with integers, {native-2/kernels-generated-2} times four bare C kernels; {strings-2} with UUID "
        "texts; {bytes136-2} with events of 136 bytes",
        "parsing: a generator makes the events",
        True,
    ),
    Row(
        "Repartitioning by key between 2 workers",
        "exchange",
        "{keyed-2to2} rows/s of 5 int64 columns",
        "any work before or behind it",
        True,
    ),
    Row(
        "Handing batches to another process",
        "ipc",
        "{hand-over-reference} batches/s; {hand-over-filled} rows/s of 40 bytes when the source writes in place, "
        "{hand-over-filled/c-ring} times a bare C ring, {numpy-sum/c-ring-sum} where the consumers of both sum a column",
        "any other work on the rows",
    ),
    Row(
        "Control actors",
        "actors",
        "{tell} `tell`/s in a process, {tell-ipc} between processes; `ask` {ask} µs, p99 {ask-p99} µs",
        "any work in the hook",
    ),
    Row(
        "Reading files, divided by pyarrow's rate with two threads",
        "connectors",
        "CSV {csv-read/pyarrow-csv-read}, JSON Lines {jsonl-read/pyarrow-jsonl-read}, Parquet "
        "{parquet-read/pyarrow-parquet-read}",
        "the disk: files are in the page cache",
    ),
    Row(
        "One event between processes",
        "latency",
        'p50 {parked-p50} µs, p99 {parked-p99} µs where workers sleep while they wait (`wait = "park"`); {spin-p50} µs, '
        '{spin-p99} µs where they poll (`"spin"`)',
        "load: both processes do nothing else",
        True,
    ),
)
DEFAULTS = tuple(
    Row(
        f"`actorstream launch {file} --workers 2`",
        "defaults",
        f"{{{name}-defaults}} {unit} | {{{name}-tuned}} | {{{name}-defaults-paired}}",
        "",
    )
    for name, file, unit in (
        ("ysb", "apps/ysb/bench.toml", "events/s"),
        ("ysb-star", "apps/ysb/star-bench.toml", "events/s"),
        ("swa", "apps/ysb/swa-bench.toml", "events/s"),
        ("word-count", "apps/word_count/native.toml", "lines/s"),
    )
)


def tables(medians: Medians) -> dict[str, list[str]]:
    """Heading line -> the lines of the table under it, as Markdown."""
    full = ["| what | figure | what it leaves out | suite |", "|---|---|---|---|"]
    full += [f"| {row.what} | {row.filled(medians)} | {row.leaves_out} | `{row.suite}` |" for row in ROWS]
    short = ["| what, on two cores | figure |", "|---|---|"]
    short += [f"| {row.what} | {row.filled(medians)} |" for row in ROWS if row.short]
    typed = ["| as typed | with the defaults | with the app's `deploy.toml` | ratio |", "|---|---|---|---|"]
    typed += [f"| {row.what} | {row.filled(medians)} |" for row in DEFAULTS]
    return {found[0]: found for found in (full, short, typed)}


def replaced(text: str, found: Mapping[str, Sequence[str]]) -> str:
    """A page with the tables that begin with these heading lines replaced; a page without such a line stays as it is."""
    lines: list[str] = []
    skips = False
    for line in text.splitlines():
        if line in found:
            lines += found[line]
            skips = True
        skips = skips and line.startswith("|")
        if not skips:
            lines.append(line)
    return "\n".join(lines) + "\n"


def cases_of(suite: str) -> list[str]:
    """The cases that the tables need of a suite; those of `defaults` are all needed."""
    rows = [row for row in (*ROWS, *DEFAULTS) if row.suite == suite]
    return [case.removesuffix("-paired") for row in rows for case in row.cases]


def main(arguments: list[str] | None = None) -> int:
    """Measures, keeps the records, and writes the tables once all figures are there."""
    options = parser().parse_args(arguments)
    names = list(dict.fromkeys(row.suite for row in (*ROWS, *DEFAULTS)))
    kept: dict[str, list[Record]] = {}
    for record in read_records(options.json) if options.json.exists() else ():
        kept.setdefault(record.suite, []).append(record)
    settings = Settings(quick=options.quick)
    for name in options.suites or names:
        suite = registry.load(name, settings).only(cases_of(name))
        kept[name] = run_suite(suite, settings, progress=partial(print, file=sys.stderr))
        write_records(options.json, [record for records in kept.values() for record in records])
    missing = [name for name in names if name not in kept]
    if missing:
        print(f"not measured yet: {', '.join(missing)}", file=sys.stderr)
        return 0
    medians = {(record.suite, record.case): record.value for each in kept.values() for record in each}
    for page in (PAGE, README):
        page.write_text(replaced(page.read_text(), tables(medians)))
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    made.add_argument("suites", nargs="*", metavar="SUITE", help="those to measure; all that the tables need")
    made.add_argument("--quick", action="store_true", help="three short rounds")
    made.add_argument("--json", type=Path, required=True, metavar="F", help="where the records are kept")
    return made


if __name__ == "__main__":
    sys.exit(main())
