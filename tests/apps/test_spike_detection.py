"""Spike detection through the real command line: the spikes that an independent computation finds, in input order, at every
speed and under every deployment; NAB's series; its generator and its errors."""

from __future__ import annotations

import csv
import gzip
import io
import random
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from actorstream import Batch
from apps.spike_detection import generate, reference
from apps.spike_detection.generate import PART, Readings, write
from tests.apps.launched import command

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps" / "spike_detection"
READINGS, NAB = APP / "data" / "readings.csv.gz", APP / "data" / "nab"
SPEEDS = ("topology.toml", "batch.toml", "native.toml")
Row = tuple[str, str, float, float]


def launch(folder: Path, topology: str, *sets: str, code: int = 0) -> tuple[str, str]:
    """Runs a topology of the app; the file that it writes, and what the command says."""
    out = folder / f"{topology}.csv"
    words = [word for each in (f"actors.spikes.path={out}", *sets) for word in ("--set", each)]
    said = command("launch", APP / topology, *words, code=code)
    return out.read_text() if code == 0 else "", said


def rows(text: str) -> list[Row]:
    header, *found = csv.reader(io.StringIO(text))
    assert header == ["mote_id", "reading", "value", "moving_avg"]
    return [(mote, reading, float(value), float(average)) for mote, reading, value, average in found]


def same(found: list[Row], expected: list[Row]) -> None:
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in expected], rel=1e-12)


def spikes(given: list[tuple[str, str, float]], window: int, threshold: float) -> list[Row]:
    """By exact fractions: a running sum to which the new value is added and from which the one that has left is taken."""
    values: dict[str, list[Fraction]] = defaultdict(list)
    sums: dict[str, Fraction] = defaultdict(Fraction)
    found = []
    for mote, reading, value in given:
        of_mote = values[mote]
        of_mote.append(Fraction(value))
        sums[mote] += of_mote[-1]
        if len(of_mote) > window:
            sums[mote] -= of_mote[-window - 1]
        average = sums[mote] / min(window, len(of_mote))
        if abs(of_mote[-1] - average) > Fraction(threshold) * average:
            found.append((mote, reading, value, float(average)))
    return found


def readings_of(path: Path, mote: str, reading: str, value: str) -> list[tuple[str, str, float]]:
    """The rows of a csv file; `mote` is a column, or the name of the only one."""
    with gzip.open(path, "rt") as file:
        return [(row.get(mote, mote), row[reading], float(row[value])) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def given_rows() -> list[tuple[str, str, float]]:
    return readings_of(READINGS, "mote_id", "reading", "temperature")


@pytest.fixture(scope="module")
def given_spikes(given_rows: list[tuple[str, str, float]]) -> list[Row]:
    return spikes(given_rows, 37, 0.03)


@pytest.mark.parametrize(("window", "threshold"), [(1000, 0.03), (37, 0.02), (1, 0.03), (2, 0.1)])
def test_the_reference_agrees_with_exact_fractions(
    window: int, threshold: float, given_rows: list[tuple[str, str, float]]
) -> None:
    found = list(reference.spikes(reference.read(READINGS), window, threshold))
    same(found, spikes(given_rows, window, threshold))
    assert window == 1 or found


@pytest.mark.parametrize("topology", SPEEDS)
@pytest.mark.parametrize(("workers", "transport", "batch_size"), [(2, "shm", 501), (4, "shm", 4096)])
def test_spikes_come_in_input_order_at_every_speed_and_under_every_deployment(
    topology: str, workers: int, transport: str, batch_size: int, tmp_path: Path, given_spikes: list[Row]
) -> None:
    deploy = {"workers": workers, "transport": transport, "batch_size": batch_size}
    sets = [f"deploy.{key}={value}" for key, value in deploy.items()]
    found, _ = launch(tmp_path, topology, "actors.average.window=37", *sets)
    same(rows(found), given_spikes)


def test_all_speeds_write_the_same_bytes_for_any_field_window_and_threshold(tmp_path: Path) -> None:
    given = readings_of(READINGS, "mote_id", "reading", "humidity")[:5000]
    for window, threshold in ((64, 0.01), (1000, 0.02)):
        keys = ("actors.readings.count=5000", "actors.average.field=humidity")
        keys += (f"actors.average.window={window}", f"actors.detect.threshold={threshold}")
        found = {launch(tmp_path, topology, *keys)[0] for topology in SPEEDS}
        (text,) = found
        same(rows(text), spikes(given, window, threshold))
        assert text.count("\n") > 1


@pytest.mark.parametrize(
    ("series", "window", "threshold"),
    [("machine", 288, 0.3), ("machine", 1000, 0.03), ("ambient", 24, 0.1), ("ambient", 1000, 0.03)],
)
def test_spikes_of_both_series_of_nab_are_found(
    series: str, window: int, threshold: float, tmp_path: Path
) -> None:
    path = NAB / f"{series}_temperature_system_failure.csv.gz"
    keys = (f"actors.readings.path={path}", f"actors.average.window={window}")
    found, _ = launch(tmp_path, "nab.toml", *keys, f"actors.detect.threshold={threshold}")
    given = readings_of(path, "1", "timestamp", "value")
    expected = spikes(given, window, threshold)
    same(rows(found), expected)
    assert expected
    assert list(reference.read(path)) == list(given)


@pytest.mark.parametrize("topology", SPEEDS)
def test_negative_values_nan_and_further_columns_are_taken_as_they_are(topology: str, tmp_path: Path) -> None:
    """A mean below 0 makes any reading a spike, by the rule; nan compares with nothing, and is gone when its window is."""
    dice = random.Random(3)
    made = [(dice.randrange(3), number, dice.choice([-5.0, 20.0, 20.5, 60.0])) for number in range(120)]
    lines = [f"x,{number},{mote},0.5,{'nan' if number == 30 else value}" for mote, number, value in made]
    path = tmp_path / "readings.csv"
    path.write_text("\n".join(["other,reading,mote_id,humidity,temperature", *lines]) + "\n")
    found, _ = launch(tmp_path, topology, f"actors.readings.path={path}", "actors.average.window=4")
    given = [(str(mote), str(number), value) for mote, number, value in made]
    ill = made[30][0]
    expected = [row for row in spikes(given, 4, 0.03) if row[0] != str(ill) or int(row[1]) < 30]
    after = [row for row in given if row[0] == str(ill)]
    healthy = after.index(given[30]) + 4  # the window of this one has the nan no more
    late = spikes([(*row[:2], 0.0 if row is given[30] else row[2]) for row in after], 4, 0.03)
    expected += [row for row in late if int(row[1]) >= int(after[healthy][1])]
    same(rows(found), sorted(expected, key=lambda row: int(row[1])))


@pytest.mark.parametrize("topology", SPEEDS)
def test_signals_have_a_row_for_each_reading(topology: str, tmp_path: Path) -> None:
    sets = ("actors.detect.signals=true", "actors.average.window=37", "actors.readings.count=3000")
    found, _ = launch(tmp_path, topology, *sets)
    header, *made = csv.reader(io.StringIO(found))
    assert header == ["mote_id", "reading", "value", "moving_avg", "spike"]
    assert [row[1] for row in made] == [str(number) for number in range(3000)]
    spiky = [row[1] for row in made if row[4] == "true"]
    alone = rows(launch(tmp_path, topology, *sets[1:])[0])
    assert spiky == [row[1] for row in alone]
    assert 0 < len(spiky) < 100


@pytest.mark.parametrize(
    ("topology", "keys", "problem"),
    [
        ("topology.toml", ["actors.average.field=mote_id"], "'mote_id' is no field of numbers"),
        ("topology.toml", ["actors.average.window=0"], "allowed: a whole number from 1"),
        ("topology.toml", ["actors.average.field=wind"], "allowed: humidity, temperature"),
        ("topology.toml", ["actors.detect.treshold=1"], "did you mean 'threshold'?"),
        ("native.toml", ["actors.readings.schema.mote_id=str"], "use batch_operators:AverageBatch"),
    ],
)
def test_check_says_what_is_wrong(topology: str, keys: list[str], problem: str) -> None:
    words = [word for each in keys for word in ("--set", each)]
    assert problem in command("check", APP / topology, *words, code=2)


def test_the_data_of_the_app_is_what_the_command_writes(tmp_path: Path) -> None:
    write(tmp_path / "readings.csv.gz", 20_000, 54, 1)
    assert gzip.decompress((tmp_path / "readings.csv.gz").read_bytes()) == gzip.decompress(
        READINGS.read_bytes()
    )


def test_a_file_of_any_length_begins_as_a_longer_one(tmp_path: Path) -> None:
    write(tmp_path / "long.csv", PART + 10, 7, 4)
    write(tmp_path / "short.csv", 100, 7, 4)
    lines = (tmp_path / "long.csv").read_bytes().splitlines()
    assert len(lines) == 1 + PART + 10
    assert (tmp_path / "short.csv").read_bytes().splitlines() == lines[:101]
    assert {int(line.split(b",")[1]) for line in lines[1:]} == set(range(1, 8))


def test_shards_of_the_source_have_motes_of_their_own() -> None:
    source = Readings(count=2000, shards=2, motes=9)

    def motes(partition: str) -> set[int]:
        source.open([partition])
        batch = source.read(1000)
        assert isinstance(batch, Batch) and batch.rows == 1000
        return set(batch["mote_id"].tolist())

    assert [motes(name) for name in source.partitions()] == [{1, 3, 5, 7, 9}, {2, 4, 6, 8}]


def test_more_shards_than_motes_are_refused() -> None:
    with pytest.raises(ValueError, match="motes is 1; allowed: at least one for each of 2 shards"):
        Readings(shards=2, motes=1)


def test_the_benchmark_finds_the_spikes_of_what_its_source_makes(tmp_path: Path) -> None:
    """At each speed, with a signal for each reading and with spikes only."""
    parts = [generate.readings(part, 10, 1, part, 2) for part in range(2)]
    made = [
        (str(mote), str(number), value)
        for part in parts
        for number, mote, value in zip(
            *(part[name][:2000].tolist() for name in ("reading", "mote_id", "temperature"))
        )
    ]
    expected = sorted(spikes(made, 50, 0.03))
    for average, detect in (
        ("operators:Average", "operators:Detect"),
        ("batch_operators:AverageBatch", "batch_operators:DetectBatch"),
        ("native_operators:AverageNative", "native_operators:DetectNative"),
    ):
        sets = (
            *("actors.readings.count=4000", "actors.readings.motes=10", "actors.average.window=50"),
            *("actors.spikes.type=csv-sink", "actors.spikes.replicas=1", "actors.detect.signals=false"),
            f"actors.average.type=apps.spike_detection.{average}",
            f"actors.detect.type=apps.spike_detection.{detect}",
        )
        same(sorted(rows(launch(tmp_path, "bench.toml", *sets)[0])), expected)
    assert expected
