"""Card fraud through the real command line: the expected scores at every speed and under every deployment; its model, its
generator and its errors."""

from __future__ import annotations

import csv
import gzip
import io
import shutil
from collections import Counter
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from actorstream import Batch
from apps.card_fraud import generate, reference
from apps.card_fraud.generate import PART, STATES, Transactions, write
from tests.apps.launched import command

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps" / "card_fraud"
TRANSACTIONS, MODEL = APP / "data" / "transactions.csv.gz", APP / "data" / "model.txt"
EXPECTED = Path(__file__).with_name("data") / "card_fraud" / "expected.csv.gz"
SPEEDS = ("topology.toml", "batch.toml", "native.toml")
Row = tuple[str, str, float, int]


def rows(text: str) -> list[Row]:
    header, *found = csv.reader(io.StringIO(text))
    assert header == ["customer", "transaction", "score", "outlier"]
    return sorted((customer, name, float(score), int(outlier)) for customer, name, score, outlier in found)


def launch(folder: Path, topology: str, *options: str) -> str:
    """Runs a topology of the app; the file that it writes."""
    out = folder / "scores.csv"
    command("launch", APP / topology, "--set", f"actors.scores.path={out}", *options)
    return out.read_text()


def transactions() -> list[list[str]]:
    return list(csv.reader(io.StringIO(gzip.decompress(TRANSACTIONS.read_bytes()).decode())))


def scored(given: list[list[str]], model: Path = MODEL) -> list[Row]:
    """The scores by another way than the app's: a step's miss probability is what its row lacks of the step itself."""
    lines = model.read_text().split()
    names = lines[0].split(",")
    steps = {
        (before, after): float(value)
        for before, line in zip(names, lines[1:])
        for after, value in zip(names, line.split(","))
    }
    row_sums = {name: fsum(steps[name, other] for other in names) for name in names}
    histories: dict[str, list[str]] = {}
    found = []
    for customer, transaction, state in given:
        history = histories.setdefault(customer, [])
        history.append(state)
        pairs = list(zip(history[-5:], history[-4:]))
        score = fsum(row_sums[a] - steps[a, b] for a, b in pairs) / 4 if len(history) >= 5 else 0.0
        found.append((customer, transaction, score, int(score > 0.96)))
    return sorted(found)


def same(found: list[Row], expected: list[Row]) -> None:
    assert [row[:2] + row[3:] for row in found] == [row[:2] + row[3:] for row in expected]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected], abs=1e-9)


@pytest.fixture(scope="module")
def expected() -> list[Row]:
    return rows(gzip.decompress(EXPECTED.read_bytes()).decode())


def test_two_independent_computations_and_the_reference_agree(expected: list[Row]) -> None:
    same(scored(transactions()), expected)
    same(sorted(reference.scores(reference.read(TRANSACTIONS), MODEL)), expected)
    assert sum(row[3] for row in expected) == 23


def test_the_reference_does_not_depend_on_how_python_adds_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(reference.scores(reference.read(TRANSACTIONS), MODEL))
    monkeypatch.setattr(reference, "sum", fsum, raising=False)  # nearly what `sum` is from Python 3.12 on
    assert list(reference.scores(reference.read(TRANSACTIONS), MODEL)) == found


@pytest.mark.parametrize("topology", SPEEDS)
@pytest.mark.parametrize(("workers", "transport", "batch_size"), [(2, "shm", 61), (4, "shm", 1000)])
def test_scores_are_the_expected_ones_at_every_speed_and_under_every_deployment(
    topology: str, workers: int, transport: str, batch_size: int, tmp_path: Path, expected: list[Row]
) -> None:
    options = ("--workers", str(workers), "--transport", transport)
    found = launch(tmp_path, topology, *options, "--set", f"deploy.batch_size={batch_size}")
    same(rows(found), expected)
    assert sorted(found.splitlines()[1:]) == sorted(
        f"{customer},{name},{score},{outlier}"
        for customer, name, score, outlier in reference.scores(reference.read(TRANSACTIONS), MODEL)
    )


@pytest.mark.parametrize("topology", SPEEDS)
def test_another_model_and_any_names_of_customers_and_states_are_scored(
    topology: str, tmp_path: Path
) -> None:
    states = ["a", "state with spaces", "x" * 17, "x" * 18, "é"]
    model, given = tmp_path / "model.txt", tmp_path / "transactions.csv"
    steps = [[(3 * one + 7 * other) % 11 / 40 for other in range(5)] for one in range(5)]
    model.write_text("\n".join([",".join(states), *(",".join(map(str, step)) for step in steps)]) + "\n")
    customers = ["", "b", "y" * 16, "y" * 17, "y" * 40 + "1", "y" * 40 + "2"]
    made = [
        [customers[number * 7 % 6], f"t{number}", states[number * number % 5 - number % 2]]
        for number in range(200)
    ]
    given.write_text("".join(",".join(part or '""' for part in row) + "\n" for row in made))
    sets = (f"actors.transactions.path={given}", f"actors.predict.model={model}", "deploy.batch_size=13")
    found = launch(tmp_path, topology, *(word for each in sets for word in ("--set", each)))
    expected = [(customer, name, score, 0) for customer, name, score, _ in reference.scores(made, model)]
    same([(*row[:3], 0) for row in rows(found)], sorted(expected))


@pytest.mark.parametrize("topology", SPEEDS)
def test_a_state_that_the_model_does_not_know_ends_the_run_with_its_name(
    topology: str, tmp_path: Path
) -> None:
    (tmp_path / "one.csv").write_text("a,1,LNL\na,2,LNX\n")
    path = f"actors.transactions.path={tmp_path / 'one.csv'}"
    said = command(
        "launch", APP / topology, "--set", path, "--set", f"actors.scores.path={tmp_path}/out.csv", code=1
    )
    assert "state 'LNX' is not one of the model" in said
    assert "allowed: LNL, LNN" in said
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("topology", SPEEDS)
def test_rows_with_an_unknown_state_alone_are_skipped(topology: str, tmp_path: Path) -> None:
    good = transactions()[:1500]
    given: list[list[str]] = []
    for number, row in enumerate(good):
        given += [[*row[:2], "none"], row] if number % 400 == 0 else [row]
    (tmp_path / "given.csv").write_text("".join(",".join(row) + "\n" for row in given))
    sets = (f"actors.transactions.path={tmp_path / 'given.csv'}", "actors.predict.on_error=skip")
    found = launch(tmp_path, topology, *(word for each in sets for word in ("--set", each)))
    assert len(given) == 1504
    same(rows(found), scored(good))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: ''; allowed: up to 255 different names"),
        ("a,a\n0,1\n1,0\n", "line 1: 'a,a'; allowed: up to 255 different names"),
        ("a,b\n0,1\n", "1 lines of probabilities; allowed: one for each of its 2 states"),
        ("a,b\n0,1\n1\n", "line 3: '1'; allowed: 2 probabilities from 0 to 1"),
        ("a,b\n0,1\n1,nan\n", "line 3: '1,nan'; allowed: 2 probabilities from 0 to 1"),
        (None, "cannot be read (No such file or directory)"),
    ],
)
def test_check_says_what_is_wrong_with_a_model(text: str | None, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    if text is not None:
        path.write_text(text)
    said = command("check", APP / "topology.toml", "--set", f"actors.predict.model={path}", code=2)
    assert f"model {path}" in said
    assert problem in said


def test_a_missing_model_is_reported_beside_the_other_problems(tmp_path: Path) -> None:
    topology = tmp_path / "topology.toml"
    text = (APP / "topology.toml").read_text().replace('model = "data/model.txt"\n', "")
    topology.write_text(text.replace("data/transactions.csv.gz", str(TRANSACTIONS)))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    said = command("check", topology, "--set", f"actors.scores.path={tmp_path}/out.csv", code=2)
    assert "actors.predict.model" in said


def test_generated_transactions_have_the_shares_of_their_kinds_and_names_of_their_own() -> None:
    made = generate.transactions(0, 300, 1)
    assert len(set(made["customer"].to_pylist())) == 300
    assert len(set(made["transaction"].to_pylist())) == PART
    counts = Counter(made["state"].to_pylist())
    assert set(counts) == set(STATES)
    for position, letters in enumerate(("LMH", "NH", "LNS")):
        for letter, share in zip(letters, generate.SHARES[position]):
            found = sum(count for state, count in counts.items() if state[position] == letter) / PART
            assert found == pytest.approx(share, abs=0.01)


def test_shards_of_the_source_have_customers_of_their_own() -> None:
    source = Transactions(count=2000, shards=2, customers=50)

    def customers(partition: str) -> set[Any]:
        source.open([partition])
        batch = source.read(1000)
        assert isinstance(batch, Batch) and batch.rows == 1000
        return set(batch["customer"].to_pylist())

    first, second = map(customers, source.partitions())
    assert (len(first), len(second), first & second) == (25, 25, set())


def test_more_shards_than_customers_are_refused() -> None:
    with pytest.raises(ValueError, match="customers is 1; allowed: at least one for each of 2 shards"):
        Transactions(shards=2, customers=1)


def test_a_file_of_any_length_begins_as_a_longer_one(tmp_path: Path) -> None:
    write(tmp_path / "long.csv", PART + 10, 50, 4)
    write(tmp_path / "short.csv.gz", 100, 50, 4)
    lines = (tmp_path / "long.csv").read_bytes().splitlines()
    assert len(lines) == PART + 10
    assert gzip.decompress((tmp_path / "short.csv.gz").read_bytes()).splitlines() == lines[:100]


def test_the_benchmark_scores_what_its_source_makes(tmp_path: Path) -> None:
    """The same scores at each speed, of as many transactions as were asked for."""
    found = []
    for kind in ("operators:Predict", "batch_operators:PredictBatch", "native_operators:PredictNative"):
        out = tmp_path / f"{kind.partition(':')[2]}.csv"
        sets = [
            "actors.transactions.count=3000",
            "actors.transactions.customers=40",
            "actors.scores.type=csv-sink",
            "actors.scores.replicas=1",
            f"actors.scores.path={out}",
            f"actors.predict.type=apps.card_fraud.{kind}",
            "deploy.batch_size=100",
        ]
        command("launch", APP / "bench.toml", *(word for each in sets for word in ("--set", each)))
        found.append(rows(out.read_text()))
    assert len(found[0]) == 3000
    assert found[0] == found[1] == found[2]
