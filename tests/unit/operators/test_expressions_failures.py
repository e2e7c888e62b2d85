"""Rows without a value: each is found, told why, and only if the expression asks for its value."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream import Batch, Event
from actorstream.operators.expressions import Cases, RowErrors, compile_expression

MOST, LEAST = 2**63 - 1, -(2**63)


class Row(Event):
    a: int
    b: int
    x: float
    s: str
    n: int | None = None


def batch(*rows: tuple[int, int, float, str] | tuple[int, int, float, str, int | None]) -> Batch:
    return Batch.of_events(Row, [Row(*row) for row in rows])


def failed(text: str, rows: Batch) -> list[int]:
    try:
        compile_expression(text, rows.schema).evaluate(rows)
    except RowErrors as errors:
        return errors.rows.tolist()
    return []


LIMITS = batch(
    (MOST, 1, 0.0, ""), (LEAST, -1, 0.0, ""), (5, 0, 0.0, ""), (2**62, 2, 0.0, ""), (-(2**62), 2, 0.0, "")
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a + b", [0, 1]),
        ("a - b", []),
        ("b - a", []),
        ("a * b", [1, 3]),
        ("a * 2", [0, 1, 3]),
        ("2 * a", [0, 1, 3]),
        ("a * -1", [1]),
        ("a * -2", [0, 1, 4]),
        ("a * 0", []),
        ("a * 1", []),
        ("-a", [1]),
        ("abs(a)", [1]),
        ("a // b", [1, 2]),
        ("a % b", [2]),
        ("a // 0", [0, 1, 2, 3, 4]),
        ("int8(a)", [0, 1, 3, 4]),
        ("uint64(a)", [1, 4]),
        ("int(a * 4.0)", [0, 1, 3, 4]),
        ("a * 3 // 3", [0, 1, 3, 4]),
    ],
)
def test_rows_that_do_not_fit_fail(text: str, rows: list[int]) -> None:
    assert failed(text, LIMITS) == rows


def test_floats_never_fail() -> None:
    rows = batch((1, 0, 1e308, ""), (1, 0, 0.0, ""))
    assert compile_expression("x * 10", rows.schema).evaluate(rows).tolist() == [np.inf, 0.0]
    assert compile_expression("1 / x", rows.schema).evaluate(rows).tolist()[1] == np.inf
    assert compile_expression("a / b", rows.schema).evaluate(rows).tolist() == [np.inf, np.inf]


def test_texts_that_are_no_numbers_fail() -> None:
    texts = [
        "12",
        " -7 ",
        "+3",
        "",
        "1.5",
        "1e3",
        "9223372036854775808",
        "-9223372036854775808",
        "x",
        "1_0",
        "0x1",
        "nan",
    ]
    rows = batch(*((0, 0, 0.0, text) for text in texts))
    assert failed("int(s)", rows) == [3, 4, 5, 6, 8, 9, 10, 11]
    assert failed("float(s)", rows) == [3, 8, 9, 10]
    assert failed("bool(s)", rows) == list(range(len(texts)))


@pytest.mark.parametrize(
    "text",
    [
        "b != 0 and a // b > 1",
        "b == 0 or a // b > 1",
        "if(b == 0, 0, a // b)",
        "coalesce(if(b != 0, a, null), 0) % if(b == 0, 1, b)",
        "not (b == 0) and (a % b == 0 or a // b > 2)",
        "b != 0 and str(a // b) == '2'",
        "if(b == 0, 'none', str(a // b))",
        "if(startswith(s, 'n'), 0, int(s)) > 1",
        "b > 0 and 1 < a // b < 3",
    ],
)
def test_what_is_not_asked_for_does_not_fail(text: str) -> None:
    assert failed(text, batch((4, 2, 0.0, "7"), (4, 0, 0.0, "no"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "if(b == 0, 'none', str(datetime(a)))",
        "b == 0 or str(datetime(a)) > '2'",
        "b != 0 and str(datetime(a)) > '2'",
        "coalesce(if(b == 0, 'none', null), str(datetime(a)))",
        "if(b == 0, 0, year(datetime(a))) > 1",
        "if(b == 0, datetime('2024-05-17'), datetime(a))",
    ],
)
def test_a_time_that_is_not_asked_for_does_not_fail(text: str) -> None:
    rows = batch((253402300800000, 0, 0.0, ""), (0, 1, 0.0, ""), (LEAST, 0, 0.0, ""))
    assert failed(text, rows) == []
    assert compile_expression(text, rows.schema).evaluate(rows).tolist() is not None
    assert failed(text, batch((253402300800000, 1, 0.0, ""), (0, 1, 0.0, ""))) == [0]


def test_an_integer_is_a_time_only_in_the_years_that_a_datetime_has() -> None:
    first, last = -62135596800000, 253402300799999
    rows = batch(*((each, 1, 0.0, "") for each in (first, first - 1, last, last + 1, MOST)))
    assert failed("datetime(a)", rows) == [1, 3, 4]
    assert failed("str(datetime(a))", rows) == [1, 3, 4]
    texts = compile_expression("str(datetime(a))", rows.schema).evaluate(rows.take(np.array([0, 2])))
    assert texts.tolist() == ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999000Z"]
    with pytest.raises(
        RowErrors, match=r"outside the years 1 to 9999.*: datetime\(a\) \(a = -62135596800001\)"
    ):
        compile_expression("datetime(a)", rows.schema).evaluate(rows)


def test_what_is_asked_for_after_a_null_can_fail() -> None:
    rows = batch((4, 0, 0.0, "", None), (4, 0, 0.0, "", 5))
    assert failed("n > 3 and a // b > 1", rows) == [0, 1]
    assert failed("n > 9 and a // b > 1", rows) == [0]
    assert failed("coalesce(n, a // b)", rows) == [0]
    assert failed("(a // b) is null", rows) == [0, 1]


def test_null_rows_do_not_fail() -> None:
    rows = batch((0, 0, 0.0, "", None), (0, 0, 0.0, "", MOST))
    assert failed("n + 1", rows) == [1]
    assert failed("10 // n", rows) == []
    assert compile_expression("10 // n", rows.schema).evaluate(rows).tolist() == [None, 0]


def test_each_failed_row_says_why_with_the_values_it_read() -> None:
    rows = batch((1, 1, 0.0, "x"), (MOST, 1, 0.0, "y"), (5, 0, 0.0, "z"))
    with pytest.raises(RowErrors) as found:
        compile_expression("(a + b) // b > 10", rows.schema).rows(rows)
    assert [str(error) for error in found.value.errors()] == [
        f"int64 overflow: (a + b) in '(a + b) // b > 10' (a = {MOST}, b = 1)",
        "integer division by zero (or -2**63 // -1): (a + b) // b in '(a + b) // b > 10' (a = 5, b = 0)",
    ]
    assert "and 1 other rows of the batch" in str(found.value)


def test_every_failed_row_of_a_large_batch_is_found_in_one_go() -> None:
    numbers = np.arange(5000)
    zero = numbers % 97 == 0
    rows = Batch.of_columns(
        Row,
        {
            "a": numbers,
            "b": np.where(zero, 0, 3),
            "x": np.zeros(5000),
            "s": [""] * 5000,
            "n": [None] * 5000,
        },
    )
    expression = compile_expression("a // b", rows.schema)
    with pytest.raises(RowErrors) as found:
        expression.evaluate(rows)
    assert found.value.rows.tolist() == np.flatnonzero(zero).tolist()
    good = rows.take(~zero)
    assert expression.evaluate(good).data.tolist() == (numbers[~zero] // 3).tolist()


def test_a_case_is_asked_only_for_rows_that_no_earlier_one_took() -> None:
    rows = batch((4, 2, 0.0, ""), (4, 0, 0.0, ""), (4, 4, 0.0, ""))
    texts = {"none": "b == 0", "large": "a // b > 1"}
    found = Cases({name: compile_expression(text, rows.schema) for name, text in texts.items()}).rows(rows)
    assert [each.tolist() for each in found] == [[1], [0], [2]]
