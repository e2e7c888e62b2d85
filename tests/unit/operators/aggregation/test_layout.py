"""Aggregates share the accumulators and the columns that they have in common."""

from __future__ import annotations

from actorstream import Schema
from actorstream.native import cells
from actorstream.operators.aggregation.layout import CellLayout
from actorstream.operators.aggregation.outputs import output_of

ROW = Schema.from_dict({"ts": "int", "price": "float?", "number": "int", "text": "str"}, event_time="ts")


def layout(*texts: str, timed: bool = True) -> CellLayout:
    return CellLayout([output_of(f"a{at}", text, ROW) for at, text in enumerate(texts)], timed=timed)


def test_a_count_of_rows_needs_no_accumulator_and_no_column():
    made = layout("count()", "count(number)")
    assert (made.values, made.program.words) == ([], 1)


def test_a_sum_and_a_mean_of_one_column_are_one_accumulator():
    made = layout("sum(number)", "mean(number)", "sum( number )")
    assert len(made.values) == 1
    assert [step.what for step in made.program.steps] == [cells.INTEGERS]


def test_a_column_that_may_be_null_is_counted_once():
    made = layout("sum(price)", "min(price)", "count(price)")
    assert sorted(step.what for step in made.program.steps) == [cells.COUNT, cells.FLOATS, cells.LEAST]


def test_a_sum_of_integers_stands_first_of_its_column():
    made = layout("min(number)", "sum(number)")
    assert [step.what for step in made.program.steps] == [cells.INTEGERS, cells.LEAST]
    assert [made.number(made.steps_of(output)[0]) for output in made.outputs] == [1, 0]


def test_times_are_kept_only_for_first_and_last_of_rows_that_have_them():
    assert layout("max(number)").program.columns == 0
    assert layout("first(text)").program.columns == 1
    assert layout("first(text)", timed=False).program.columns == 0
