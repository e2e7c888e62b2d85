"""Moving averages called directly: many values at once and the C give what one value after the other gives, to the last bit,
also after they have been saved and loaded; and that is the mean of the window."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.spike_detection import kernel
from apps.spike_detection.window import Window

values = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1e300, -1e300, 0.1]), max_size=40)
readings = st.lists(st.tuples(st.sampled_from([0, 1, -1, 7, 2**40]), st.floats(-1e6, 1e6)), max_size=40)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> Iterator[Any]:
    """Before the first example, which would else take too long."""
    yield kernel.kernel()


@settings(deadline=None)
@given(st.integers(1, 9), st.lists(values, max_size=4))
def test_values_are_averaged_alike_one_by_one_and_together(size: int, parts: list[list[float]]) -> None:
    one, many = Window(size), Window(size)
    for part in parts:
        expected = [one.add(value) for value in part]
        assert many.add_all(np.array(part, np.float64)).tolist() == expected
        many = Window(size, many.save())


@settings(deadline=None)
@given(st.integers(1, 40), st.lists(readings, max_size=4))
def test_the_kernel_averages_as_windows_do(size: int, parts: list[list[tuple[int, float]]]) -> None:
    windows: dict[int, Window] = {}
    averages = kernel.Averages(size)
    for part in parts:
        expected = [windows.setdefault(mote, Window(size)).add(value) for mote, value in part]
        motes = np.array([mote for mote, _ in part], np.int64)
        found = averages.average(motes, np.array([value for _, value in part], np.float64))
        assert found.tolist() == expected
        again = kernel.Averages(size)
        again.load(averages.save())
        averages = again


@given(st.integers(1, 9), values)
def test_an_average_is_the_mean_of_the_last_values(size: int, given_values: list[float]) -> None:
    window = Window(size)
    for number, value in enumerate(given_values, 1):
        last = given_values[max(0, number - size) : number]
        scale = max(map(abs, last))
        assert window.add(value) == pytest.approx(fsum(last) / len(last), rel=1e-12, abs=1e-12 * scale)


def test_no_error_adds_up_over_a_million_values() -> None:
    rng = np.random.default_rng(1)
    given_values = rng.normal(1e8, 1, 1_000_000)
    motes = np.zeros(len(given_values), np.int64)
    found = kernel.Averages(1000).average(motes, given_values)[-1]
    assert found == pytest.approx(fsum(given_values[-1000:]) / 1000, rel=1e-14)


def test_many_motes_are_kept_and_loaded_again() -> None:
    rng = np.random.default_rng(2)
    motes, given_values = rng.integers(0, 5000, 40_000), rng.random(40_000)
    whole = kernel.Averages(30).average(motes, given_values)
    first, then = kernel.Averages(30), kernel.Averages(30)
    parts = [first.average(motes[:25_000], given_values[:25_000])]
    then.load(first.save())
    parts.append(then.average(motes[25_000:], given_values[25_000:]))
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize(
    "change", [lambda saved: saved[:-8], lambda saved: saved + b"\0" * 8, lambda saved: b""]
)
def test_what_no_such_state_saved_is_refused(change: Any) -> None:
    averages = kernel.Averages(3)
    averages.average(np.arange(4), np.ones(4))
    with pytest.raises(kernel.KernelError, match="not what averages of this window save"):
        kernel.Averages(3).load(change(averages.save()))
    with pytest.raises(kernel.KernelError, match="not what averages of this window save"):
        kernel.Averages(4).load(averages.save())


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=70), st.floats(0, 1))
def test_both_ways_to_detect_spikes_agree_with_the_rule(
    pairs: list[tuple[float, float]], threshold: float
) -> None:
    value, average = (np.array([pair[at] for pair in pairs], np.float64) for at in (0, 1))
    expected = [abs(one - other) > threshold * other for one, other in pairs]
    assert kernel.signals(value, average, threshold).tolist() == expected
    assert kernel.spikes(value, average, threshold).tolist() == [
        row for row, spike in enumerate(expected) if spike
    ]
