"""Layered drawing of an acyclic graph: which column each box is in, and how high, so that few lines cross. Pure.

Sugiyama's method in small: longest-path layers, dummy places for long edges, barycentre sweeps, then straightening.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise

import msgspec

from actorstream.topology.graph import topological_order

Place = Hashable
"""A box's name, or (edge number, column) for the place where a long edge passes a column."""


class Layering(msgspec.Struct):
    """Where everything is: `columns` lists places from top to bottom, `height` gives each its y in rows (from 0)."""

    columns: list[list[Place]]
    height: dict[Place, float]
    paths: list[list[Place]] = []
    """For each edge the places it passes, its two boxes included."""

    @property
    def rows(self) -> float:
        return max(self.height.values(), default=0.0) + 1


def layered(boxes: Sequence[str], edges: Sequence[tuple[str, str]]) -> Layering:
    """Places `boxes` so that every edge goes to the right. Edges on cycles, or to unknown boxes, are not placed.

    Answers the same for the same input; `paths[i]` is empty for an edge that was not placed."""
    layer = _layers(boxes, edges)
    columns: list[list[Place]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for box in boxes:
        columns[layer[box]].append(box)
    paths: list[list[Place]] = []
    for number, (first, last) in enumerate(edges):
        if first not in layer or last not in layer or layer[first] >= layer[last]:
            paths.append([])
            continue
        bends: list[Place] = [(number, column) for column in range(layer[first] + 1, layer[last])]
        for bend in bends:
            columns[bend[1]].append(bend)  # type: ignore[index]
        paths.append([first, *bends, last])
    before, after = _neighbours(paths)
    columns = _uncrossed(columns, before, after)
    return Layering(columns, _heights(columns, before, after), paths)


def crossings(layout: Layering) -> int:
    """How many pairs of lines cross between neighbouring columns."""
    rank = {place: number for column in layout.columns for number, place in enumerate(column)}
    column_of = {place: number for number, column in enumerate(layout.columns) for place in column}
    steps = [(path[i], path[i + 1]) for path in layout.paths for i in range(len(path) - 1)]
    found = 0
    for number, (a, b) in enumerate(steps):
        for c, d in steps[:number]:
            if column_of[a] == column_of[c] and (rank[a] - rank[c]) * (rank[b] - rank[d]) < 0:
                found += 1
    return found


def _layers(boxes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    reads: dict[str, list[str]] = {box: [] for box in boxes}
    for first, last in edges:
        if first in reads and last in reads:
            reads[last].append(first)
    order, _ = topological_order(reads)
    layer: dict[str, int] = {}
    for box in [*order, *(box for box in boxes if box not in set(order))]:
        layer[box] = max((layer[first] + 1 for first in reads[box] if first in layer), default=0)
    return layer


def _neighbours(paths: Iterable[list[Place]]) -> tuple[dict[Place, list[Place]], dict[Place, list[Place]]]:
    before: dict[Place, list[Place]] = {}
    after: dict[Place, list[Place]] = {}
    for path in paths:
        for first, second in pairwise(path):
            after.setdefault(first, []).append(second)
            before.setdefault(second, []).append(first)
    return before, after


def _uncrossed(
    columns: list[list[Place]], before: dict[Place, list[Place]], after: dict[Place, list[Place]]
) -> list[list[Place]]:
    """Columns reordered by the mean rank of their neighbours, to the right and to the left; the best sweep wins."""
    best, fewest = columns, None
    for sweep in range(8):
        near, order = (before, columns) if sweep % 2 == 0 else (after, columns[::-1])
        moved: list[list[Place]] = []
        rank: dict[Place, int] = {place: number for column in columns for number, place in enumerate(column)}
        for column in order:
            means = {
                place: _mean([rank[each] for each in near.get(place, ())], rank[place]) for place in column
            }
            column = sorted(column, key=means.__getitem__)
            rank.update({place: number for number, place in enumerate(column)})
            moved.append(column)
        columns = moved if sweep % 2 == 0 else moved[::-1]
        paths = [[first, second] for first, seconds in after.items() for second in seconds]
        count = crossings(Layering(columns, {}, paths))
        if fewest is None or count < fewest:
            best, fewest = columns, count
    return best


def _heights(
    columns: list[list[Place]], before: dict[Place, list[Place]], after: dict[Place, list[Place]]
) -> dict[Place, float]:
    """Every place as near to its neighbours' height as its column allows, at least one row from the next."""
    height = {place: float(number) for column in columns for number, place in enumerate(column)}
    for sweep in range(6):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            wanted = []
            for place in column:
                near = [height[each] for each in (*before.get(place, ()), *after.get(place, ()))]
                wanted.append(_mean(near, height[place]))
            placed: list[float] = []
            for want in wanted:
                placed.append(max(want, placed[-1] + 1) if placed else want)
            shift = _mean([want - got for want, got in zip(wanted, placed)], 0.0)
            height.update({place: got + shift for place, got in zip(column, placed)})
    lowest = min(height.values(), default=0.0)
    return {place: round(got - lowest, 3) for place, got in height.items()}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
