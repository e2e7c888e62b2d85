"""Takes apart what a ScaleGate gives to a reader."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from actorstream.native._core import lib

from actorstream.native.scalegate import ScaleGate, Stretches


class Stretch(NamedTuple):
    """Rows of one run that go next: `rows` from `first` on of the run that was added with `reference`."""

    reference: int
    source: int
    first: int
    rows: int
    ends: bool
    """They are the run's last."""


def taken(gate: ScaleGate, reader: int, into: Stretches | None = None) -> list[Stretch] | None:
    """Returns the stretches that the reader gets next, mixed ones taken apart; None if it has got all rows."""
    into = into or Stretches(600, 10_000)
    return stretches_of(into) if gate.give(reader, into) else None


def stretches_of(given: Stretches) -> list[Stretch]:
    """Stretches that were given, the mixed ones taken apart."""
    found, entries, tags = list[Stretch](), iter(given.memory[0 : given.count]), iter(given.tags)
    for each in entries:
        if each.source != lib.AS_MERGE_MIXED:
            found.append(Stretch(each.reference, each.source, each.first, each.rows, bool(each.ends)))
            continue
        runs = {run.source: run for run in (next(entries) for _ in range(each.first))}
        at = {source: run.first for source, run in runs.items()}
        assert sum(run.rows for run in runs.values()) == each.rows
        for source, same in groupby(next(tags) for _ in range(each.rows)):
            run, first, rows = runs[source], at[source], len(list(same))
            at[source] += rows
            ends = bool(run.ends) and at[source] == run.first + run.rows
            found.append(Stretch(run.reference, source, first, rows, ends))
        assert all(at[source] == run.first + run.rows for source, run in runs.items())
    return found
