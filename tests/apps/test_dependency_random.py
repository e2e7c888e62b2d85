"""Theorem 3.5 end to end: random inputs under random plans and deployments give the files of the references."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from apps.keyed_counters import reference as keyed_counters
from apps.outlier_detection import reference as outlier_detection
from apps.page_view_join import reference as page_view_join
from apps.rule_fraud import reference as rule_fraud
from apps.smart_home import reference as smart_home
from apps.value_barrier import reference as value_barrier
from tests.apps.dependency import APPS, as_csv, launch, rows_of, write_rows

SEEDS = range(12)


class Chance(random.Random):
    """Random inputs and deployments."""

    def times(self, count: int, most: int) -> list[int]:
        return sorted(self.randint(0, most) for _ in range(count))

    def size(self) -> tuple[int, int]:
        """How many events, and their greatest time: with many ties or few."""
        return self.choice([0, 5, 300, 2000]), self.choice([3, 50, 5000])

    def few(self) -> int:
        return self.choice([0, 1, 20])

    def deployment(self, program: str) -> list[str]:
        settings = {
            "deploy.workers": self.choice([1, 2, 3, 4]),
            "deploy.batch_size": self.choice([1, 3, 7, 100, 4096]),
            f"actors.{program}.plan": self.choice(["communication", "balanced", "sequential"]),
            f"actors.{program}.plan_workers": self.choice(["auto", 1, 3, 6]),
        }
        return set_all(settings)


def set_all(settings: dict[str, Any]) -> list[str]:
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    return write_rows(path, columns, [dict(zip(columns, map(str, row))) for row in rows])


def any_order(lines: list[str]) -> list[str]:
    return [lines[0], *sorted(lines[1:])]


def run(
    chance: Chance,
    app: str,
    program: str,
    sinks: Sequence[str],
    folder: Path,
    topology: str = "topology.toml",
    **keys: Any,
) -> Any:
    """Launches an app on files; sink -> lines. `keys`: ACTOR__KEY."""
    settings = {f"actors.{name.replace('__', '.')}": value for name, value in keys.items()}
    options = [*chance.deployment(program), *set_all(settings)]
    return launch(APPS / app / topology, folder, sinks, *options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_sums_are_those_of_the_reference(seed: int, tmp_path: Path) -> None:
    chance = Chance(seed)
    rows, most = chance.size()
    values = write(
        tmp_path / "values.csv",
        ("stream", "ts", "value"),
        [(chance.choice("abcde"), ts, chance.randint(-100, 2000)) for ts in chance.times(rows, most)],
    )
    barriers = write(tmp_path / "barriers.csv", ("ts",), [(ts,) for ts in chance.times(chance.few(), most)])
    files = {"values__path": values, "barriers__path": barriers}
    found = run(chance, "value_barrier", "sum", ["sums"], tmp_path, **files)
    expected = value_barrier.sums(rows_of(values), rows_of(barriers))
    assert found["sums"] == as_csv(value_barrier.COLUMNS, expected, ordered=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_aggregates_and_frauds_are_those_of_the_reference(seed: int, tmp_path: Path) -> None:
    chance = Chance(seed)
    rows, most = chance.size()
    transactions = write(
        tmp_path / "transactions.csv",
        ("stream", "ts", "value"),
        [(chance.choice("ab"), ts, chance.randint(-100, 2000)) for ts in chance.times(rows, most)],
    )
    rules = [(ts, chance.randint(-50, 5000)) for ts in chance.times(chance.few(), most)]
    files = {"transactions__path": transactions}
    files["rules__path"] = write(tmp_path / "rules.csv", ("ts", "value"), rules)
    found = run(chance, "rule_fraud", "detect", ["aggregates", "frauds"], tmp_path, **files)
    aggregates, frauds = rule_fraud.detect(rows_of(transactions), rows_of(files["rules__path"]))
    assert found["aggregates"] == as_csv(rule_fraud.AGGREGATES, aggregates, ordered=True)
    assert any_order(found["frauds"]) == as_csv(rule_fraud.FRAUDS, frauds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_joined_views_and_replaced_metadata_are_those_of_the_reference(seed: int, tmp_path: Path) -> None:
    chance = Chance(seed)
    rows, most = chance.size()
    pages = [f"p{number}" for number in range(chance.choice([1, 2, 9]))]
    views = write(
        tmp_path / "views.csv",
        ("stream", "ts", "view_id", "page"),
        [
            (chance.choice("abc"), ts, number, chance.choice(pages))
            for number, ts in enumerate(chance.times(rows, most))
        ],
    )
    updates = write(
        tmp_path / "updates.csv",
        ("ts", "page", "metadata"),
        [
            (ts, chance.choice([*pages, "unseen"]), chance.choice(["a", "b c", 'q"u,o', ""]))
            for ts in chance.times(chance.few(), most)
        ],
    )
    files = {"views__path": views, "updates__path": updates, "join__classes": chance.choice([0, 3])}
    found = run(chance, "page_view_join", "join", ["joined", "replaced"], tmp_path, **files)
    joined, replaced = page_view_join.join(rows_of(views), rows_of(updates))
    assert any_order(found["joined"]) == as_csv(page_view_join.JOINED, joined)
    assert any_order(found["replaced"]) == as_csv(page_view_join.REPLACED, replaced)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_reads_are_those_of_the_reference_in_order_for_each_key(seed: int, tmp_path: Path) -> None:
    chance = Chance(seed)
    rows, most = chance.size()
    events = write(
        tmp_path / "events.csv",
        ("ts", "seq", "op", "key"),
        [
            (ts, number, chance.choice("iiiir"), chance.randint(0, 4))
            for number, ts in enumerate(chance.times(rows, most))
        ],
    )
    files = {"events__path": events, "count__classes": chance.choice([0, 2])}
    found = run(chance, "keyed_counters", "count", ["reads"], tmp_path, **files)["reads"]
    expected = as_csv(keyed_counters.COLUMNS, keyed_counters.reads(rows_of(events)), ordered=True)
    by_key = [sorted(lines[1:], key=lambda line: line.split(",")[0]) for lines in (found, expected)]
    assert by_key[0] == by_key[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_averages_and_predictions_are_those_of_the_reference(seed: int, tmp_path: Path) -> None:
    chance = Chance(seed)
    rows, most = chance.size()
    houses = chance.choice([1, 3, 12])
    columns = ("ts", "value", "property", "plug", "household", "house")
    made = [
        (1000 + ts, round(chance.random() * 100, 3), *map(chance.randint, (0,) * 4, (1, 3, 1, houses)))
        for ts in chance.times(rows, most)
    ]
    origin, size = chance.choice([0, 1000, 1003]), chance.choice([3, 10, 700])
    day = chance.choice([1, 4])
    files: dict[str, Any] = {"measurements__path": write(tmp_path / "measured.csv", columns, made)}
    keys = {"average__origin": origin, "average__slice": size, "average__slices_per_day": day}
    found = run(chance, "smart_home", "average", list(smart_home.COLUMNS), tmp_path, **files, **keys)
    loads = smart_home.loads(rows_of(files["measurements__path"]), origin, size)
    expected = smart_home.predict(loads, day)
    for name in smart_home.COLUMNS:
        lines = sorted(tuple(map(float, row)) for row in csv.reader(found[name][1:]))
        assert lines == sorted(expected[name])


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_outliers_are_those_of_the_reference(seed: int, tmp_path: Path) -> None:
    """Real connections at random times, and checks among them or one at the end."""
    chance = Chance(seed)
    data = APPS / "outlier_detection" / "data" / "connections.csv.gz"
    real = list(csv.reader(gzip.decompress(data.read_bytes()).decode().splitlines()))
    rows, most = chance.choice([0, 5, 150, 300]), chance.choice([3, 5000])
    path = tmp_path / "connections.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([ts, *chance.choice(real)[1:]] for ts in chance.times(rows, most))
    parameters = outlier_detection.Parameters(
        chance.choice([1, 4, 7]), chance.choice([2, 10]), chance.choice([1, 2])
    )
    keys = {f"detect__{name}": value for name, value in parameters._asdict().items()}
    checks: list[int] | None = None
    if chance.random() < 0.7:
        checks = chance.times(chance.few(), most)
        keys["checks__path"] = write(tmp_path / "checks.csv", ("ts",), [(ts,) for ts in checks])
    topology = "topology.toml" if checks is None else "checks.toml"
    keys["connections__path"] = path
    found = run(chance, "outlier_detection", "detect", ["outliers"], tmp_path, topology, **keys)
    expected = outlier_detection.detect(outlier_detection.read(path), checks, parameters)
    assert found["outliers"] == as_csv(outlier_detection.COLUMNS, expected, ordered=True)
