"""filter keeps the rows for which its condition is true, on every deployment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorstream import Batch, Topology
from actorstream.errors import RunError
from actorstream.operators.filter import Filter
from tests.unit.operators.trades import DEPLOYMENTS, ROWS, Trade, problems, through


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_rows_for_which_the_condition_is_true_are_kept_in_order(deploy: dict[str, Any]) -> None:
    found = through("filter", deploy=deploy, where="price > 10 and kind == 'buy' and quantity % 2 == 0")
    assert found == [r for r in ROWS if r.price > 10 and r.kind == "buy" and r.quantity % 2 == 0]


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_a_null_is_not_true(deploy: dict[str, Any]) -> None:
    assert through(Filter, deploy=deploy, where="note != 'n4'") == [
        r for r in ROWS if r.note not in (None, "n4")
    ]


def test_a_python_function_of_events_or_of_batches_decides() -> None:
    def cheap(event: Trade) -> bool:
        return event.price < 5

    def cheap_batch(batch: Batch) -> np.ndarray:
        return batch["price"] < 5

    for function in (cheap, cheap_batch):
        assert through(Filter, function=function) == [r for r in ROWS if r.price < 5]


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_rows_without_a_value_are_skipped_one_by_one(deploy: dict[str, Any]) -> None:
    found = through(Filter, deploy=deploy, where="100 // quantity > 20", on_error="skip")
    assert found == [r for r in ROWS if r.quantity and 100 // r.quantity > 20]


def test_rows_without_a_value_become_dead_letters() -> None:
    topology = Topology("test")
    kept = topology.source(ROWS[:30]).through(Filter, where="100 // quantity > 20", on_error="dead-letter")
    good, dead = kept.collect(), kept.dead.collect()
    topology.run()
    assert len(dead) == sum(row.quantity == 0 for row in ROWS[:30])
    assert "integer division by zero" in dead[0].error and "quantity = 0" in dead[0].error
    assert dead[0].event == repr(ROWS[0])
    assert all(row.quantity for row in good)


def test_a_row_without_a_value_ends_the_run_unless_told_otherwise() -> None:
    with pytest.raises(RunError, match=r"integer division by zero.*quantity = 0"):
        through(Filter, where="100 // quantity > 20")


@pytest.mark.parametrize(
    ("keys", "where", "message"),
    [
        ({}, "where", "is missing"),
        ({"where": "prise > 1"}, "where", "there is no field 'prise'"),
        ({"where": "price"}, "where", "is float64"),
        ({"where": "kind == 'by'"}, "where", "'by' is not one of the categories of kind"),
        ({"where": "price > 1", "native": "math:sin"}, "native", "has where, native"),
        (
            {"where": "price > 1", "columns": ["price"]},
            "columns",
            "is given with `where`, which does not use it",
        ),
        (
            {"native": "math:sin", "columns": ["price"]},
            "native",
            "'math:sin' is builtin_function_or_method sin",
        ),
    ],
)
def test_what_is_wrong_is_said_before_the_run(keys: dict[str, Any], where: str, message: str) -> None:
    assert problems("filter", **keys) == [(where, message)]
