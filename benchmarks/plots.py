"""Draws records as SVG: bars for cases, lines for curves. Plain text out, nothing to install, readable in
both themes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from benchmarks.record import Record
from benchmarks.suite import Curve
from benchmarks.table import figure

WIDTH = 860
LEFT = 272
RIGHT = 130
ROW = 26
MOST_LINEAR = 50
DASHES = "5 4"
"""Of what is simulated."""
SIMULATED = "-simulated"
COLOURS = ("#4472c4", "#c55a11", "#3a8f5c", "#8e5aa8", "#b8860b", "#7f7f7f")
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#404040}.t{font-weight:600;font-size:15px}.u{fill:#808080}"
    "line{stroke:#b0b0b0}rect.b{rx:2}"
    "@media(prefers-color-scheme:dark){text{fill:#d0d0d0}.u{fill:#909090}line{stroke:#606060}}"
)


def bars(title: str, records: Sequence[Record]) -> str:
    """One horizontal bar a record, a block of its own scale for each unit, and for what is simulated (SIMULATED in the
    case's name) in that unit, whose bars are hollow; the thin line spans minimum to maximum."""
    units: dict[str, list[Record]] = {}
    for record in records:
        block = f"{record.unit}, simulated" if SIMULATED in record.case else record.unit
        units.setdefault(block, []).append(record)
    parts = [text(12, 24, title, "t")]
    y = 44
    for unit, group in units.items():
        parts.append(text(12, y + 12, unit, "u"))
        y += 22
        scale = (WIDTH - LEFT - RIGHT) / (max(record.max for record in group) or 1.0)
        for record in group:
            parts += bar(record, y, scale)
            y += ROW
        y += 12
    return svg(y, parts)


def bar(record: Record, y: int, scale: float) -> list[str]:
    colour = COLOURS[0] if record.against is not None or record.ratio is not None else COLOURS[5]
    hollow = f'fill="none" stroke="{colour}" stroke-dasharray="{DASHES}"'
    filled = hollow if SIMULATED in record.case else f'fill="{colour}"'
    length = max(record.value * scale, 1.0)
    label = figure(record.value)
    if record.ratio is not None:
        label += f"  ({record.ratio:.2f}×)"
    middle, low, high = y + 9, LEFT + record.min * scale, LEFT + record.max * scale
    return [
        text(LEFT - 8, y + 14, record.case, "", "end"),
        f'<rect class="b" x="{LEFT}" y="{y}" width="{length:.1f}" height="18" {filled}/>',
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>',
        text(int(high + 8), y + 14, label),
    ]


def lines(title: str, curves: Sequence[Curve]) -> str:
    """Curves that share their axes: x logarithmic, y linear from 0, or logarithmic too where the values are more than
    a factor of MOST_LINEAR apart."""
    height, top, bottom = 360, 50, 310
    points = [point for curve in curves for point in curve.points]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    span = math.log(high / low) or 1.0
    steps, height_of = scale([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT / 2 + (WIDTH - LEFT / 2 - RIGHT) * math.log(x / low) / span
        return across, bottom - (bottom - top) * height_of(y)

    parts = [text(12, 24, title, "t"), text(12, top - 8, curves[0].unit, "u")]
    parts.append(text(WIDTH - RIGHT, bottom + 38, curves[0].axis, "u", "end"))
    for step in steps:
        y = bottom - (bottom - top) * height_of(step)
        parts.append(f'<line x1="{LEFT // 2}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(LEFT // 2 - 8, int(y) + 4, figure(step), "u", "end"))
    places = sorted({x for x, _ in points})
    parts += [text(int(place(x, steps[-1])[0]), bottom + 18, figure(x), "u", "middle") for x in places]
    for index, curve in enumerate(curves):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in curve.points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    parts += names(curves, place)
    return svg(height, parts)


def scale(values: Sequence[float]) -> tuple[list[float], Callable[[float], float]]:
    """Which values to draw lines at, and how high a value is drawn: 0.0 to 1.0."""
    least, most = min(values), max(values) or 1.0
    if least <= 0 or most / least <= MOST_LINEAR:
        return [most * share for share in (0.0, 0.5, 1.0)], lambda value: value / most
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    steps = [10.0**power for power in range(first, last + 1)]
    return steps, lambda value: (math.log10(value) - first) / (last - first)


def names(curves: Sequence[Curve], place: Callable[[float, float], tuple[float, float]]) -> list[str]:
    """The curves' names beside their ends, in their colours, none upon another."""
    ends = sorted((place(*curve.points[-1])[::-1], index) for index, curve in enumerate(curves))
    parts, free = [], 0
    for (down, across), index in ends:
        y = max(int(down) + 4, free)
        free = y + 15
        dot = f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{COLOURS[index % len(COLOURS)]}"/>'
        parts += [dot, text(int(across) + 8, y, curves[index].name)]
    return parts


def text(x: int, y: int, words: str, kind: str = "", anchor: str = "start") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{of_kind}>{escape(words)}</text>'


def svg(height: int, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )
