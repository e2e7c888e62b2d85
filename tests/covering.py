"""A parametrized product of which the ordinary run takes a sample and `-m slow` the rest. The sample has every value of
every dimension, and every pair of values of any two; it is the same in every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest

Combination = tuple[int, ...]

samples_only = False
"""Whether the rest is left out instead of marked as slow; conftest.py says so for a run without slow tests."""


def covering(
    dimensions: Mapping[str, Sequence[Any]], ids: Callable[[Any], str] | None = None
) -> pytest.MarkDecorator:
    """Parametrizes with the product of `{argument: values}`. A key "a, b" is one dimension whose values are tuples."""
    names = [[name.strip() for name in key.split(",")] for key in dimensions]
    values = [
        [tuple(value) if len(own) > 1 else (value,) for value in given]
        for own, given in zip(names, dimensions.values())
    ]
    sample = covering_sample([len(given) for given in values])
    cases = []
    indices = [range(len(given)) for given in values]
    for chosen in sorted(sample) if samples_only else product(*indices):
        flat = [each for given, at in zip(values, chosen) for each in given[at]]
        cases.append(pytest.param(*flat, marks=() if chosen in sample else pytest.mark.slow))
    return pytest.mark.parametrize([name for own in names for name in own], cases, ids=ids)


def sampled(name: str, values: Sequence[Any], quick: int) -> pytest.MarkDecorator:
    """Parametrizes with values, of which the ordinary run takes the first `quick` and `-m slow` the rest."""
    return pytest.mark.parametrize(
        name,
        [
            pytest.param(value, marks=() if at < quick else pytest.mark.slow)
            for at, value in enumerate(values)
        ],
    )


def covering_sample(sizes: Sequence[int]) -> set[Combination]:
    """Combinations of indices below `sizes` that hold every pair of indices of any two positions. Each is the one that
    adds most pairs to those before it, the first of a seeded order among equals."""
    if len(sizes) < 2 or 0 in sizes:
        return set(product(*map(range, sizes)))
    waiting = [*product(*map(range, sizes))]
    random.Random(str(sizes)).shuffle(waiting)
    pairs = {each: set(_pairs(each)) for each in waiting}
    missing = set().union(*pairs.values())
    chosen = set()
    while missing:
        best = max(waiting, key=lambda each: len(pairs[each] & missing))
        missing -= pairs[best]
        chosen.add(best)
    return chosen


def _pairs(combination: Combination) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    return [*combinations(enumerate(combination), 2)]
