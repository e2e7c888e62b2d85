"""Plots side by side: every curve is drawn, and a row's plots share their axes."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.grids import Panel, grid
from benchmarks.suite import Curve

SVG = "{http://www.w3.org/2000/svg}"


def curve(*values: float) -> Curve:
    return Curve("1 injector", "instances", "tuples/s", tuple(zip((1.0, 2.0, 4.0), values)))


def drawn(picture: str) -> list[list[tuple[float, float]]]:
    found = ElementTree.fromstring(picture).iter(f"{SVG}polyline")
    return [
        [(float(x), float(y)) for x, y in (point.split(",") for point in each.attrib["points"].split())]
        for each in found
    ]


def test_a_row_shares_its_axes() -> None:
    left, right = drawn(grid("t", [[Panel("CL", (curve(1, 2, 4),)), Panel("OL", (curve(4, 2, 1),))]]))
    assert [y for _, y in left] == [y for _, y in reversed(right)]
    assert max(x for x, _ in left) < min(x for x, _ in right)


def test_rows_stand_below_each_other_and_curves_are_named_once() -> None:
    row = [Panel("CL", (curve(1, 2, 4), curve(2, 2, 2))), Panel("OL", (curve(1, 1, 1),))]
    picture = grid("t", [row, row])
    lines = drawn(picture)
    assert len(lines) == 6
    assert max(y for _, y in lines[0]) < min(y for _, y in lines[3])
    words = [each.text for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    assert words.count("1 injector") == 2
    assert words.count("CL, tuples/s") == 2
