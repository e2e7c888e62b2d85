"""`scalegate`: the core's ScaleGate driven by C threads, k sources and r readers that each take all rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import NamedTuple

from benchmarks import job
from benchmarks.suite import Settings, Suite, probe

SOURCES, READERS = (1, 2, 4, 6), (1, 2)
JUMBO = 1024
JAVA = {1: 4.8e6, 2: 9.8e6, 4: 9.4e6}
"""The public Java ScaleGate with one reader, tuples/s by sources (docs/benchmarks.md): not measured in the run."""
KINDS = {
    "alternating": (JUMBO, True, 24_000_000, 12_000_000),
    "runs": (JUMBO, False, 96_000_000, 24_000_000),
    "single": (1, True, 1_500_000, 600_000),
}
"""Rows in a jumbo tuple, whether times alternate row by row, rows of a run in all, and of one under --quick."""


LANES = (2, 16, 64)


class Read(NamedTuple):
    """Cases whose readers get rows by a route, and who merges these."""

    case: str
    merges: tuple[str, ...]


ROUTES = {
    "broadcast": Read("broadcast", ("channel", "gate", "shared")),
    "key": Read("keyed", ("channel", "gate")),
}


def suite(settings: Settings) -> Suite:
    probes = []
    for kind, sources, readers in product(KINDS, SOURCES, READERS):
        jumbo, alternate, full, quick = KINDS[kind]
        rows = settings.scale(full, quick) // sources // JUMBO * JUMBO
        play = partial(job.call, "benchmarks.loops.scalegate:play", sources=sources, readers=readers)
        probes.append(
            probe(
                f"{kind}-{sources}-{readers}",
                "tuples/s",
                partial(play, jumbo=jumbo, rows=rows, alternate=alternate),
            )
        )
    for lanes, tied in product(LANES, (False, True)):
        keys = {"lanes": lanes, "tied": tied, "rows": settings.scale(8_000_000, 1_000_000)}
        name = f"lanes-{lanes}" + "-tied" * tied
        probes.append(probe(name, "rows/s", partial(job.call, "benchmarks.loops.lanes:merged", **keys)))
    seconds = 0.2 if settings.quick else 0.5
    for route, (sources, readers) in product(ROUTES, product((2, 4), (2, 4))):
        run = partial(
            job.call, "benchmarks.linear_road:read_in_order", route=route, injectors=sources, readers=readers
        )
        name = f"{ROUTES[route].case}-{sources}-{readers}"
        probes += [
            probe(
                f"{name}-{merge}",
                "tuples/s",
                partial(run, merge=merge, seconds=seconds),
                against=f"{name}-channel" if merge != "channel" else None,
            )
            for merge in ROUTES[route].merges
        ]
    for operator, rows in product(("pos_rep", "new_seg"), (JUMBO, 16 * JUMBO)):
        keys = {"operator": operator, "injectors": 4, "instances": 2, "jumbo": rows, "seconds": seconds}
        probes.append(
            probe(f"share-{operator}-{rows}", "%", partial(job.call, "benchmarks.merge_share:share", **keys))
        )
    notes = (
        f"alternating, runs: jumbo tuples of {JUMBO:,} rows; times alternate row by row, or whole jumbo tuples do",
        "single: jumbo tuples of one row; cases end with the number of sources and of readers, a thread each",
        "lanes: sorted lanes whose rows alternate at random, merged by one thread; tied: a tie column orders nearly all rows",
        "broadcast: a topology in one process whose readers are replicas that get all rows: each merges the sources "
        '(channel), or one ScaleGate does for all (merge = "gate"), or one merge-sort operator (shared)',
        "keyed: the same by key: each replica merges what it gets itself, with either value of `merge`; rows/s of all readers",
        "share: of the processor time of a process that runs an operator of Linear Road in timestamp order, 4 injectors, 2 "
        "instances, jumbo tuples of so many rows, what the calls of its ScaleGates take",
    )
    return Suite("scalegate", tuple(probes), notes, summary=summary)


def summary(medians: Mapping[str, float]) -> list[str]:
    """Beside the public Java ScaleGate, whose readers also take tuples one by one."""
    return [
        f"{sources} sources, 1 reader: single {medians[f'single-{sources}-1'] / java:.1f} times, alternating "
        f"{medians[f'alternating-{sources}-1'] / java:.1f} times the public Java ScaleGate's {java / 1e6} M (docs/benchmarks.md, "
        "not measured here)"
        for sources, java in JAVA.items()
    ]
