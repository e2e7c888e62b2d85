"""What the suite `tpcx-bb` draws, made of its cases: throughput and latency by workers, by time slice and by window. No
measuring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.scaling import Line, Plot, Series, scaling
from benchmarks.tpcx_bb_study import SLICE_MS, WINDOW_MS, Setting

Point = tuple[float, float, float]
"""Source tuples a second; mean and 99th percentile of the latency, µs."""
Points = dict[tuple[str, str, int], Point]
"""Query, variant, workers -> what was found."""
MEASURED_WORKERS = (1, 2)


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of plots shows: which part of a point, and of which kinds of points."""

    name: str
    unit: str
    part: int
    measured: bool = True
    simulated: bool = True


COLUMNS = (
    Column("throughput", "tuples/s", 0),
    Column("mean latency", "µs", 1),
    Column("p99 latency", "µs", 2),
)
QUEUES = (
    COLUMNS[0],
    Column("mean latency", "µs", 1, measured=False),
    Column("p99 latency", "µs", 2, measured=False),
    Column("p99 in operator", "µs", 2, simulated=False),
)
"""For runs whose measured latency is that of one operator, not of a query."""


def point_of(medians: Mapping[str, float], case: str) -> Point | None:
    """What the case and its -mean and -p99 have come to; None if it was not run."""
    if case not in medians:
        return None
    return medians[case], medians[f"{case}-mean"], medians[f"{case}-p99"]


def measured_points(
    medians: Mapping[str, float], queries: Iterable[str], variants: Mapping[str, str]
) -> Points:
    """The points of cases that were run. variants: names -> the case's name with {query} and {workers}."""
    found: Points = {}
    for query in queries:
        for variant, case in variants.items():
            for workers in MEASURED_WORKERS:
                point = point_of(medians, case.format(query=query, workers=workers))
                if point is not None:
                    found[query, variant, workers] = point
    return found


def by_workers(
    title: str,
    measured: Points,
    simulated: Points,
    *,
    columns: Sequence[Column] = COLUMNS,
    notes: Sequence[str] = (),
) -> str:
    """A row for each query, a plot for each column, a colour for each variant."""
    both = {**simulated, **measured}
    queries = dict.fromkeys(query for query, _, _ in both)
    variants = list(dict.fromkeys(variant for _, variant, _ in (*measured, *simulated)))
    rows = [
        [
            Plot(
                f"{query}: {column.name}",
                column.unit,
                tuple(
                    Series(
                        variant,
                        along(measured, query, variant, column.part) if column.measured else (),
                        along(simulated, query, variant, column.part) if column.simulated else (),
                    )
                    for variant in variants
                ),
            )
            for column in columns
        ]
        for query in queries
    ]
    return scaling(title, "workers", rows, notes)


def along(points: Points, query: str, variant: str, part: int) -> Line:
    """One part of the points of a query and variant, by workers."""
    return tuple(
        sorted(
            (float(workers), point[part])
            for (of_query, of_variant, workers), point in points.items()
            if (of_query, of_variant) == (query, variant)
        )
    )


def by_setting(
    medians: Mapping[str, float],
    queries: Sequence[str],
    tried: Sequence[tuple[str, Setting]],
    simulated_workers: int,
) -> str:
    """Two rows for each query: by time slice, and by window under CT; measured on two workers, simulated on more."""
    rows = []
    for query in queries:
        for what in ("slice", "window"):
            found: dict[str, dict[str, list[tuple[float, Point]]]] = {}
            for heuristic, setting in tried:
                x = place(heuristic, setting, what)
                if x is None:
                    continue
                case = f"{query}-{heuristic}-{setting.name}"
                pairs = (("measured", case), ("simulated", f"{case}-{simulated_workers}-simulated"))
                for kind, name in pairs:
                    point = point_of(medians, name)
                    if point is not None:
                        of_heuristic = found.setdefault(heuristic, {"measured": [], "simulated": []})
                        of_heuristic[kind].append((x, point))
            if len({x for kinds in found.values() for line in kinds.values() for x, _ in line}) > 1:
                rows.append(
                    [
                        Plot(f"{query}: {each.name} by {what}", each.unit, series(found, each.part))
                        for each in COLUMNS
                    ]
                )
    notes = [
        f"{max(MEASURED_WORKERS)} workers measured, {simulated_workers} simulated; w = {WINDOW_MS:g} ms where s varies, "
        f"s = {SLICE_MS:g} ms where w does",
    ]
    return scaling("TPCx-BB by time slice s and CT's window w", "ms", rows, notes)


def place(heuristic: str, setting: Setting, what: str) -> float | None:
    """Where a setting stands on the axis of slices or windows, ms; None if it does not belong there."""
    if what == "slice":
        return setting.slice_ms if setting.window_ms == WINDOW_MS else None
    return setting.window_ms if heuristic == "ct" and setting.slice_ms == SLICE_MS else None


def series(found: Mapping[str, Mapping[str, list[tuple[float, Point]]]], part: int) -> tuple[Series, ...]:
    """One part of the points of each heuristic."""

    def line(points: list[tuple[float, Point]]) -> Line:
        return tuple(sorted((x, point[part]) for x, point in points))

    return tuple(
        Series(name, line(kinds["measured"]), line(kinds["simulated"])) for name, kinds in found.items()
    )
