"""Stretches as batches: which become one, and of which runs its rows are."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream.native.scalegate import LEAVES, ScaleGate, Stretches
from actorstream.native.stretches import StretchBatches

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
def test_the_parts_of_rows_are_those_that_the_stretches_say(seed: int) -> None:
    gate, columns = given(seed)
    cuts, stretches = StretchBatches(len(columns), [0, 0, 0], 512), Stretches(256)
    assert gate.give(0, stretches, 256)
    for first in range(0, stretches.count, 7):
        count = min(7, stretches.count - first)
        some = [stretches[at] for at in range(first, first + count)]
        rows = sum(each.rows for each in some)
        tags, named = cuts.parts(stretches, first, count, rows)
        left = {
            reference: iter(columns[reference][1][row:]) for reference, row in zip(named[::2], named[1::2])
        }
        found = [next(left[named[2 * tag]]) for tag in tags.tolist()]
        parts = [columns[each.reference][1][each.first : each.first + each.rows] for each in some]
        assert found == np.concatenate(parts).tolist()


@pytest.mark.parametrize("inputs", [[0, 0, 0], [0, 1, 1]])
@pytest.mark.parametrize("seed", range(10))
def test_a_batch_is_a_long_stretch_or_short_ones_of_one_input(seed: int, inputs: list[int]) -> None:
    gate, columns = given(seed)
    at, longest, most = 0, 3, 10
    cuts, stretches = StretchBatches(len(columns), inputs, longest), Stretches(256)
    gate.give(0, stretches, 256)
    while at < stretches.count:
        count, rows = cuts.cut(stretches, at, most)
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
