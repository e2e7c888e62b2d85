"""A total is the exact sum of its values, rounded once, whatever their order and however they were put together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.native.total import Total
from tests.native.exact_model import exact_sum, floats

everything = st.lists(floats, max_size=40) | st.lists(floats | st.floats(), max_size=40)


def total_of(values: list[float]) -> Total:
    made = Total()
    made.add(values)
    return made


def same(found: float, wanted: float) -> bool:
    return found == wanted or (math.isnan(found) and math.isnan(wanted))


@settings(max_examples=300, deadline=None)
@given(everything, st.integers(1, 9), st.randoms(use_true_random=False))
def test_a_total_does_not_depend_on_the_order_of_values_nor_on_which_totals_were_merged(values, parts, dice):
    wanted = exact_sum(values)
    assert same(total_of(values).value, wanted)
    totals = [Total() for _ in range(parts)]
    for value in dice.sample(values, len(values)):
        dice.choice(totals).add([value])
    while len(totals) > 1:
        one, other = (totals.pop(dice.randrange(len(totals))) for _ in range(2))
        if dice.random() < 0.5:
            saved, one = one.save(), Total()
            one.put(saved)
        one.merge(other)
        totals.append(one)
    assert same(totals[0].value, wanted)


@settings(max_examples=100, deadline=None)
@given(everything)
def test_a_running_total_is_exact_after_each_value(values):
    found = Total().running(values).tolist()
    assert all(same(each, exact_sum(values[: at + 1])) for at, each in enumerate(found))


@pytest.mark.parametrize("spread", [0, 30, 300, 1000])
def test_many_values_are_added_as_each_alone_however_far_their_magnitudes_are_apart(spread):
    rng = np.random.default_rng(spread)
    values = np.ldexp(rng.normal(size=10_000), rng.integers(-spread, spread + 1, 10_000))
    assert total_of(values.tolist()).value == math.fsum(values)
    shuffled = rng.permutation(values)
    halves = Total()
    for part in np.array_split(shuffled, 7):
        halves.merge(total_of(part.tolist()))
    assert halves.value == math.fsum(values)


def test_a_total_holds_more_than_the_largest_float_in_between():
    largest = math.ldexp(2.0 - 2.0**-52, 1023)
    values = [5e-324] + [largest] * 3000 + [-largest] * 2999
    assert total_of(values).value == largest
    assert total_of(values[::-1]).value == largest
    assert total_of([largest, largest]).value == math.inf
    assert total_of([largest, math.ldexp(1.0, 969)]).value == largest, "less than half a unit more"
    assert total_of([largest, math.ldexp(1.0, 970)]).value == math.inf, "half a unit more"


def test_a_sum_that_lies_between_two_floats_is_rounded_to_the_even_one():
    assert total_of([1.0, 2.0**-53]).value == 1.0
    assert total_of([1.0, 2.0**-53, 5e-324]).value == 1.0 + 2.0**-52
    assert total_of([1.0 + 2.0**-52, 2.0**-53]).value == 1.0 + 2.0**-51
    assert total_of([1.0 + 2.0**-52, 2.0**-53, -5e-324]).value == 1.0 + 2.0**-52


@pytest.mark.parametrize("saved", [b"", bytes(8), bytes(24), b"\xff" * 32, bytes(16) + b"\xff" * 16])
def test_bytes_that_are_no_total_are_refused(saved):
    with pytest.raises(ValueError, match="sum"):
        Total().put(saved)
