"""Plots are well-formed SVG that shows every case."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from benchmarks.plots import bars, lines
from benchmarks.record import Record
from benchmarks.suite import Curve

SVG = "{http://www.w3.org/2000/svg}"


def test_a_bar_plot_has_one_bar_a_record_as_long_as_its_value() -> None:
    records = [
        Record("s", "whole", 10.0, "x/s", 1, 10.0, 10.0),
        Record("s", "half <&>", 5.0, "x/s", 1, 5.0, 5.0, "whole", 0.5),
        Record("s", "p99", 0.0, "µs", 1, 0.0, 0.0),
    ]
    root = ElementTree.fromstring(bars("s", records))
    whole, half, none = (float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect"))
    assert half == whole / 2
    assert none > 0
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"whole", "half <&>", "p99", "x/s", "µs", "5  (0.50×)"} <= set(words)


def test_what_is_simulated_has_hollow_bars_in_a_block_of_its_own_scale() -> None:
    records = [
        Record("s", "q1-lp-8-simulated", 1000.0, "x/s", 1, 1000.0, 1000.0),
        Record("s", "q1-lp-2", 10.0, "x/s", 1, 10.0, 10.0),
    ]
    root = ElementTree.fromstring(bars("s", records))
    simulated, measured = root.iter(f"{SVG}rect")
    assert simulated.attrib["width"] == measured.attrib["width"]
    assert simulated.attrib["fill"] == "none" != measured.attrib["fill"]
    assert {"x/s", "x/s, simulated"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_a_line_plot_has_one_line_a_curve() -> None:
    curves = [
        Curve("one", "rows", "x/s", ((1.0, 2.0), (4096.0, 4.0))),
        Curve("a point", "rows", "x/s", ((64.0, 0.0),)),
    ]
    root = ElementTree.fromstring(lines("s", curves))
    assert [len(line.attrib["points"].split()) for line in root.iter(f"{SVG}polyline")] == [2, 1]


def heights(curve: Curve) -> list[float]:
    root = ElementTree.fromstring(lines("s", [curve]))
    (line,) = root.iter(f"{SVG}polyline")
    return [float(point.split(",")[1]) for point in line.attrib["points"].split()]


def test_values_that_are_close_are_drawn_from_zero() -> None:
    low, middle, high = heights(Curve("c", "rows", "x/s", ((1.0, 1.0), (2.0, 2.0), (4.0, 3.0))))
    assert low - middle == pytest.approx(middle - high, abs=0.2)


def test_values_of_several_magnitudes_are_drawn_by_their_logarithms() -> None:
    low, middle, high = heights(Curve("c", "rows", "x/s", ((1.0, 1e3), (2.0, 1e5), (4.0, 1e7))))
    assert low - middle == pytest.approx(middle - high, abs=0.2)
    assert low > high


def test_names_of_curves_that_end_together_are_not_drawn_upon_each_other() -> None:
    curves = [Curve(name, "rows", "x/s", ((1.0, 1.0), (2.0, 5.0))) for name in ("one", "two", "three")]
    root = ElementTree.fromstring(lines("s", curves))
    places = [
        int(each.attrib["y"]) for each in root.iter(f"{SVG}text") if each.text in ("one", "two", "three")
    ]
    assert len(places) == 3
    assert min(b - a for a, b in pairwise(places)) >= 13
