"""New segments as an operator and as a program: the same as the app's operator, whatever the order."""

from __future__ import annotations

import pytest

from actorstream import Batch
from actorstream.testing import check_program
from apps.linear_road.events import NewSegment, Position
from apps.linear_road.reference import LinearRoad
from benchmarks.linear_road import traffic
from benchmarks.new_segments import NewSegments, NewSegmentsProgram
from benchmarks.suites import order_price

FIELDS = Position.__struct_fields__


def test_the_operator_finds_what_the_reference_finds() -> None:
    columns = {name: values[:20_000] for name, values in traffic(True).items()}
    operator = NewSegments()
    found = []
    for first in range(0, 20_000, 4096):
        part = {name: values[first : first + 4096] for name, values in columns.items()}
        batch = operator.on_batch(Batch.of_columns(Position, part))
        found += list(zip(*(batch[name].tolist() for name in NewSegment.__struct_fields__)))
    rows = zip(*(values.tolist() for values in columns.values()))
    expected = LinearRoad().run((0, *row) for row in rows).results["new_segments"]
    assert found == expected
    assert len(expected) > 1000


def test_the_program_may_run_on_any_plan() -> None:
    check_program(NewSegmentsProgram(), {"inject": Position}, examples=60)


@pytest.mark.parametrize("order", order_price.ORDERS)
def test_the_price_of_each_order_is_that_of_the_same_source(order: str) -> None:
    made, plain = order_price.actors(order, 1.0), order_price.actors("none", 1.0)
    assert (list(made), made["inject"]) == (list(plain), plain["inject"])
    asked = [each.get("order") for name in ("new_seg", "seen") for each in made[name]["inputs"]]
    assert order in asked


@pytest.mark.parametrize("order", order_price.ORDERS)
def test_each_order_is_measured(order: str) -> None:
    found = order_price.Price(order, 1024, 0.1).run()
    assert found.rows > 0
    assert min(found.rate, found.mean_us, found.p99_us) > 0
