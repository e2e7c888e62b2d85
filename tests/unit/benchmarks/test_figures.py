"""The tables of figures: their cases are measured, and their pages have a place for them."""

from __future__ import annotations

import pytest

from benchmarks.figures import DEFAULTS, PAGE, README, ROWS, Row, cases_of, replaced, tables
from benchmarks.harness import cases, paired
from benchmarks.registry import load
from benchmarks.suite import Settings

MEDIANS = {(row.suite, case): 2.0e6 for row in (*ROWS, *DEFAULTS) for case in row.cases}


@pytest.mark.parametrize("name", sorted({row.suite for row in (*ROWS, *DEFAULTS)}))
def test_a_suite_has_all_cases_that_the_tables_need_of_it(name: str) -> None:
    suite = load(name, Settings()).only(cases_of(name))
    measured = {case.name for case in cases(suite)} | {paired(case) for case in cases(suite) if case.paired}
    assert {case for row in (*ROWS, *DEFAULTS) if row.suite == name for case in row.cases} <= measured


def test_a_row_has_medians_and_ratios_in_place_of_its_cases() -> None:
    row = Row("what", "ipc", "{a} rows/s, {a/b} of a ring", "nothing")
    assert row.cases == ["a", "a", "b"]
    assert row.filled({("ipc", "a"): 3e6, ("ipc", "b"): 4e6}) == "3 M rows/s, 0.75 of a ring"
    with pytest.raises(KeyError):
        row.filled({("ipc", "a"): 3e6})


def test_only_the_lines_of_a_table_are_replaced() -> None:
    text = "before\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter\n| c |\n|---|\n| 5 |\n"
    made = replaced(text, {"| a | b |": ["| a | b |", "|---|---|", "| 6 | 7 |"], "| d |": ["| d |"]})
    assert made == "before\n\n| a | b |\n|---|---|\n| 6 | 7 |\n\nafter\n| c |\n|---|\n| 5 |\n"


def test_the_pages_have_a_place_for_each_table() -> None:
    full, short, typed = tables(MEDIANS)
    lines = PAGE.read_text().splitlines()
    assert lines.count(full) == lines.count(typed) == 1
    assert README.read_text().splitlines().count(short) == 1
