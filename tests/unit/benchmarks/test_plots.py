"""Plots are well-formed SVG that shows every case."""

from __future__ import annotations

from xml.etree import ElementTree

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


def test_a_line_plot_has_one_line_a_curve() -> None:
    curves = [
        Curve("one", "rows", "x/s", ((1.0, 2.0), (4096.0, 4.0))),
        Curve("a point", "rows", "x/s", ((64.0, 0.0),)),
    ]
    root = ElementTree.fromstring(lines("s", curves))
    assert [len(line.attrib["points"].split()) for line in root.iter(f"{SVG}polyline")] == [2, 1]
