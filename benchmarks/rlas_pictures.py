"""Pictures of the suite `rlas`: who fetches from whom, and how good random plans are. Returns SVG text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.plots import bars, lines, svg, text
from benchmarks.record import Record
from benchmarks.suite import Curve

CELL = 34


def matrices(found: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """A square for each matrix, dark where much is fetched (figure 15)."""
    parts = [text(12, 24, "WC: seconds of fetches per second, simulated machines", "t")]
    x = 60
    for name, matrix in found.items():
        most = max((each for row in matrix for each in row), default=0.0) or 1.0
        parts.append(text(x, 52, f"{name} (darkest: {most:.2f})", "u"))
        for i, row in enumerate(matrix):
            parts.append(text(x - 12, 82 + i * CELL, f"S{i}", "u", "end"))
            parts.append(text(x + i * CELL + CELL // 2, 76 + len(matrix) * CELL, f"S{i}", "u", "middle"))
            for j, value in enumerate(row):
                shade = 255 - round(215 * value / most)
                parts.append(
                    f'<rect x="{x + j * CELL}" y="{62 + i * CELL}" width="{CELL - 2}" height="{CELL - 2}" '
                    f'fill="rgb({shade},{shade},255)"/>'
                )
        x += len(matrix) * CELL + 70
    parts.append(text(60, 110 + 8 * CELL, "rows: the producer's socket; columns: the consumer's", "u"))
    return svg(130 + 8 * CELL, parts)


def distribution(found: Mapping[str, Sequence[float]]) -> str:
    """For each application the share of random plans that reach at most so much of RLAS's throughput (figure 14)."""
    parts = [text(12, 24, "Random plans: throughput relative to RLAS, by the model", "t")]
    width, height, left, top = 620, 260, 60, 50
    colours = ("#4269d0", "#efb118", "#3ca951", "#ff725c")
    for step in range(6):
        y = top + height - height * step / 5
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.0f}" y2="{y:.0f}"/>')
        parts.append(text(left - 8, int(y) + 4, f"{step * 20} %", "u", "end"))
        parts.append(text(left + width * step // 5, top + height + 18, f"{step / 5:.1f}", "u", "middle"))
    for number, (name, values) in enumerate(found.items()):
        ordered = sorted(values)
        points = " ".join(
            f"{left + width * min(value, 1.0):.1f},{top + height - height * (rank + 1) / len(ordered):.1f}"
            for rank, value in enumerate(ordered)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colours[number % 4]}" stroke-width="2"/>'
        )
        parts.append(
            f'<text x="{left + width - 60}" y="{top + 20 + 18 * number}" fill="{colours[number % 4]}">{name}</text>'
        )
    return svg(top + height + 40, parts)


def selected(title: str, medians: Mapping[str, float], *starts: str) -> str:
    """Bars of the cases whose names start so."""
    records = [
        Record("rlas", name, value, title, 1, value, value)
        for name, value in medians.items()
        if name.startswith(starts)
    ]
    return bars(title, records)


SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}


def percentiles(title: str, found: Mapping[str, float]) -> str:
    """The share of results that had come after so many milliseconds, by percentile."""
    points = tuple((value, SHARES[name]) for name, value in found.items())
    return lines(title, [Curve("WC", "ms", "share of results", points)])
