"""Measured points are drawn full, simulated ones dashed and hollow, and nothing that is missing is drawn."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.plots import DASHES
from benchmarks.scaling import Plot, Series, scaling

SVG = "{http://www.w3.org/2000/svg}"
BOTH = Series("lp", ((1.0, 10.0), (2.0, 20.0)), ((4.0, 30.0), (8.0, 40.0), (16.0, 50.0)))


def lines(picture: str) -> list[tuple[bool, str, int]]:
    """Of the plots: dashed, colour, points; the last two are the legend's own."""
    found = [
        (each.get("stroke-dasharray") == DASHES, each.attrib["stroke"], len(each.attrib["points"].split()))
        for each in ElementTree.fromstring(picture).iter(f"{SVG}polyline")
    ]
    assert [dashed for dashed, _, _ in found[:2]] == [False, True]  # the legend
    return found[2:]


def test_measured_and_simulated_points_are_told_apart() -> None:
    (simulated, measured) = lines(scaling("t", "workers", [[Plot("q", "x/s", (BOTH,))]]))
    assert simulated[0] and not measured[0]
    assert simulated[1] == measured[1]
    assert (simulated[2], measured[2]) == (3, 2)


def test_a_name_has_one_colour_in_all_plots() -> None:
    other = Series("ct", ((1.0, 5.0),), ())
    rows = [[Plot("q1", "x/s", (other, BOTH))], [Plot("q2", "x/s", (BOTH,))]]
    first, *more = lines(scaling("t", "workers", rows))
    assert len({colour for _, colour, _ in more}) == 1
    assert first[1] != more[0][1]


def test_a_plot_without_points_and_one_with_a_single_place_are_no_error() -> None:
    single = Plot("q2", "x/s", (Series("lp", ((2.0, 3.0),), ()),))
    picture = scaling("t", "ms", [[Plot("q1", "x/s", (Series("lp", (), ()),)), single]], ["a note <&>"])
    assert lines(picture) == [(False, lines(picture)[0][1], 1)]
    words = [each.text for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    assert "a note <&>" in words
    assert "q2, x/s" in words
    assert "q1, x/s" not in words


def test_plots_of_a_row_have_scales_of_their_own() -> None:
    small, large = (
        Plot("q", "x/s", (Series("lp", ((1.0, size), (2.0, 2 * size)), ()),)) for size in (1.0, 1e6)
    )
    picture = scaling("t", "workers", [[small, large]])
    root = ElementTree.fromstring(picture)
    left, right = [
        [float(point.split(",")[1]) for point in each.attrib["points"].split()]
        for each in list(root.iter(f"{SVG}polyline"))[2:]
    ]
    assert left == right
