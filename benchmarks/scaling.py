"""Draws plots in rows as one SVG, each with its own scale; what was measured is a full line, what was simulated a dashed
one with hollow points. No measuring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.plots import COLOURS, DASHES, WIDTH, scale, svg, text
from benchmarks.table import figure

LEFT, RIGHT, HEIGHT, BELOW = 62, 22, 150, 74
"""Left and right of a plot, its height, and what is between it and the next."""

Line = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """What is drawn in one colour: points by `x`, ascending; either may be empty."""

    name: str
    measured: Line
    simulated: Line


@dataclass(frozen=True, slots=True)
class Plot:
    """Series that share axes."""

    title: str
    unit: str
    series: tuple[Series, ...]

    @property
    def points(self) -> list[tuple[float, float]]:
        return [point for each in self.series for point in (*each.measured, *each.simulated)]


def scaling(title: str, axis: str, rows: Sequence[Sequence[Plot]], notes: Sequence[str] = ()) -> str:
    """One line of plots for each of `rows`. A name has one colour in all plots; the legend stands on top, `notes` below
    the title."""
    names = list(dict.fromkeys(each.name for row in rows for plot in row for each in plot.series))
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    parts = [text(12, 24, title, "t")]
    parts += [text(12, 44 + 18 * number, note, "u") for number, note in enumerate(notes)]
    y = 50 + 18 * len(notes)
    parts += legend(colours, y)
    y += 50
    for row in rows:
        width = WIDTH // len(row)
        for number, plot in enumerate(row):
            if plot.points:
                parts += drawn(plot, axis, number * width + LEFT, y, width - LEFT - RIGHT, colours)
        y += HEIGHT + BELOW
    return svg(y - BELOW + 50, parts)


def drawn(plot: Plot, axis: str, left: int, top: int, width: int, colours: dict[str, str]) -> list[str]:
    """x logarithmic, y as `plots.scale` has it for the plot's values."""
    steps, height_of = scale([value for _, value in plot.points])
    places = sorted({x for x, _ in plot.points})
    span = math.log(places[-1] / places[0])

    def place(x: float, value: float) -> tuple[float, float]:
        across = math.log(x / places[0]) / span if span else 0.5
        return left + width * across, top + HEIGHT * (1 - height_of(value))

    parts = [text(left - LEFT + 12, top - 14, f"{plot.title}, {plot.unit}")]
    for step in steps:
        y = place(places[0], step)[1]
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(left - 8, int(y) + 4, figure(step), "u", "end"))
    parts += [text(int(place(x, steps[-1])[0]), top + HEIGHT + 18, f"{x:g}", "u", "middle") for x in places]
    parts.append(text(left + width, top + HEIGHT + 34, axis, "u", "end"))
    for each in plot.series:
        colour = colours[each.name]
        parts += line([place(*point) for point in each.simulated], colour, simulated=True)
        parts += line([place(*point) for point in each.measured], colour, simulated=False)
    return parts


def line(points: Sequence[tuple[float, float]], colour: str, *, simulated: bool) -> list[str]:
    """A line and its points; nothing if there are none."""
    dashes = f' stroke-dasharray="{DASHES}"' if simulated else ""
    fill = "none" if simulated else colour
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>']
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
        for x, y in points
    ]
    return parts if points else []


def legend(colours: dict[str, str], y: int) -> list[str]:
    """Names in their colours, then how measured and simulated points are drawn."""
    parts, x = [], 18
    for name, colour in colours.items():
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{colour}"/>')
        parts.append(text(x + 10, y, name))
        x += 40 + 8 * len(name)
    for name, simulated in (("measured", False), ("simulated", True)):
        ends = [(float(x + 20), y - 4.0), (float(x + 50), y - 4.0)]
        parts += [*line(ends, COLOURS[-1], simulated=simulated), text(x + 60, y, name)]
        x += 140
    return parts
