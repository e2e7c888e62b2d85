"""The loops of `batch-cost` do what the engine does."""

from __future__ import annotations

import numpy as np

from actorstream.connectors.generator import GeneratorSource
from benchmarks.loops.batch_cost import costs, kernels_of, unit_of

ROWS = 100


def views(rows: int) -> int:
    source = GeneratorSource(preset="ysb", count=rows)
    source.open(source.partitions())
    batch = source.read(rows)
    assert batch is not None
    return int((batch["event_type"] == 0).sum())


def test_the_bare_kernels_count_the_views_of_the_rows_that_they_make() -> None:
    unit = unit_of(ROWS)
    run, kept = kernels_of(unit, ROWS)
    run(7)
    panes = next(each.actor for each in unit.members if each.name == "windows.local").cells.panes  # type: ignore[attr-defined]
    counted = 0
    for at in range(panes.count):
        most = panes.select(at)[-1]
        cells = np.empty((most, panes.words), np.uint64)
        found = panes.take(np.empty(most, np.uint32), cells)
        counted += int(cells[:found, 0].sum())
    assert kept
    assert counted == views(ROWS) + views(7 * ROWS), "the unit has made the first batch itself"


def test_each_way_has_a_cost() -> None:
    assert all(each > 0 for each in costs(ROWS, 40))
