"""Numbers at the limits of their types, and dates of any year: exact, whichever instructions compute them."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event
from actorstream.events.fields import FLOATS, INTEGERS, Kind
from actorstream.events.schema import Schema
from actorstream.operators.expressions import RowErrors, compile_expression
from actorstream.operators.expressions.ranges import bounds, range_of

OPERATORS = {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
KINDS = sorted(INTEGERS | FLOATS, key=str)
MANY = settings(max_examples=200, deadline=None)
INTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-10, 10),
    st.builds(
        lambda power, offset: max(-(2**63), min(2**63 - 1, 2**power + offset)),
        st.integers(0, 63),
        st.integers(-2, 2),
    ),
    st.builds(
        lambda power, offset: max(-(2**63), -(2**power) + offset), st.integers(0, 63), st.integers(-2, 2)
    ),
)
CONSTANTS = st.one_of(
    INTS, st.floats(), st.integers(-300, 300).map(lambda value: value / 2), st.sampled_from([0.1, 1e39])
)


def value_of(kind: Kind, value: Any) -> int | float:
    """A value near `value` that a column of the kind holds."""
    if kind in FLOATS:
        with np.errstate(over="ignore"):
            return float(np.dtype(kind.value).type(value))
    least, most = bounds(kind)
    whole = 0 if isinstance(value, float) and not math.isfinite(value) else int(value)
    return max(least, min(most, whole))


def holds(relation: str, a: int | float, b: int | float) -> bool:
    """Of numbers as mathematics has them."""
    if any(isinstance(each, float) and not math.isfinite(each) for each in (a, b)):
        return bool(OPERATORS[relation](a, b))
    return bool(OPERATORS[relation](Fraction(a), Fraction(b)))


@MANY
@given(st.sampled_from(KINDS), st.sampled_from(sorted(OPERATORS)), CONSTANTS, CONSTANTS)
@example(Kind.FLOAT32, "==", 0.1, 0.1)
@example(Kind.FLOAT32, "<", 0.1, 0.1)
@example(Kind.INT64, "<", 2**63 - 1, 2.0**63)
@example(Kind.FLOAT64, "<", 9007199254740993, 9007199254740992.0)
def test_a_range_holds_the_values_for_which_the_comparison_is_true(
    kind: Kind, relation: str, constant: Any, value: Any
) -> None:
    found = range_of(kind, relation, constant)
    for near in (value, constant):
        held = value_of(kind, near)
        expected = holds(relation, held, constant)
        assert (found is not None and found[0] <= held <= found[1]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18446744073709551615", [2**64 - 1] * 3),
        ("u == 18446744073709551615", [True, False, False]),
        ("u >= 9223372036854775808", [True, True, False]),
        ("u in (18446744073709551615, 5)", [True, False, True]),
        ("u in (1, 2, 3, 4, 5, 6, 7, 8, 18446744073709551615)", [True, False, True]),
        ("u not in (9223372036854775808, 0, 1, 2, 3, 4, 6, 7, 9223372036854775809)", [True, False, True]),
        ("if(i > 0, u, u) in (9, 1, 2, 3, 4, 6, 7, 8, 9223372036854775808)", [False, True, False]),
        ("u in (-1, -2, -3, -4, -6, -7, -8, -9, 9223372036854775808)", [False, True, False]),
        ("u in (-1, -2, -3, -4, -6, -7, -8, -9, 1.5)", [False] * 3),
        ("u - 5 == 0 or u > 0xffff_ffff_ffff_fffe", RowErrors),
        ("u > 18446744073709551614 or u < 9223372036854775808", [True, False, True]),
        ("i < 18446744073709551615", [True, True, True]),
        ("i in (18446744073709551615, 5)", [False, True, False]),
        ("i in (18446744073709551615, -1, 0, 1, 2, 3, 4, 6, 9)", [True, False, False]),
        ("f == 18446744073709551615", [False, False, False]),
        ("if(i > 0, u, 18446744073709551615)", [2**64 - 1, 2**63, 5]),
        ("str(18446744073709551615)", ["18446744073709551615"] * 3),
    ],
)
def test_constants_above_int64_are_uint64(text: str, expected: Any) -> None:
    columns = {"u": np.array([2**64 - 1, 2**63, 5], np.uint64), "i": [-1, 5, 7], "f": [2.0**64, 2.0, 3.0]}
    rows = Batch.of_columns(Schema.from_dict({"u": "uint64", "i": "int", "f": "float"}), columns)
    expression = compile_expression(text, rows.schema)
    if expected is RowErrors:
        with pytest.raises(RowErrors):
            expression.evaluate(rows)
        return
    assert expression.evaluate(rows).tolist() == expected


class Coded(Event):
    kind: Literal["a", "b", "c"]


def test_a_category_can_stand_for_a_constant_above_int64() -> None:
    rows = Batch.of_events(Coded, [Coded("a"), Coded("b"), Coded("c")])
    expression = compile_expression("if(kind == 'a', 18446744073709551615, 9223372036854775808)", rows.schema)
    assert expression.evaluate(rows).tolist() == [2**64 - 1, 2**63, 2**63]


ROUNDED = st.one_of(
    st.floats(),
    st.builds(lambda whole, digits: whole / 10**digits, st.integers(-(10**17), 10**17), st.integers(0, 16)),
    st.builds(lambda half, power: half * 2.0**power, st.integers(-(2**53), 2**53), st.integers(-60, 10)),
)


@MANY
@given(st.integers(0, 15), st.lists(ROUNDED, min_size=1, max_size=40))
@example(2, [2.675, 1.005, 0.125, 0.375, -2.675, 1e300, -0.0, -0.001])
@example(1, [4503599627370497.0, 9007199254740991.0, -123456789012345.0, 0.05, 0.25, 0.35, -0.05])
@example(0, [0.5, 1.5, 2.5, -0.5, -0.4, 4503599627370495.5, float("inf"), float("nan")])
@example(14, [45.9298])
@example(15, [0.1, 2.5e-15, 9.007199254740993, 1e-320])
def test_floats_are_rounded_as_python_rounds_them(digits: int, values: list[float]) -> None:
    rows = Batch.of_columns(Schema.from_dict({"x": "float"}), {"x": np.array(values)})
    found = compile_expression(f"round(x, {digits})", rows.schema).evaluate(rows).tolist()
    expected = [round(value, digits) if math.isfinite(value) else value for value in values]
    assert [repr(value) for value in found] == [repr(value) for value in expected]


@MANY
@given(
    st.sampled_from(KINDS),
    st.sampled_from([*sorted(OPERATORS), "!="]),
    CONSTANTS,
    st.lists(CONSTANTS, min_size=1, max_size=5),
)
def test_a_column_of_any_width_is_compared_with_a_constant_exactly(
    kind: Kind, relation: str, constant: Any, near: list[Any]
) -> None:
    if isinstance(constant, float) and not math.isfinite(constant):
        constant = 0.5
    values = [value_of(kind, value) for value in (*near, constant)]
    schema = Schema.from_dict({"v": kind.value})
    batch = Batch.of_columns(schema, {"v": np.array(values, kind.value)})
    for text, expected in (
        (
            f"v {relation} {constant!r}",
            [holds(relation, value, constant) for value in values] if relation != "!=" else None,
        ),
        (f"{constant!r} == v", [holds("==", value, constant) for value in values]),
    ):
        wanted = expected or [not holds("==", value, constant) for value in values]
        assert compile_expression(text, schema).evaluate(batch).tolist() == wanted, (text, values)


@MANY
@given(st.lists(st.tuples(INTS, INTS), min_size=1, max_size=20))
def test_integer_arithmetic_is_exact_or_fails(pairs: list[tuple[int, int]]) -> None:
    schema = Schema.from_dict({"a": "int", "b": "int"})
    batch = Batch.of_columns(schema, {"a": [a for a, _ in pairs], "b": [b for _, b in pairs]})
    for sign, compute in (
        ("+", operator.add),
        ("-", operator.sub),
        ("*", operator.mul),
        ("//", operator.floordiv),
        ("%", operator.mod),
    ):
        expected = [None if b == 0 and sign in ("//", "%") else compute(a, b) for a, b in pairs]
        expected = [value if value is not None and -(2**63) <= value < 2**63 else None for value in expected]
        good = [row for row, value in enumerate(expected) if value is not None]
        expression = compile_expression(f"a {sign} b", schema)
        if len(good) < len(pairs):
            with pytest.raises(RowErrors) as found:
                expression.evaluate(batch)
            assert found.value.rows.tolist() == [row for row in range(len(pairs)) if row not in good]
        assert expression.evaluate(batch.take(good)).tolist() == [expected[row] for row in good]


@pytest.mark.parametrize(("unit", "numpy_unit"), [("s", "s"), ("ms", "ms"), ("us", "us"), ("ns", "ns")])
def test_parts_of_times_are_those_of_the_proleptic_calendar(unit: str, numpy_unit: str) -> None:
    draw = np.random.default_rng(3)
    per_day = {"s": 86400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[unit]
    near = (
        draw.integers(-150_000 * per_day, 100_000 * per_day, 4000)
        if unit != "ns"
        else draw.integers(-(2**62), 2**62, 4000)
    )
    limits = np.array([0, -1, 1, per_day - 1, per_day, -per_day, -per_day - 1])
    days = np.array([11016, 11015, -25509, 47540, 47541, -719468, -719469, -141428]) * (
        per_day if unit != "ns" else 1
    )
    values = np.concatenate([near, limits, days])
    schema = Schema.from_dict({"t": "int"}, event_time="t", time_unit=unit)
    batch = Batch.of_columns(schema, {"t": values})
    times = values.astype(f"M8[{numpy_unit}]")
    day, month, year = times.astype("M8[D]"), times.astype("M8[M]"), times.astype("M8[Y]")
    second = (times.astype("M8[s]") - day).astype(np.int64)
    expected = {
        "year": year.astype(np.int64) + 1970,
        "month": month.astype(np.int64) % 12 + 1,
        "day": (day - month).astype(np.int64) + 1,
        "hour": second // 3600,
        "minute": second // 60 % 60,
        "second": second % 60,
        "weekday": (day.astype(np.int64) + 3) % 7,
        "epoch": values,
    }
    for part, numbers in expected.items():
        assert compile_expression(f"{part}(t)", schema).evaluate(batch).data.tolist() == numbers.tolist(), (
            part
        )


def test_years_far_away_are_years_too() -> None:
    schema = Schema.from_dict({"t": "int"}, event_time="t", time_unit="s")
    values = np.array([2**62, -(2**62), 2**63 - 1, -(2**63)])
    found = compile_expression("year(t)", schema).evaluate(Batch.of_columns(schema, {"t": values})).tolist()
    for year, value in zip(found, values.tolist()):
        assert abs(year - (1970 + Fraction(value, 31556952))) < 2  # the mean Gregorian year


@pytest.mark.parametrize(
    ("unit", "ticks"), [("s", 1), ("ms", 1000), ("us", 1_000_000), ("ns", 1_000_000_000)]
)
def test_epoch_and_datetime_go_there_and_back(unit: str, ticks: int) -> None:
    schema = Schema.from_dict({"t": "int", "d": "datetime"}, time_unit=unit)
    batch = Batch.of_columns(schema, {"t": [0, -ticks, 5 * ticks], "d": np.array([0, -1_000_000, 1_500_000])})
    assert compile_expression("epoch(d)", schema).evaluate(batch).tolist() == [0, -ticks, 15 * ticks // 10]
    assert compile_expression("epoch(datetime(t))", schema).evaluate(batch).tolist() == [0, -ticks, 5 * ticks]
    assert compile_expression("datetime(t) == d", schema).evaluate(batch).tolist() == [True, True, False]
    assert compile_expression("datetime('1970-01-01T00:00:01.5') == d", schema).rows(batch).tolist() == [2]


def test_unsigned_integers_are_compared_as_such_and_fail_only_where_they_must_fit_int64() -> None:
    schema = Schema.from_dict({"u": "uint64", "v": "uint64", "n": "uint64?"})
    values = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    batch = Batch.of_columns(schema, {"u": values, "v": values[::-1].copy(), "n": [None, 1, 2, 3, 2**64 - 1]})
    assert compile_expression("u > 1", schema).rows(batch).tolist() == [2, 3, 4]
    assert compile_expression("u > 1e19", schema).rows(batch).tolist() == [4]
    assert compile_expression("u >= 9223372036854775808.0", schema).rows(batch).tolist() == [3, 4]
    assert compile_expression("u == v", schema).rows(batch).tolist() == [2]
    assert compile_expression("u", schema).evaluate(batch).tolist() == values.tolist()
    assert compile_expression("str(u)", schema).evaluate(batch).tolist() == [
        str(value) for value in values.tolist()
    ]
    assert compile_expression("if(n is null, u, v)", schema).evaluate(batch).tolist()[0] == 0
    assert compile_expression("coalesce(n, u)", schema).evaluate(batch).tolist() == [0, 1, 2, 3, 2**64 - 1]
    with pytest.raises(RowErrors) as found:
        compile_expression("u - 1", schema).evaluate(batch)
    assert found.value.rows.tolist() == [3, 4]


def test_results_have_the_type_that_the_expression_says() -> None:
    schema = Schema.from_dict(
        {"i": "int32", "f": "float32", "n": "int16?", "t": "datetime", "s": "str", "b": "bool"}
    )
    batch = Batch.of_columns(
        schema, {"i": [1], "f": [0.5], "n": [None], "t": np.array([0]), "s": ["x"], "b": [True]}
    )
    for text, kind in {
        "i": "int32", "f": "float32", "n": "int16?", "i + 1": "int64", "f + 1": "float64", "n + 1": "int64?", "i / 2": "float64",
        "i > 1": "bool", "n > 1": "bool?", "n is null": "bool", "coalesce(n, 1)": "int64", "if(b, i, i)": "int32",
        "if(b, f, 1.0)": "float64", "float32(i)": "float32", "uint8(i)": "uint8", "t": "datetime", "datetime(i)": "datetime",
        "s + s": "string", "str(n)": "string?", "min(i, 2)": "int64", "max(i, f)": "float64", "round(f)": "float64",
        "if(b, null, t)": "datetime?", "true": "bool", "1": "int64", "1.0": "float64", "'a'": "string", "length(s)": "int64",
        "abs(i)": "int64",
    }.items():  # fmt: skip
        expression = compile_expression(text, schema)
        assert str(expression.type) == kind, text
        column = expression.evaluate(batch)
        assert column.field == expression.field("value") and column.length == 1
