"""Stretches as columns of batches, against slices that NumPy puts together."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream.native.address import address_of
from actorstream.native.scalegate import LEAVES, ScaleGate, Stretches
from actorstream.native.stretches import StretchColumns

DTYPES = (np.int8, np.int16, np.float32, np.int64)


def given(
    seed: int, count: int = 3, runs: int = 5, longest: int = 9
) -> tuple[ScaleGate, list[list[np.ndarray]]]:
    """A gate that all sources have left, and the columns of its runs by reference; the first are the times."""
    dice = np.random.default_rng(seed)
    gate = ScaleGate(range(count), 2, runs=8)
    columns: list[list[np.ndarray]] = []
    for source in range(count):
        at = 0
        for _ in range(runs):
            times = at + np.cumsum(dice.integers(0, 4, int(dice.integers(1, longest + 1))))
            at = int(times[-1])
            columns.append([times, *(dice.integers(0, 100, len(times)).astype(dtype) for dtype in DTYPES)])
            assert gate.add(source, times, len(columns) - 1)
        gate.promise(source, LEAVES)
    return gate, columns


@pytest.mark.parametrize("seed", range(20))
def test_what_is_poured_is_what_the_stretches_say(seed: int) -> None:
    gate, columns = given(seed)
    runs = StretchColumns(len(columns), [np.dtype(dtype).itemsize for dtype in DTYPES], [0, 0, 0])
    for reference, (_, *own) in enumerate(columns):
        runs.put(reference, [address_of(each) for each in own], (reference + 1, reference + 1, reference))
    stretches = Stretches(256)
    assert gate.give(0, stretches, 256)
    for first in range(0, stretches.count, 7):
        count = min(7, stretches.count - first)
        some = [stretches[at] for at in range(first, first + count)]
        rows = sum(each.rows for each in some)
        out = [np.zeros(rows, dtype) for dtype in DTYPES]
        runs.pour(stretches, first, count, [address_of(each) for each in out])
        for column, found in enumerate(out, 1):
            parts = [columns[each.reference][column][each.first : each.first + each.rows] for each in some]
            assert np.array_equal(found, np.concatenate(parts))
        used = {each.reference for each in some}
        known = [each for each in used if each]
        assert runs.marks(stretches, first, count) == (
            min(used) + 1,
            max(used) + 1,
            min(known, default=0),
        )


@pytest.mark.parametrize("inputs", [[0, 0, 0], [0, 1, 1]])
@pytest.mark.parametrize("seed", range(10))
def test_a_batch_is_a_long_stretch_or_short_ones_of_one_input(seed: int, inputs: list[int]) -> None:
    gate, columns = given(seed)
    runs, stretches = StretchColumns(len(columns), [8], inputs), Stretches(256)
    gate.give(0, stretches, 256)
    at, longest, most = 0, 3, 10
    while at < stretches.count:
        count, rows = runs.cut(stretches, at, longest, most)
        some = [stretches[each] for each in range(at, at + count)]
        assert rows == sum(each.rows for each in some)
        assert count == 1 or (rows <= most and all(each.rows < longest for each in some))
        assert len({inputs[each.source] for each in some}) == 1
        at += count
        if at < stretches.count and some[0].rows < longest:
            then = stretches[at]
            assert (
                then.rows >= longest
                or rows + then.rows > most
                or inputs[then.source] != inputs[some[0].source]
            )


def test_a_reader_is_told_the_time_of_what_it_gets_next_and_what_the_merge_has_come_to() -> None:
    gate, stretches = ScaleGate([0, 1], 2, runs=2), Stretches(8)
    early, late = np.array([1, 2, 9]), np.array([5])
    assert gate.next_time(0) is None
    assert gate.add(0, early, 0) and gate.add(1, late, 1)
    view = gate.look()
    assert view is not None
    assert (view.reached, view.waited, view.is_full) == (5, 9, False)
    assert [gate.gone(0), gate.gone(1)] == [(0, 2), (1, 0)]
    assert [gate.next_time(reader) for reader in (0, 1)] == [1, 1]
    assert gate.give(0, stretches, 8, rows=1) and stretches.count == 1
    assert (stretches[0].rows, gate.next_time(0), gate.next_time(1)) == (2, 5, 1)
    gate.give(0, stretches, 8)
    gate.give(1, stretches, 8)
    assert gate.next_time(0) is None
    assert gate.acknowledged(1) == 0
    for reader in (0, 1):
        gate.acknowledge(reader)
    assert gate.acknowledged(1) == 1


def test_a_full_log_is_said_so() -> None:
    gate, stretches = ScaleGate([0, 1], 2, runs=8, stretches=2), Stretches(8)
    runs = [np.array([time]) for time in range(6)]
    for number, run in enumerate(runs):
        assert gate.add(number % 2, run, number)
    view = gate.look()
    assert view is not None and (view.logged, view.is_full) == (2, True)
    for reader in (0, 1):
        gate.give(reader, stretches, 8)
    view = gate.look()
    assert view is not None and (view.logged, view.is_full) == (4, True)


def test_a_plain_ring_has_no_merge_to_look_at() -> None:
    with pytest.raises(ValueError, match="plain ring"):
        ScaleGate([0]).look()


def test_values_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[3\]"):
        StretchColumns(1, [3], [0])
