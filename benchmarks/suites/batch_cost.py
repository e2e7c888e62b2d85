"""`batch-cost`: what a batch costs the engine above its kernels, and what small batches leave of the kernels' rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks import job
from benchmarks.suite import Case, Probe, Settings, Suite, probe
from benchmarks.yahoo import EVENTS, YSB, kernels, native

ROWS = (256, 4096)
SIZES = (256, 1024, 4096)
WANTED = {256: 0.25, 1024: 0.5, 4096: 0.7}
"""Rows of a batch -> the least share of the bare kernels' rate."""
BATCH = "µs/batch"


def above(rows: int, batches: int) -> Sequence[float]:
    """The kernels, and what the engine costs above them: amortised, alone, by hooks."""
    of_kernels, many, lone, hooks = job.call("benchmarks.loops.batch_cost:costs", rows=rows, batches=batches)
    return of_kernels, many - of_kernels, lone - of_kernels, hooks - of_kernels


def merged(rows: int, batches: int) -> Sequence[float]:
    """A batch of a line of operators, of two sources before a union, and of two branches of one source before a union; in
    turns of many batches, then in turns of one."""
    return job.call("benchmarks.loops.union_cost:costs", rows=rows, batches=batches)


def suite(settings: Settings) -> Suite:
    seconds = 2.2 if settings.quick else 3.0
    probes = []
    for rows in ROWS:
        names = (f"kernels-{rows}", f"above-{rows}", f"above-lone-{rows}", f"above-hooks-{rows}")
        batches = settings.scale(40_000_000, 10_000_000) // (rows + 1000)
        probes.append(Probe(tuple(Case(name, BATCH) for name in names), partial(above, rows, batches)))
    shapes = ("line-256", "union-256", "branches-256", "line-lone-256", "union-lone-256", "branches-lone-256")
    batches = settings.scale(4000, 1000)
    probes.append(Probe(tuple(Case(name, BATCH) for name in shapes), partial(merged, 256, batches)))
    probes.append(probe("kernels-generated-2", EVENTS, partial(kernels, YSB, True, 2, seconds / 2)))
    probes += [
        probe(
            f"native-2-{rows}",
            EVENTS,
            partial(native, YSB, 2, seconds, batch_size=rows),
            against="kernels-generated-2",
        )
        for rows in SIZES
    ]
    notes = (
        "kernels: generate, filter, look-up and count of the core, called from C in a loop",
        "above: what a batch of R rows costs the unit beyond that, with many batches a turn (wanted: 1.5 µs), with one (4 µs), "
        "and by the operators' hooks",
        "line, union, branches: source, two filters, map and aggregate; with two sources that a union brings together; "
        "with two branches of one source; lone: with one batch a turn",
        "native-2-R: apps/ysb on two workers with batches of R rows",
    )
    return Suite("batch-cost", tuple(probes), notes, summary=lines)


def lines(medians: Mapping[str, float]) -> list[str]:
    best = medians["kernels-generated-2"]
    return [
        f"batches of {rows} rows: {medians[f'native-2-{rows}'] / best:.2f} of the bare kernels (wanted: {wanted})"
        for rows, wanted in WANTED.items()
    ]
