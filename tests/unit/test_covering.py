"""The sample of a product that the ordinary run takes."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.covering import covering, covering_sample


@pytest.mark.parametrize("sizes", [[2, 2, 2, 2], [4, 3, 2, 2], [5, 1, 4], [9, 44], [3, 3, 3, 3, 3], [1, 1]])
def test_every_pair_of_values_is_in_the_sample(sizes: list[int]) -> None:
    sample = covering_sample(sizes)
    assert sample <= set(product(*map(range, sizes)))
    for one, other in combinations(range(len(sizes)), 2):
        found = {(each[one], each[other]) for each in sample}
        assert found == set(product(range(sizes[one]), range(sizes[other])))


def test_a_sample_of_many_dimensions_is_small_and_always_the_same() -> None:
    sizes = [4, 3, 2, 2, 3]
    assert covering_sample(sizes) == covering_sample(sizes)
    assert len(covering_sample(sizes)) < 20 < 4 * 3 * 2 * 2 * 3


def test_the_whole_product_is_there_and_what_is_not_in_the_sample_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.covering.samples_only", False)
    mark = covering({"transport, workers": [("local", 1), ("shm", 2)], "size": [1, 7], "order": ["a", "b"]})
    names, cases = mark.args
    assert names == ["transport", "workers", "size", "order"]
    assert {case.values for case in cases} == {
        (*way, size, order) for way, size, order in product([("local", 1), ("shm", 2)], [1, 7], ["a", "b"])
    }
    assert len([case for case in cases if not case.marks]) == len(covering_sample([2, 2, 2])) == 4


def test_a_run_without_slow_tests_makes_the_sample_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.covering.samples_only", True)
    _, cases = covering({"transport": ["local", "shm"], "size": [1, 7, 9], "order": ["a", "b"]}).args
    assert len(cases) == len(covering_sample([2, 3, 2])) and not any(case.marks for case in cases)
