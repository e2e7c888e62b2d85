"""Random expressions over random rows give what plain Python gives row by row: values, nulls and failed rows."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch
from actorstream.operators.expressions import Expression, RowErrors, compile_expression

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode adds no folder by itself

from expression_model import NoValueError, Random, Sample, row_of, sample_of
from expression_texts import bools, floats, ints, words

FAILED = object()
MANY = settings(max_examples=150, deadline=None)


def by_python(random: Random, batch: Batch) -> list[Any]:
    found = []
    for event in batch.events():
        try:
            found.append(random.value(row_of(event)))
        except NoValueError:
            found.append(FAILED)
    return found


def by_engine(expression: Expression, batch: Batch) -> list[Any]:
    """The values; rows that fail are taken out until the others have theirs."""
    found: list[Any] = [FAILED] * batch.rows
    rows = list(range(batch.rows))
    while True:
        try:
            values = expression.evaluate(batch.take(rows)).tolist()
        except RowErrors as error:
            failed = set(error.rows.tolist())
            assert failed and len(error.errors()) == len(failed)
            rows = [row for number, row in enumerate(rows) if number not in failed]
            continue
        for row, value in zip(rows, values):
            found[row] = value
        return found


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    return type(a) is type(b) and a == b


def check(random: Random, rows: list[Sample]) -> None:
    batch = Batch.of_events(Sample, rows)
    expression = compile_expression(random.text, batch.schema)
    expected, found = by_python(random, batch), by_engine(expression, batch)
    assert len(found) == len(expected)
    for row, (a, b) in enumerate(zip(expected, found)):
        assert same(a, b), f"{random.text} of {rows[row]}: Python {a!r}, engine {b!r}"
        assert a is not None or expression.type.nullable


ROW_LISTS = st.builds(
    lambda rows, seed: [*map(sample_of, rows * [random.Random(seed)])], st.integers(1, 9), st.integers(0)
)


@MANY
@given(ints(), ROW_LISTS)
def test_integers_are_what_python_computes(random: Random, rows: list[Sample]) -> None:
    check(random, rows)


@MANY
@given(floats(), ROW_LISTS)
def test_floats_are_what_python_computes(random: Random, rows: list[Sample]) -> None:
    check(random, rows)


@MANY
@given(words(), ROW_LISTS)
def test_text_is_what_python_computes(random: Random, rows: list[Sample]) -> None:
    check(random, rows)


@MANY
@given(bools(), ROW_LISTS)
def test_conditions_are_what_python_computes(random: Random, rows: list[Sample]) -> None:
    check(random, rows)
