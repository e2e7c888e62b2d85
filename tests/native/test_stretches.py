"""Stretches as batches: which become one, and of which runs its rows are."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from actorstream.native._core import lib

from actorstream.native.scalegate import LEAVES, ScaleGate, Stretches
from actorstream.native.stretches import StretchBatches
from tests.native.stretches import stretches_of

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


def tagged(rows: int, named: list[int], tags: np.ndarray | None) -> list[tuple[int, int]]:
    """The reference and the row of each row of a batch."""
    numbers = [0] * rows if tags is None else tags.tolist()
    left = {reference: count(row) for reference, row in zip(named[::2], named[1::2])}
    return [(named[2 * number], next(left[named[2 * number]])) for number in numbers]


@pytest.mark.parametrize("longest", [3, 512])
@pytest.mark.parametrize("rows", [4, 50, 1000])
@pytest.mark.parametrize("seed", range(20))
def test_batches_have_the_rows_that_the_stretches_say(seed: int, rows: int, longest: int) -> None:
    gate, columns = given(seed)
    into, found, expected = Stretches(256, rows), list[tuple[int, int]](), list[tuple[int, int]]()
    cuts = StretchBatches(into, len(columns), 3, longest)
    while gate.give(0, into):
        some = [tagged(*batch) for batch in cuts.divide()]
        assert sum(map(len, some)) < rows + 512
        found += [row for batch in some for row in batch]
        expected += [
            (each.reference, each.first + row) for each in stretches_of(into) for row in range(each.rows)
        ]
    assert found == expected
    assert len(found) == sum(len(each[0]) for each in columns)
    times = [int(columns[reference][0][row]) for reference, row in found]
    assert times == sorted(times)


@pytest.mark.parametrize("seed", range(10))
def test_a_long_stretch_is_a_batch_and_all_that_comes_between_two_is_another(seed: int) -> None:
    gate, columns = given(seed)
    longest, into = 3, Stretches(256, 1000)
    cuts = StretchBatches(into, len(columns), 3, longest)
    gate.give(0, into)
    batches, entries = list(cuts.divide()), into.memory[0 : into.count]
    behind = {
        at + n
        for at, each in enumerate(entries)
        if each.source == lib.AS_MERGE_MIXED
        for n in range(1, each.first + 1)
    }
    alone = [
        each.rows
        for at, each in enumerate(entries)
        if at not in behind and each.source != lib.AS_MERGE_MIXED and each.rows >= longest
    ]
    assert alone
    expected, gathered = list[int](), 0
    for at, each in enumerate(entries):
        if at in behind:
            continue
        if each.source != lib.AS_MERGE_MIXED and each.rows >= longest:
            expected += [gathered] * bool(gathered) + [each.rows]
            gathered = 0
        else:
            gathered += each.rows
    assert [rows for rows, _, _ in batches] == expected + [gathered] * bool(gathered)


def test_a_reader_is_told_the_time_of_what_it_gets_next_and_what_the_merge_has_come_to() -> None:
    gate, stretches = ScaleGate([0, 1], 2, runs=2), Stretches(8, 100)
    early, late = np.array([1, 2, 9]), np.array([5])
    assert gate.next_time(0) is None
    assert gate.add(0, early, 0) and gate.add(1, late, 1)
    view = gate.look()
    assert view is not None
    assert (view.reached, view.waited, view.is_full) == (5, 9, False)
    assert [gate.gone(0), gate.gone(1)] == [(0, 2), (1, 0)]
    assert [gate.next_time(reader) for reader in (0, 1)] == [1, 1]
    assert gate.give(0, stretches)
    assert [each.rows for each in stretches_of(stretches)] == [2, 1]
    assert (gate.next_time(0), gate.next_time(1)) == (None, 1)
    gate.give(1, stretches)
    assert gate.next_time(0) is None
    assert gate.acknowledged(1) == 0
    for reader in (0, 1):
        gate.acknowledge(reader)
    assert gate.acknowledged(1) == 1


def test_a_full_log_is_said_so() -> None:
    gate, stretches = ScaleGate([0, 1], 2, runs=8, stretches=2), Stretches(8, 100)
    runs = [np.array([time]) for time in range(6)]
    for number, run in enumerate(runs):
        assert gate.add(number % 2, run, number)
    view = gate.look()
    assert view is not None and (view.logged, view.is_full) == (2, True)
    for reader in (0, 1):
        gate.give(reader, stretches)
    view = gate.look()
    assert view is not None and (view.logged, view.is_full) == (4, True)


def test_a_plain_ring_has_no_merge_to_look_at() -> None:
    with pytest.raises(ValueError, match="plain ring"):
        ScaleGate([0]).look()
