"""Fraud detection: the program is its reference, on the shipped data and on random streams; its generator."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.dgs.sequential import InputStream
from actorstream.testing import check_program
from apps.rule_fraud import generate, reference
from apps.rule_fraud.events import Rule, Transaction
from apps.rule_fraud.program import RuleFraud
from tests.apps.dependency import (
    APPS,
    Out,
    Row,
    as_csv,
    deployments,
    launch,
    outputs,
    quick,
    read_all,
    rows_of,
    streams,
)

DATA = APPS / "rule_fraud" / "data"


def by_program(transactions: list[Row], rules: list[Row], batches: bool) -> tuple[list[Out], list[Out]]:
    inputs = streams("rules", Rule, rules) + streams("transactions", Transaction, transactions, "stream")
    found = outputs(RuleFraud(), inputs, batches)
    return found.get("aggregates", []), found.get("frauds", [])


@pytest.mark.parametrize("batches", [False, True])
def test_the_program_gives_the_aggregates_and_frauds_of_the_reference(batches: bool) -> None:
    transactions, rules = rows_of(DATA / "transactions.csv.gz"), rows_of(DATA / "rules.csv")
    aggregates, frauds = by_program(transactions, rules, batches)
    expected = reference.detect(transactions, rules)
    assert aggregates == expected[0]
    assert sorted(frauds) == sorted(expected[1])
    assert len(aggregates) == 20
    assert len(frauds) > 10


times = st.integers(0, 6)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), times, st.sampled_from([-1000, -1, 0, 7, 1007])), max_size=12),
    st.lists(st.tuples(times, st.sampled_from([-14, 0, 7, 993])), max_size=4),
    st.booleans(),
)
def test_random_streams_with_ties_give_what_the_reference_gives(
    transactions: list[tuple[str, int, int]], rules: list[tuple[int, int]], batches: bool
) -> None:
    rows = [
        {"stream": name, "ts": str(ts), "value": str(value)}
        for name, ts, value in sorted(transactions, key=lambda each: each[1])
    ]
    asked = [{"ts": str(ts), "value": str(value)} for ts, value in sorted(rules, key=lambda rule: rule[0])]
    aggregates, frauds = by_program(rows, asked, batches)
    expected = reference.detect(rows, asked)
    assert aggregates == expected[0]
    assert sorted(frauds) == sorted(expected[1])


def test_the_latest_rule_and_its_aggregate_say_what_a_fraud_is() -> None:
    transactions = [
        {"stream": "a", "ts": str(ts), "value": str(value)}
        for ts, value in ((1, 3000), (1, 5), (2, 10), (3, 12), (3, 1012))
    ]
    aggregates, frauds = by_program(transactions, [{"ts": "2", "value": "7"}], False)
    assert aggregates == [(2, 3005)]
    assert frauds == [("a", 1, 3000), ("a", 3, 12), ("a", 3, 1012)]


def test_the_data_of_the_app_is_what_the_command_writes(tmp_path: Path) -> None:
    generate.write(tmp_path, 4, 20, 100, 1)
    for name in ("transactions.csv.gz", "rules.csv"):
        assert rows_of(tmp_path / name) == rows_of(DATA / name)


def test_generated_transactions_do_not_depend_on_how_many_are_read_at_once() -> None:
    few, many = (read_all(generate.Transactions(count=200_001, shards=3), rows) for rows in (777, 1 << 20))
    assert few == many
    assert len({event.ts for events in few.values() for event in events}) == 200_001


def test_generated_streams_have_frauds_between_as_many_rules_as_asked_for() -> None:
    transactions = read_all(generate.Transactions(count=30_000, shards=2), 4096)
    rules = read_all(generate.Rules(count=5, shards=2, per_rule=3000), 2)
    inputs = [InputStream("rules", rules[0])]
    inputs += [InputStream("transactions", events) for events in transactions.values()]
    found = outputs(RuleFraud(), inputs, True)
    assert [ts for ts, _ in found["aggregates"]] == [6000, 12_000, 18_000, 24_000, 30_000]
    assert 10 < len(found["frauds"]) < 60


def test_the_program_is_consistent() -> None:
    check_program(RuleFraud(), {"transactions": Transaction, "rules": Rule}, examples=40)


def check_launch(folder: Path, *options: str) -> None:
    expected = reference.detect(rows_of(DATA / "transactions.csv.gz"), rows_of(DATA / "rules.csv"))
    found = launch(APPS / "rule_fraud" / "topology.toml", folder, ["aggregates", "frauds"], *options)
    assert found["aggregates"] == as_csv(reference.AGGREGATES, expected[0], ordered=True)
    assert [found["frauds"][0], *sorted(found["frauds"][1:])] == as_csv(reference.FRAUDS, expected[1])


@pytest.mark.parametrize("options", quick("detect", 12), ids=" ".join)
def test_a_launch_gives_what_the_reference_gives(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)


@pytest.mark.slow
@pytest.mark.parametrize("options", deployments("detect"), ids=" ".join)
def test_a_launch_gives_the_same_under_every_deployment(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)
