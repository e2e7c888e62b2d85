"""Draws plots side by side as one SVG: columns that are compared, a row for each thing that was measured. No measuring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.plots import COLOURS, WIDTH, scale, svg, text
from benchmarks.suite import Curve
from benchmarks.table import figure

MARGIN, GAP, HEIGHT = 70, 40, 190
"""Left of a plot, right of it, and from its top to its bottom."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: curves that share the axes of all panels in its row."""

    title: str
    curves: tuple[Curve, ...]


def grid(title: str, rows: Sequence[Sequence[Panel]]) -> str:
    """One line of panels for each of `rows`, which all have as many; curves of one place in their panel share a colour
    and, in the first panel alone, are named."""
    parts = [text(12, 24, title, "t")]
    y = 60
    for row in rows:
        width = WIDTH // len(row)
        values = [value for panel in row for curve in panel.curves for _, value in curve.points]
        places = sorted({x for panel in row for curve in panel.curves for x, _ in curve.points})
        for number, panel in enumerate(row):
            parts += drawn(panel, number * width + MARGIN, y, width - MARGIN - GAP, values, places)
        y += HEIGHT + 70
    parts += legend(rows[0][0].curves, y - 20)
    return svg(y, parts)


def drawn(
    panel: Panel, left: int, top: int, width: int, values: Sequence[float], places: Sequence[float]
) -> list[str]:
    """x logarithmic, y as `plots.scale` has it for `values`."""
    steps, height_of = scale(values)
    low, span = places[0], math.log(places[-1] / places[0]) or 1.0
    first = panel.curves[0]
    parts = [text(left, top - 10, f"{panel.title}, {first.unit}")]
    for step in steps:
        y = top + HEIGHT * (1 - height_of(step))
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(left - 8, int(y) + 4, figure(step), "u", "end"))
    for x in places:
        across = left + width * math.log(x / low) / span
        parts.append(text(int(across), top + HEIGHT + 18, figure(x), "u", "middle"))
    parts.append(text(left + width, top + HEIGHT + 34, first.axis, "u", "end"))
    for number, curve in enumerate(panel.curves):
        points = " ".join(
            f"{left + width * math.log(x / low) / span:.1f},{top + HEIGHT * (1 - height_of(value)):.1f}"
            for x, value in curve.points
        )
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return parts


def legend(curves: Sequence[Curve], y: int) -> list[str]:
    parts = []
    for number, curve in enumerate(curves):
        x = MARGIN + number * 180
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{colour}"/>')
        parts.append(text(x + 12, y, curve.name))
    return parts
