"""The differential tests themselves: how many cases there are, that a difference is found, and that it can be repeated."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.differential import __main__ as command
from tests.differential import test_windows, window_cases
from tests.differential.cases import SUBJECTS, Difference, differing


def test_the_slow_mode_has_twenty_thousand_cases_and_the_normal_one_a_few_dozen() -> None:
    assert sum(subject.cases * subject.slow for subject in SUBJECTS.values()) >= 20_000
    assert 50 <= sum(subject.cases * subject.normal for subject in SUBJECTS.values()) <= 200


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_subject_says_how_many_cases_a_seed_has(name: str) -> None:
    module = importlib.import_module(SUBJECTS[name].module)
    assert getattr(module, "CASES", 1) == SUBJECTS[name].cases


def difference_of(seed: int) -> str:
    try:
        test_windows.check(seed)
    except Difference as error:
        return str(error)
    return ""


def test_a_wrong_result_is_a_difference_that_says_how_to_repeat_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(window_cases.PLAIN, "count()", lambda rows: len(rows) + 1)
    seed, text = next(found for number in range(100) if (found := (number, difference_of(number)))[1])
    assert "missing:" in text and "deployment:" in text
    repeated = re.search(r"repeat: \.venv/bin/python -m tests\.differential (\w+) (\d+)", text)
    assert repeated and repeated.groups() == ("windows", str(seed))
    assert command.main([repeated[1], repeated[2]]) == 1
    shown = capsys.readouterr().out
    assert f"windows, seed {seed}" in shown and "6 cases" in shown and "1 seeds with differences" in shown


def test_rows_that_only_one_side_has_are_told() -> None:
    assert differing(["a", "b"], ["b", "a"]) is None
    assert differing(["a", "a"], ["a", "b"]) == {"missing": ["b"], "extra": ["a"], "differing": 2}
