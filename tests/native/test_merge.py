"""The merge against sorting: the same sequence, and what is ready is exactly what Definition 1, strict for ties, says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.native.merge import ENDED, MOST_LANES, MOST_TIES, NOTHING, Gather, Merge
from tests.native.built import run_random, sources

MANY = settings(max_examples=150, deadline=None)


def gather(tags: np.ndarray, parts: list[Any], ends: np.ndarray | None = None) -> np.ndarray:
    """One column of parts that are sources of their own; None: no tag names it."""
    given = [part for part in parts if part is not None]
    numbers = iter(range(len(given)))
    which = np.array([-1 if part is None else next(numbers) for part in parts])
    ends = np.array([len(tags)], np.uint64) if ends is None else ends
    return Gather(tags, which, np.zeros(len(parts), np.int64), ends).column(given)


def test_parts_of_one_source_begin_at_their_rows() -> None:
    source, other = np.arange(10, dtype=np.int32), np.arange(100, 110, dtype=np.int32)
    tags, which, firsts = np.array([0, 1, 0, 2], np.uint16), np.array([0, 1, 0]), np.array([3, 5, 8])
    made = Gather(tags, which, firsts, np.array([4], np.uint64)).column([source, other])
    assert made.tolist() == [3, 105, 4, 8]


class Model:
    """Lanes as lists of (time, ties); what goes next is found by looking at all of them."""

    def __init__(self, ranks: list[int]) -> None:
        self.ranks = ranks
        self.rows: list[list[tuple[int, ...]]] = [[] for _ in ranks]
        self.bounds = [NOTHING] * len(ranks)

    def next(self) -> int | None:
        """The lane whose first row is ready."""
        keys = [
            (rows[0][0], self.ranks[lane], rows[0][1:], lane) for lane, rows in enumerate(self.rows) if rows
        ]
        if not keys:
            return None
        time, rank, _, lane = min(keys)
        for other, rows in enumerate(self.rows):
            if rows or self.bounds[other] == ENDED:
                continue
            bound = self.bounds[other]
            if not (bound >= time if self.ranks[other] > rank else bound > time):
                return None
        return lane


@st.composite
def plays(draw: st.DrawFn) -> tuple[list[int], int, list[list[list[tuple[int, ...]]]], Any]:
    """Ranks, tie columns, for each lane its rows in several pieces, and random choices."""
    count = draw(st.sampled_from([1, 2, 3, 4, 6, 17, 30]))
    ranks = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    ties = draw(st.integers(0, 2))
    spread = draw(st.sampled_from([2, 20, 1000]))
    size = draw(st.sampled_from([5, 2400 // max(count, 6)]))
    lanes = []
    for _ in range(count):
        random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        rows = draw(st.integers(0, size))
        table = random.integers(-spread, spread, (rows, 1 + ties))
        ordered = sorted(tuple(int(value) for value in row) for row in table)
        cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=3)))
        lanes.append([ordered[a:b] for a, b in zip([0, *cuts], [*cuts, rows])])
    return ranks, ties, lanes, draw(st.randoms(use_true_random=False))


@st.composite
def tied_pairs(draw: st.DrawFn) -> tuple[list[int], int, list[list[list[tuple[int, ...]]]], Any]:
    """Two lanes of one rank with rows of few times, which the last of two tie columns tells apart. They alternate row by row, or
    in runs, and a few rows may be in both lanes."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, times, run, both = (
        draw(st.sampled_from(some)) for some in ((100, 600, 1500), (1, 2, 30), (1, 3, 40), (0, 0, 2))
    )
    places = random.permutation(rows * 100)[:rows]
    time = random.integers(0, times, rows) // run
    owner = (
        random.integers(0, 2, rows // run + 1).repeat(run)[:rows] if run > 1 else random.integers(0, 2, rows)
    )
    every = sorted(zip(time.tolist(), [0] * rows, places.tolist()))
    lanes: list[list[tuple[int, ...]]] = [[], []]
    for row, lane in zip(every, owner.tolist()):
        lanes[lane].append(row)
    for row in random.permutation(rows)[:both].tolist():
        lanes[1 - owner[row]].append(every[row])
    cut = [
        [sorted(lane)[:at], sorted(lane)[at:]]
        for lane, at in zip(lanes, random.integers(0, rows, 2).tolist())
    ]
    return [0, 0], 2, cut, draw(st.randoms(use_true_random=False))


def test_lanes_of_any_number_are_merged_as_by_looking_at_all_of_them_for_each_row() -> None:
    """Under AddressSanitizer and UBSan: up to 80 lanes whose promises rise as rows come."""
    run_random("merge_random", sources("merge"), 400)


def test_a_row_of_the_greatest_time_waits_for_a_lane_that_can_still_bring_one_before_it() -> None:
    """Though the other lane's rank is higher, it has promised no more than the time before."""
    merge = Merge([0, 1])
    merge.fill(0, np.array([ENDED]))
    merge.promise(1, ENDED - 1)
    assert merge.ready(10)[0] == 0
    merge.promise(1, ENDED)
    assert merge.ready(10, shortest=1)[:2] == (1, 0)


@MANY
@given(
    st.one_of(plays(), tied_pairs()), st.sampled_from([1, 3, 100, 5000]), st.sampled_from([1, 2, 64, 6000])
)
def test_rows_come_in_order_and_as_soon_as_they_are_ready(play: Any, limit: int, shortest: int) -> None:
    ranks, ties, lanes, random = play
    merge, model = Merge(ranks, ties), Model(ranks)
    waiting = [list(pieces) for pieces in lanes]
    while True:
        moved = False
        while True:
            rows, lane, tags = merge.ready(limit, shortest)
            expected = []
            for _ in range(rows):
                one = model.next()
                assert one is not None, "it gave rows that are not ready"
                expected.append(one)
                model.rows[one].pop(0)
            assert ([lane] * rows if lane is not None else tags.tolist()) == expected
            if rows == 0:
                break
            moved = True
        assert model.next() is None, "it kept rows that are ready"
        assert [merge.left(lane) for lane in range(len(ranks))] == [len(rows) for rows in model.rows]
        able = [lane for lane, pieces in enumerate(waiting) if pieces and not model.rows[lane]]
        live = [lane for lane, pieces in enumerate(waiting) if not pieces and model.bounds[lane] != ENDED]
        if not able and not live:
            assert moved or not any(model.rows)
            break
        lane = random.choice(able + live)
        if lane in live:
            model.bounds[lane] = ENDED
        else:
            piece = waiting[lane].pop(0)
            table = np.array(piece, np.int64).reshape(len(piece), 1 + ties)
            columns = [np.ascontiguousarray(table[:, number]) for number in range(1 + ties)]
            merge.fill(lane, columns[0], columns[1:])
            model.rows[lane] = list(piece)
            after = [rows[0][0] for rows in waiting[lane] if rows]
            least = after[0] if after else 2000
            model.bounds[lane] = max(model.bounds[lane], least - random.choice([0, 0, 1]))
        merge.promise(lane, model.bounds[lane])


@pytest.mark.parametrize("seed", range(30))
def test_each_row_comes_once_also_where_rows_of_one_time_are_not_in_the_order_of_their_ties(
    seed: int,
) -> None:
    """An operator may emit the rows of one second in any order."""
    random = np.random.default_rng(seed)
    merge, rows = Merge([0, 0], 2), 600
    places = np.arange(2 * rows)
    if seed % 2:
        at = random.permutation(rows - 1)[:20] * 2
        places[at], places[at + 2] = places[at + 2].copy(), places[at].copy()  # of the same lane
    else:
        random.shuffle(places)
    for lane in range(2):
        ties = [np.zeros(rows, np.int64), np.ascontiguousarray(places[lane::2])]
        merge.fill(lane, np.zeros(rows, np.int64), ties)
        merge.promise(lane, ENDED)
    left = [rows, rows]
    while (found := merge.ready(512))[0]:
        count, lane, tags = found
        given = tags.tolist() if lane is None else [lane] * count
        left = [left[lane] - given.count(lane) for lane in range(2)]
        assert [merge.left(lane) for lane in range(2)] == left
    assert left == [0, 0]


def test_all_rows_go_once_every_lane_has_ended() -> None:
    random = np.random.default_rng(7)
    lanes = [np.sort(random.integers(0, 10_000, 5000)) for _ in range(5)]
    merge = Merge([3, 1, 4, 0, 2])
    for lane, time in enumerate(lanes):
        merge.fill(lane, time)
        merge.promise(lane, ENDED)
    found, starts = [], [0] * 5
    while True:
        rows, lane, tags = merge.ready(777)
        if rows == 0:
            break
        chosen = np.full(rows, lane, np.uint16) if lane is not None else tags.copy()
        found.append(gather(chosen, [each[start:] for each, start in zip(lanes, starts)]))
        starts = [merge.first(each) for each in range(5)]
    assert (np.concatenate(found) == np.sort(np.concatenate(lanes))).all()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "datetime64[us]"])
def test_values_of_every_width_are_put_in_the_order_of_the_tags(dtype: str) -> None:
    left, right = np.arange(3).astype(dtype), np.arange(10, 12).astype(dtype)
    tags = np.array([2, 0, 0, 2, 0], np.uint16)
    assert gather(tags, [left, None, right]).tolist() == np.array([10, 0, 1, 11, 2]).astype(dtype).tolist()


@MANY
@given(
    st.lists(st.lists(st.integers(0, 20), max_size=60), min_size=1, max_size=4),
    st.integers(1, 50),
    st.booleans(),
    st.sampled_from([np.int8, np.uint16, np.float32, np.int64]),
)
def test_stretches_are_gathered_in_the_order_of_the_merge(
    lanes: list[list[int]], limit: int, in_runs: bool, dtype: type
) -> None:
    """Of finely alternating lanes, and of lanes whose times lie far apart."""
    times = [np.sort(np.array(each, np.int64)) + 20 * at * in_runs for at, each in enumerate(lanes)]
    merge = Merge(range(len(lanes)))
    columns = [np.arange(len(time)).astype(dtype) + dtype(at) for at, time in enumerate(times)]
    for at, time in enumerate(times):
        if len(time):
            merge.fill(at, time)
        merge.promise(at, ENDED)
    tags: list[np.ndarray] = []
    sources: list[np.ndarray | None] = []
    taken = [0] * len(lanes)
    while (found := merge.ready(limit, shortest=1000))[0]:
        tags.append(found[2].copy())
        sources += [column[first:] for column, first in zip(columns, taken)]
        taken = [merge.first(at) for at in range(len(lanes))]
    if not tags:
        return
    whole = np.concatenate(tags)
    order = sorted((time, at, row) for at, each in enumerate(times) for row, time in enumerate(each.tolist()))
    assert whole.tolist() == [at for _, at, _ in order]
    ends = np.cumsum([len(each) for each in tags], dtype=np.uint64)
    expected = [columns[at][row] for _, at, row in order]
    assert gather(whole, sources, ends).tolist() == expected


def test_values_of_other_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes; allowed: 1, 2, 4, 8"):
        gather(np.zeros(1, np.uint16), [np.zeros(1, np.complex128)])


def test_columns_that_do_not_fit_are_refused() -> None:
    merge = Merge([0, 1], 1)
    time = np.arange(3)
    with pytest.raises(ValueError, match="allowed: 2 contiguous int64 columns of one length"):
        merge.fill(0, time)
    with pytest.raises(ValueError, match="allowed: 2 contiguous int64 columns of one length"):
        merge.fill(0, time, [time[:2]])
    with pytest.raises(ValueError, match="allowed: 2 contiguous int64 columns of one length"):
        merge.fill(0, time, [time.astype(np.int32)])
    merge.fill(0, time, [time])
    with pytest.raises(ValueError, match="lane 0 still has 3 rows"):
        merge.fill(0, time, [time])


def test_too_many_tie_columns_or_lanes_are_refused() -> None:
    with pytest.raises(ValueError, match=f"0 to {MOST_TIES} tie columns"):
        Merge([0], MOST_TIES + 1)
    with pytest.raises(ValueError, match=f"up to {MOST_LANES} lanes"):
        Merge(range(MOST_LANES + 1))
