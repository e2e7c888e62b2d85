"""What the suite `tpcx-bb` draws has the points of its cases, in their places."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.tpcx_bb_figures import (
    COLUMNS,
    QUEUES,
    Points,
    along,
    by_setting,
    by_workers,
    measured_points,
    place,
    point_of,
)
from benchmarks.tpcx_bb_study import TRIED, Setting

SVG = "{http://www.w3.org/2000/svg}"


def medians(*cases: str) -> dict[str, float]:
    return {
        f"{case}{what}": 10.0 + number + size
        for number, case in enumerate(cases)
        for size, what in enumerate(("", "-mean", "-p99"))
    }


def words(picture: str) -> list[str]:
    return [str(each.text) for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def drawn(picture: str) -> int:
    """Lines beside the two of the legend."""
    return len(list(ElementTree.fromstring(picture).iter(f"{SVG}polyline"))) - 2


def test_a_point_is_a_case_with_its_latencies() -> None:
    assert point_of(medians("q1-ct-2"), "q1-ct-2") == (10.0, 11.0, 12.0)
    assert point_of(medians("q1-ct-2"), "q1-ct-1") is None


def test_cases_that_were_not_run_have_no_points() -> None:
    found = measured_points(
        medians("q1-ct-1", "q1-ct-2", "q2-lp-2"), ["q1", "q2"], {"ct": "{query}-ct-{workers}"}
    )
    assert set(found) == {("q1", "ct", 1), ("q1", "ct", 2)}
    assert along(found, "q1", "ct", 1) == ((1.0, 11.0), (2.0, 12.0))
    assert along(found, "q2", "ct", 1) == ()


def test_workers_are_in_their_order_whatever_that_of_the_cases() -> None:
    points: Points = {("q1", "ct", workers): (float(workers), 0.0, 0.0) for workers in (16, 4, 8)}
    assert along(points, "q1", "ct", 0) == ((4.0, 4.0), (8.0, 8.0), (16.0, 16.0))


def test_every_query_has_a_plot_for_each_column() -> None:
    measured: Points = {(query, "ct", 1): (1.0, 2.0, 3.0) for query in ("q1", "q2")}
    simulated: Points = {(query, "ct", 4): (4.0, 2.0, 3.0) for query in ("q1", "q2")}
    picture = by_workers("t", measured, simulated)
    assert drawn(picture) == 2 * 2 * len(COLUMNS)
    assert {f"{query}: {each.name}, {each.unit}" for query in ("q1", "q2") for each in COLUMNS} <= set(
        words(picture)
    )


def test_latencies_that_mean_different_things_are_not_drawn_together() -> None:
    point = (1.0, 2.0, 3.0)
    picture = by_workers("t", {("q1", "hybrid", 1): point}, {("q1", "hybrid", 4): point}, columns=QUEUES)
    assert drawn(picture) == 5


def test_slices_and_windows_stand_on_axes_of_their_own() -> None:
    assert place("lp", Setting(0.5), "slice") == 0.5
    assert place("lp", Setting(2.0), "window") is None
    assert place("ct", Setting(2.0), "window") == 100.0
    assert place("ct", Setting(window_ms=10.0), "window") == 10.0
    assert place("ct", Setting(window_ms=10.0), "slice") is None


def test_the_study_is_drawn_by_slice_and_by_window() -> None:
    found = medians(
        *(f"q1-{each}-{setting.name}{end}" for each, setting in TRIED for end in ("", "-8-simulated"))
    )
    picture = by_setting(found, ["q1", "q15"], TRIED, 8)
    assert drawn(picture) == len(COLUMNS) * (2 * 2 + 2)
    assert "q1: throughput by slice, tuples/s" in words(picture)
    assert "q1: throughput by window, tuples/s" in words(picture)
    assert not any("q15" in each for each in words(picture))


def test_a_single_window_is_no_study() -> None:
    tried = [("lp", Setting(0.1)), ("lp", Setting(10.0)), ("ct", Setting())]
    picture = by_setting(medians(*(f"q1-{each}-{setting.name}" for each, setting in tried)), ["q1"], tried, 8)
    assert "q1: p99 latency by slice, µs" in words(picture)
    assert not any("by window" in each for each in words(picture))
