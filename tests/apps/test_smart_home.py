"""Power prediction: the program is its reference, on real measurements and on random ones."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.testing import check_program
from apps.smart_home import reference
from apps.smart_home.events import Measurement
from apps.smart_home.generate import START, Measurements, write
from apps.smart_home.program import SmartHome
from tests.apps.dependency import (
    APPS,
    Out,
    Row,
    deployments,
    launch,
    outputs,
    quick,
    read_all,
    rows_of,
    streams,
)

DATA = APPS / "smart_home" / "data" / "measurements.csv.gz"
ORIGIN = 1_377_986_401
NAMES = ("house", "household", "plug", "predictions")


def check(
    rows: list[Row], origin: int, size: int, slices_per_day: int, batches: bool
) -> dict[str, list[Out]]:
    program = SmartHome(origin, size, slices_per_day)
    found = outputs(program, streams("measurements", Measurement, rows), batches)
    expected = reference.predict(reference.loads(rows, origin, size), slices_per_day)
    for name in NAMES:
        assert sorted(found.get(name, [])) == sorted(expected[name])
    return found


@pytest.mark.parametrize(("size", "slices_per_day"), [(5, 4), (10, 2), (1, 7), (3600, 24)])
def test_the_program_gives_what_the_reference_gives(size: int, slices_per_day: int) -> None:
    rows = rows_of(DATA)
    found = check(rows, ORIGIN, size, slices_per_day, False)
    assert sum(row[-1] for row in found["plug"]) == sum(row["property"] == "1" for row in rows)


def test_batches_give_the_same_to_the_last_digit() -> None:
    rows = sorted(rows_of(DATA), key=lambda row: (row["ts"], row["house"]))
    inputs = streams("measurements", Measurement, rows)
    one, other = (outputs(SmartHome(ORIGIN, 5, 4), inputs, batches) for batches in (False, True))
    assert one == other


@given(
    st.lists(
        st.tuples(
            st.integers(-3, 25),
            st.floats(0, 1000),
            st.sampled_from("01"),
            *(st.sampled_from("12"),) * 3,
        ),
        max_size=15,
    ),
    st.integers(-2, 3),
    st.integers(1, 9),
    st.integers(1, 4),
    st.booleans(),
)
def test_random_measurements_give_what_the_reference_gives(
    measured: list[tuple[int, float, str, str, str, str]],
    origin: int,
    size: int,
    slices_per_day: int,
    batches: bool,
) -> None:
    rows = [
        {
            "ts": str(ts),
            "value": str(value),
            "property": property,
            "plug": plug,
            "household": household,
            "house": house,
        }
        for ts, value, property, plug, household, house in sorted(measured, key=lambda each: each[0])
    ]
    check(rows, origin, size, slices_per_day, batches)


def test_a_prediction_is_the_mean_of_four_averages_and_what_is_missing_counts_nothing() -> None:
    rows = [
        {"ts": ts, "value": value, "property": "1", "plug": "0", "household": "0", "house": house}
        for ts, value, house in (
            ("0", "10.0", "1"),
            ("0", "30.0", "2"),
            ("10", "50.0", "1"),
            ("20", "2.0", "2"),
        )
    ]
    found = outputs(SmartHome(0, 10, 2), streams("measurements", Measurement, rows), False)
    assert found["predictions"] == [
        (0, 1, (20 + 0 + 10 + 0) / 4),
        (0, 2, (20 + 0 + 30 + 0) / 4),
        (1, 1, (50 + 20 + 50 + 10) / 4),
        (1, 2, (50 + 20 + 0 + 30) / 4),
        (2, 1, (2 + 50 + 0 + 50) / 4),
        (2, 2, (2 + 50 + 2 + 0) / 4),
    ]


def test_the_program_is_consistent() -> None:
    check_program(SmartHome(0, 10, 3), {"measurements": Measurement}, examples=40)


def test_generated_measurements_do_not_depend_on_how_many_are_read_at_once() -> None:
    few, many = (read_all(Measurements(count=20_003, houses=3, plugs=20), rows) for rows in (7, 1 << 20))
    assert few == many
    assert [len(events) for events in few.values()] == [6680, 6680, 6643]
    for events in few.values():
        assert [event.ts - START for event in events] == [row // 40 for row in range(len(events))]


def test_a_file_has_what_the_source_makes_and_its_predictions_are_those_of_the_reference(
    tmp_path: Path,
) -> None:
    write(tmp_path / "m.csv.gz", 2, 9, 30, 1)
    rows = rows_of(tmp_path / "m.csv.gz")
    made = read_all(Measurements(count=2 * 2 * 9 * 30, houses=2, plugs=9), 100)
    (file,) = streams("measurements", Measurement, rows)
    assert sorted(file.events, key=str) == sorted(
        (event for each in made.values() for event in each), key=str
    )
    check(rows, START, 10, 2, True)


def check_launch(folder: Path, *options: str) -> None:
    expected = reference.predict(reference.loads(rows_of(DATA), ORIGIN, 5), 4)
    found = launch(APPS / "smart_home" / "topology.toml", folder, NAMES, *options)
    for name in NAMES:
        assert tuple(found[name][0].split(",")) == reference.COLUMNS[name]
        assert sorted(tuple(map(float, row)) for row in csv.reader(found[name][1:])) == sorted(expected[name])


@pytest.mark.parametrize("options", quick("average", 12), ids=" ".join)
def test_a_launch_gives_what_the_reference_gives(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)


@pytest.mark.slow
@pytest.mark.parametrize("options", deployments("average"), ids=" ".join)
def test_a_launch_gives_the_same_under_every_deployment(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)
