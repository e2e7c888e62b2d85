"""Outlier detection: the program is its reference, on real connections and with checks; sources and parameters."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from actorstream.dgs.sequential import InputStream
from actorstream.testing import check_program
from apps.outlier_detection import reference
from apps.outlier_detection.events import Check, Connection
from apps.outlier_detection.program import OutlierDetection
from apps.outlier_detection.reference import Parameters
from apps.outlier_detection.source import Connections
from tests.apps.dependency import APPS, as_csv, deployments, launch, outputs, quick
from tests.apps.launched import command

DATA = APPS / "outlier_detection" / "data"
CONNECTIONS = DATA / "connections.csv.gz"


def connections(path: Path = CONNECTIONS, count: int | None = None) -> list[Connection]:
    return list(Connections(path).events())[:count]


def by_program(
    rows: Sequence[Connection], checks: Sequence[int] | None = None, **keys: Any
) -> list[tuple[int, float]]:
    inputs = [InputStream("connections", rows)]
    if checks is not None:
        inputs.append(InputStream("checks", [Check(ts) for ts in checks]))
    return outputs(OutlierDetection(**keys, at_end=checks is None), inputs, False).get("default", [])


def test_the_program_finds_the_outliers_that_the_reference_finds() -> None:
    with (DATA / "expected.csv").open(newline="") as file:
        expected = [(int(ts), float(score)) for ts, score in list(csv.reader(file))[1:]]
    assert sorted(by_program(connections())) == sorted(expected)
    assert len(expected) == 94


@pytest.mark.slow
def test_the_expected_outliers_are_those_of_the_reference() -> None:
    with (DATA / "expected.csv").open(newline="") as file:
        expected = [(int(ts), float(score)) for ts, score in list(csv.reader(file))[1:]]
    assert list(reference.detect(reference.read(CONNECTIONS))) == expected


@pytest.mark.parametrize(
    "parameters",
    [
        Parameters(streams=2, support=3, level=1, factor=2.0, window=5),
        Parameters(streams=3, support=5, level=2, tau=0.5, delta=0.005, factor=0.5),
    ],
)
@pytest.mark.parametrize("checks", [None, [7_010_500, 7_011_000, 7_030_000, 7_030_000], [7_099_000], []])
def test_parameters_and_checks_are_heeded_as_the_reference_does(
    parameters: Parameters, checks: list[int] | None
) -> None:
    rows = [row for number, row in enumerate(reference.read(CONNECTIONS)) if number < 40]
    found = by_program(connections(count=40), checks, **parameters._asdict())
    assert found == list(reference.detect(rows, checks, parameters))
    assert found or checks == []


def test_violated_covariances_count() -> None:
    keys: dict[str, Any] = {"streams": 1, "tau": 0.5, "support": 2, "factor": 0.0}
    rows = connections(count=40)
    assert len(by_program(rows, **keys, delta=0.005)) > 2 * len(by_program(rows, **keys, delta=1.0))


def test_how_many_streams_there_are_changes_no_outlier_of_the_real_data() -> None:
    rows = connections(count=400)
    assert sorted(by_program(rows, streams=1)) == sorted(by_program(rows, streams=8))


def test_a_file_that_is_read_again_goes_on_in_rows_and_times() -> None:
    once, thrice = connections(), list(Connections(CONNECTIONS, repeat=3).events())
    assert thrice[:2000] == once
    assert [row.row for row in thrice] == list(range(6000))
    assert {after.ts_ms - before.ts_ms for before, after in pairwise(thrice)} == {1000}
    assert [row.service for row in thrice[4000:]] == [row.service for row in once]


def test_a_row_with_too_few_fields_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("1,2,3\n")
    with pytest.raises(ValueError, match=r"a\.csv\.gz, row 0: 3 fields; allowed: 43"):
        connections(path)


def test_the_program_is_consistent() -> None:
    check_program(OutlierDetection(streams=2), {"connections": Connection, "checks": Check}, examples=10)


def check_launch(folder: Path, *options: str) -> None:
    found = launch(APPS / "outlier_detection" / "topology.toml", folder, ["outliers"], *options)["outliers"]
    expected = (DATA / "expected.csv").read_text().splitlines()
    assert [found[0], *sorted(found[1:])] == [expected[0], *sorted(expected[1:])]


@pytest.mark.parametrize("options", quick("detect", 14), ids=" ".join)
def test_a_launch_gives_what_the_reference_gives(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)


@pytest.mark.slow
@pytest.mark.parametrize("options", deployments("detect"), ids=" ".join)
def test_a_launch_gives_the_same_under_every_deployment(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)


@pytest.mark.parametrize("options", quick("detect", 15), ids=" ".join)
def test_a_launch_with_checks_gives_the_outliers_up_to_the_last_one(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    checks = [int(line) for line in (DATA / "checks.csv").read_text().split()[1:]]
    expected = by_program(connections(), checks)
    found = launch(APPS / "outlier_detection" / "checks.toml", tmp_path, ["outliers"], *options)["outliers"]
    assert found == as_csv(reference.COLUMNS, expected, ordered=True)


@pytest.mark.parametrize("key", ["level", "window"])
def test_a_key_that_must_be_at_least_1_is_checked(key: str) -> None:
    said = command(
        "check", APPS / "outlier_detection" / "topology.toml", "--set", f"actors.detect.{key}=0", code=2
    )
    assert f"actors.detect.{key}: is 0; allowed: a whole number from 1" in said
