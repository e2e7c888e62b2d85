"""split sends each row to the first case that is true, on every deployment."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream import Topology
from actorstream.operators.split import Split
from tests.unit.operators.trades import DEPLOYMENTS, ROWS, problems

THREADS = pytest.param({"schedule": "ct", "threads": 1, "batch_size": 64}, id="threads")
CASES = {"dear": "price >= 300", "odd": "quantity % 2 == 1", "noted": "note is not null"}


@pytest.mark.parametrize("deploy", [*DEPLOYMENTS, THREADS])
def test_each_row_goes_to_the_first_case_that_is_true_and_the_rest_to_default(deploy: dict[str, Any]) -> None:
    topology = Topology("test")
    split = topology.source(ROWS).through("split", cases=CASES)
    found = {name: split[name].collect() for name in (*CASES, "default")}
    topology.run(**deploy)
    expected: dict[str, list[Any]] = {name: [] for name in found}
    for row in ROWS:
        name = (
            "dear" if row.price >= 300 else "odd" if row.quantity % 2 else "noted" if row.note else "default"
        )
        expected[name].append(row)
    assert {name: list(rows) for name, rows in found.items()} == expected


@pytest.mark.parametrize("deploy", [pytest.param({}, id="loop"), THREADS])
@pytest.mark.parametrize("on_error", ["skip", "dead-letter"])
def test_a_case_is_not_asked_for_rows_that_an_earlier_one_took(on_error: Any, deploy: dict[str, Any]) -> None:
    topology = Topology("test")
    cases = {"none": "quantity == 0 and price > 2", "many": "12 // quantity < 3"}
    split = topology.source(ROWS[:40]).through(Split, cases=cases, on_error=on_error)
    none, many, rest = split["none"].collect(), split["many"].collect(), split.collect()
    topology.run(**deploy)
    assert list(none) == [r for r in ROWS[:40] if r.quantity == 0 and r.price > 2]
    assert list(many) == [r for r in ROWS[:40] if r.quantity and 12 // r.quantity < 3]
    assert list(rest) == [r for r in ROWS[:40] if r.quantity and 12 // r.quantity >= 3]


@pytest.mark.parametrize(
    ("cases", "where", "message"),
    [
        ({}, "cases", "is empty"),
        ({"default": "true"}, "cases.default", "is an output of its own"),
        ({"late": "true"}, "cases.late", "is an output of its own"),
        ({"a": "prise > 1"}, "cases.a", "there is no field 'prise'"),
        ({"a": "price"}, "cases.a", "is float64"),
    ],
)
def test_what_is_wrong_is_said_before_the_run(cases: dict[str, str], where: str, message: str) -> None:
    assert problems("split", cases=cases) == [(where, message)]
