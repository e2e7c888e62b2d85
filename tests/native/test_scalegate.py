"""The ScaleGate, driven call by call in random schedules, against sorting; threads drive it in test_stress."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from actorstream.native._core import lib
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.native.scalegate import LEAVES, ScaleGate, Stretches
from tests.native.stretches import Stretch, taken


class Source:
    """Runs with random gaps, and what was added of them."""

    def __init__(self, number: int, rank: int, ties: int, seed: int) -> None:
        self.number, self.rank, self.ties = number, rank, ties
        self.random = np.random.default_rng(seed)
        self.runs: list[list[np.ndarray]] = []
        self.rows: list[tuple[int, ...]] = []
        self.time, self.least, self.left = 0, 0, False

    def run(self, longest: int, spread: int) -> list[np.ndarray]:
        rows = int(self.random.integers(1, longest + 1))
        times = max(self.time, self.least) + np.cumsum(self.random.integers(0, spread, rows))
        ties = self.random.integers(0, 3, (self.ties, rows))
        order = np.lexsort([*reversed(ties), times])
        columns = [np.ascontiguousarray(each[order]) for each in (times, *ties)]
        if self.rows and self.ties and times[0] == self.time:
            columns[0] += 1  # ties are sorted within a run only: another run begins later
        return [each.astype(np.int64) for each in columns]


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_every_reader_gets_all_rows_in_order_whatever_the_schedule(data: Any) -> None:
    count, readers = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    ties = data.draw(st.sampled_from([0, 0, 2]))
    shared = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    ranks = shared if ties else list(range(count))  # only tie columns order rows of one rank
    runs, stretches = data.draw(st.sampled_from([1, 2, 8])), data.draw(st.sampled_from([1, 4, 64]))
    longest, spread = data.draw(st.sampled_from([1, 3, 40])), data.draw(st.sampled_from([1, 3, 50]))
    random = data.draw(st.randoms(use_true_random=False))
    gate = ScaleGate(ranks, readers, runs=runs, stretches=stretches, ties=ties)
    sources = [Source(n, rank, ties, random.randrange(2**32)) for n, rank in enumerate(ranks)]
    got: list[list[tuple[int, ...]]] = [[] for _ in range(readers)]
    steps = random.randrange(5, 60)

    def step_of(source: Source) -> None:
        if source.left:
            return
        choice = random.randrange(8)
        if choice == 0:
            source.least = max(source.least, source.time + random.randrange(5))
            gate.promise(source.number, source.least)
            return
        columns = source.run(longest, spread)
        if gate.add(source.number, columns[0], len(source.runs), columns[1:]):
            source.runs.append(columns)
            source.time = int(columns[0][-1])
            source.rows += [
                (int(row[0]), source.rank, *map(int, row[1:]), source.number) for row in zip(*columns)
            ]

    def step_to(reader: int) -> bool:
        room, rows = random.randrange(1 + count, 9 + count), random.randrange(1, 600)
        found = taken(gate, reader, Stretches(room, rows))
        if found is None:
            return False
        for each in found:
            columns = sources[each.source].runs[each.reference]
            assert each.ends == (each.first + each.rows == len(columns[0]))
            rows = zip(*(column[each.first : each.first + each.rows] for column in columns))
            got[reader] += [
                (int(row[0]), ranks[each.source], *map(int, row[1:]), each.source) for row in rows
            ]
        return True

    for _ in range(steps):
        actor = random.randrange(count + readers)
        if actor < count:
            step_of(sources[actor])
        else:
            step_to(actor - count)
    for source in random.sample(sources, count):
        source.left = True
        gate.promise(source.number, LEAVES)
    waiting = list(range(readers))
    while waiting:
        reader = random.choice(waiting)
        if not step_to(reader):
            waiting.remove(reader)
    expected = sorted(row for source in sources for row in source.rows)
    assert got == [expected] * readers
    assert [gate.acknowledged(n) for n in range(count)] == [len(source.runs) for source in sources]


def test_a_row_waits_until_no_source_can_bring_one_before_it() -> None:
    gate = ScaleGate([0, 1])
    five = np.array([5])
    assert gate.add(1, five, 7)
    gate.promise(0, 5)
    assert taken(gate, 0) == []  # the source of lower rank may still bring a row at 5
    gate.promise(0, 6)
    assert taken(gate, 0) == [Stretch(7, 1, 0, 1, True)]


def test_a_row_of_the_lower_rank_does_not_wait_for_its_ties() -> None:
    gate = ScaleGate([0, 1])
    five = np.array([5])
    assert gate.add(0, five, 7)
    gate.promise(1, 4)
    assert taken(gate, 0) == []
    gate.promise(1, 5)
    assert taken(gate, 0) == [Stretch(7, 0, 0, 1, True)]


def test_the_slowest_reader_holds_the_sources_back() -> None:
    gate = ScaleGate([0, 1], 2, runs=2)
    gate.promise(1, 100)
    times = [np.array([time]) for time in range(4)]
    assert gate.add(0, times[0], 0) and gate.add(0, times[1], 1)
    assert not gate.add(0, times[2], 2)
    assert len(taken(gate, 0) or []) == 2
    assert taken(gate, 0) == []
    assert not gate.add(0, times[2], 2) and gate.acknowledged(0) == 0
    assert len(taken(gate, 1, Stretches(1, 9)) or []) == 1
    assert (
        len(taken(gate, 1, Stretches(1, 9)) or []) == 1
    )  # which says that the reader is done with the first
    assert gate.acknowledged(0) == 1
    assert gate.add(0, times[2], 2)


def test_a_source_that_comes_back_may_not_bring_what_is_gone() -> None:
    gate = ScaleGate([0, 1])
    gate.promise(1, LEAVES)
    times = np.array([1, 9])
    assert gate.add(0, times, 0)
    assert len(taken(gate, 0) or []) == 1
    assert gate.join(1, 3) == 10
    early, late = np.array([9]), np.array([10])
    with pytest.raises(ValueError, match="source 1 adds 1 rows from 9 on"):
        gate.add(1, early, 0)
    assert gate.add(1, late, 0)
    assert taken(gate, 0) == []
    gate.promise(0, LEAVES)
    assert taken(gate, 0) == [Stretch(0, 1, 0, 1, True)]


def alternating(stretches: int = 64) -> tuple[ScaleGate, list[np.ndarray]]:
    """A gate whose two sources have four rows each, one after the other, and the rows."""
    gate, rows = ScaleGate([0, 1], stretches=stretches), [np.arange(first, 8, 2) for first in (0, 1)]
    for source, times in enumerate(rows):
        assert gate.add(source, times, 7 + source)
        gate.promise(source, LEAVES)
    return gate, rows


def test_rows_that_alternate_are_one_stretch_with_tags() -> None:
    (gate, _rows), into = alternating(), Stretches(8, 100)
    assert gate.give(0, into)
    mixed, *of = (
        (each.reference, each.source, each.first, each.rows, each.ends)
        for each in into.memory[0 : into.count]
    )
    assert mixed[1:] == (lib.AS_MERGE_MIXED, 2, 7, 0)
    assert of[:2] == [(7, 0, 0, 4, 1), (8, 1, 0, 3, 0)]
    assert list(into.tags[0:7]) == [0, 1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("rows", [1, 512, 4096])
def test_more_sources_than_a_stretch_has_rows_come_in_order(rows: int) -> None:
    """`rows`: how many the reader takes at a time."""
    random, count = np.random.default_rng(rows), 3 * lib.AS_SCALEGATE_BLOCK // 2
    times = [np.sort(random.integers(0, 40, random.integers(1, 20))) for _ in range(count)]
    gate, found = ScaleGate(list(range(count))), list[Stretch]()
    for source, each in enumerate(times):
        assert gate.add(source, each, source)
        gate.promise(source, LEAVES)
    while (some := taken(gate, 0, Stretches(count + 1, rows))) is not None:
        found += some
    got = [(int(times[each.source][row]), each.source) for each in found for row in _rows_of(each)]
    assert got == sorted((int(time), source) for source, each in enumerate(times) for time in each)


def _rows_of(stretch: Stretch) -> range:
    return range(stretch.first, stretch.first + stretch.rows)


def test_a_reader_needs_room_for_a_stretch_of_each_source() -> None:
    gate, _rows = alternating()
    with pytest.raises(ValueError, match="room for 2 stretches"):
        gate.give(0, Stretches(2, 100))
    assert len(taken(gate, 0, Stretches(3, 100)) or []) == 7


def test_where_the_log_has_little_room_rows_that_alternate_come_all_the_same() -> None:
    for stretches in (1, 2, 4):
        (gate, _rows), found = alternating(stretches), list[Stretch]()
        while (some := taken(gate, 0)) is not None:
            found += some
        assert [(each.source, each.first) for each in found] == [(row % 2, row // 2) for row in range(8)]


def test_a_source_that_goes_back_in_time_is_refused() -> None:
    gate = ScaleGate([0])
    five, four, none = np.array([5]), np.array([4]), np.array([], np.int64)
    assert gate.add(0, five, 0)
    with pytest.raises(ValueError, match="source 0 adds 1 rows from 4 on"):
        gate.add(0, four, 1)
    with pytest.raises(ValueError, match="source 0 adds 0 rows"):
        gate.add(0, none, 1)


@pytest.mark.parametrize(
    ("sources", "readers", "runs", "stretches"), [(0, 1, 2, 2), (1, 0, 2, 2), (1, 1, 3, 2), (1, 1, 2, 0)]
)
def test_numbers_out_of_range_are_refused(sources: int, readers: int, runs: int, stretches: int) -> None:
    with pytest.raises(ValueError, match="powers of two"):
        ScaleGate(list(range(sources)), readers, runs=runs, stretches=stretches)
