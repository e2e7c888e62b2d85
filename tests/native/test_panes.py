"""Panes agree with rows kept one by one: for every accumulator, window, tag and batching, in the middle of streams."""

from __future__ import annotations

import ctypes
import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.events.fields import Kind
from actorstream.native import cells, kernels
from actorstream.native.cells import Accumulator, CellProgram, UserState
from actorstream.native.panes import ALL, Panes, latest_of
from actorstream.native.pool import KernelPool
from actorstream.native.userfn import UserFunctionError
from tests.native.aggregate_model import KINDS, STEPS, expected, reading, some_value
from tests.native.aggregate_rows import HOWS, Held, column, operands

seeds = st.integers(0, 2**32 - 1)
HOW = [HOWS[kind] for kind in KINDS]
USER_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)


class Rows:
    """Random rows, given to panes and kept beside them."""

    def __init__(self, rng: np.random.Generator, program: CellProgram, keys: int, width: int) -> None:
        self.rng, self.program, self.keys, self.width = rng, program, keys, width
        self.rows: list[tuple] = []  # (pane, tag, key, (time, values))
        self.large = bool(rng.random() < 0.3)
        self.latest = -(2**63)

    def batch(self, count: int, low: int, high: int, spread: int, tag: int) -> Held:
        """`count` rows with times from `low` to `high` as operands."""
        rng = self.rng
        times = rng.integers(low, high, count).tolist() if count else []
        self.latest = max([self.latest, *times])
        key = [[int(rng.integers(0, spread)) for _ in range(count)] for _ in range(self.keys)]
        null = [bool(rng.random() < 0.5) for _ in KINDS]
        values = [
            [
                None if may and rng.random() < 0.3 else some_value(rng, kind, large=self.large)
                for _ in range(count)
            ]
            for kind, may in zip(KINDS, null)
        ]
        for at, time in enumerate(times):
            own = tuple(each[at] for each in values)
            pane = time // self.width if self.width else 0
            self.rows.append((pane, tag, tuple(each[at] for each in key), (time if self.width else 0, own)))
        order = [column(Kind.INT64, times, rng)] * self.program.columns
        return operands(
            [
                column(Kind.INT64, times, rng),
                *order,
                *(column(Kind.INT32, each, rng) for each in key),
                *(column(kind, own, rng, null=may) for kind, own, may in zip(KINDS, values, null)),
            ]
        )


def windows_agree(panes: Panes, rows: Rows, first: int, count: int, window: int) -> None:
    """A window's groups are those of its rows, in key order, and every step says what they do."""
    program = rows.program
    groups, taken = np.empty(7, np.uint32), np.empty((7, panes.words), np.uint64)
    found = []
    panes.open(first, count, window)
    while number := panes.take(groups, taken):
        own = groups[:number]
        key_columns = [panes.groups.words(key, own).view(np.int64).tolist() for key in range(rows.keys)]
        for at in range(number):
            key = tuple(each[at] for each in key_columns)
            mine = [
                row
                for pane, tag, its, row in sorted(rows.rows, key=lambda row: row[1])  # ties go by tag
                if its == key and first <= pane < first + count and tag <= window
            ]
            assert int(taken[at][0]) == len(mine)
            for step in range(len(program.steps)):
                want = expected(program.steps[step], mine)
                if want is None:
                    continue
                says = reading(
                    program,
                    step,
                    taken[at],
                    text=lambda value, word: text_of(panes, value, word),
                    distinct=lambda step, at=at: int(taken[at][program.at[step]]),
                    values=lambda step, q, at=at: quantile(panes, step, q, groups[at]),
                )
                assert says == want, program.steps[step]
            found.append(key)
    inside = {key for pane, tag, key, _ in rows.rows if first <= pane < first + count and tag <= window}
    assert found == sorted(inside)


def quantile(panes: Panes, step: int, q: float, group: int) -> float:
    return float(panes.quantile(step, q, np.array([group], np.uint32))[0])


def text_of(panes: Panes, value: int, word: int) -> str:
    return panes.texts(value, np.array([word], np.uint64))[1].tobytes().decode()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2), st.sampled_from([0, 1, 7]), st.integers(1, 60), seeds)
def test_windows_of_panes_say_what_their_rows_say(keys, width, spread, seed):
    rng = np.random.default_rng(seed)
    picked = sorted(rng.permutation(len(STEPS))[: int(rng.integers(0, len(STEPS)))].tolist())
    program = CellProgram(HOW, [STEPS[number] for number in picked], orders=1 if width else 0)
    panes = Panes([(kernels.SIGNED, False)] * keys, program, width=width)
    rows = Rows(rng, program, keys, width)
    low = 0
    for turn in range(5):
        tag = ALL if not width or rng.random() < 0.7 else int(rng.integers(0, 20))
        batch = rows.batch(int(rng.integers(0, 200)), low, low + 50, spread, tag)
        assert panes.add(batch, len(batch.columns[0].values), 0, tag)
        if width == 0:
            windows_agree(panes, rows, 0, 1, 2**60)
            assert latest_of(panes) == rows.latest
            continue
        numbers = sorted({row[0] for row in rows.rows})
        assert panes.numbers().tolist() == numbers
        if numbers:
            first = int(rng.choice(numbers))
            windows_agree(panes, rows, first, int(rng.integers(1, 6)), int(rng.integers(0, 20)))
        if turn % 2 and numbers:
            gone = int(rng.choice(numbers))
            panes.drop(gone)
            rows.rows = [row for row in rows.rows if row[0] >= gone]
            low = max(low, gone * width)


def test_times_below_the_open_pane_change_nothing():
    panes = Panes([(kernels.SIGNED, False)], CellProgram([], []), width=10)
    batch = operands([column(Kind.INT64, [25, 19, 31]), column(Kind.INT64, [1, 1, 2])])
    assert not panes.add(batch, 3, 20)
    assert panes.numbers().tolist() == []
    assert panes.add(batch, 3, 10)
    late = operands([column(Kind.INT64, [2**62]), column(Kind.INT64, [1])])
    assert not panes.add(late, 1, 0)
    assert panes.numbers().tolist() == [1, 2, 3]


def test_only_marked_groups_are_taken_until_they_are_unmarked():
    panes = Panes([(kernels.SIGNED, False)], CellProgram([], []), width=10)
    panes.mark()
    panes.add(operands([column(Kind.INT64, [5, 6]), column(Kind.INT64, [1, 2])]), 2, 0)
    groups, taken = np.empty(9, np.uint32), np.empty((9, 1), np.uint64)
    panes.open(0, 1, 0, marked=True)
    assert panes.take(groups, taken) == 2
    panes.unmark()
    assert panes.open(0, 1, 0, marked=True) == 0
    panes.add(operands([column(Kind.INT64, [7]), column(Kind.INT64, [2])]), 1, 0)
    panes.open(0, 1, 0, marked=True)
    assert panes.take(groups, taken) == 1
    assert (panes.groups.words(0, groups[:1]).tolist(), taken[0].tolist()) == ([2], [2])


def test_groups_and_texts_of_dropped_panes_do_not_stay():
    program = CellProgram(
        [kernels.BYTES], [Accumulator(cells.DISTINCT, 0), Accumulator(cells.LAST, 0)], orders=1
    )
    panes = Panes([(kernels.BYTES, False)], program, width=10)
    sizes = []
    for turn in range(40):
        keys = [f"key {turn} {number}" for number in range(3000)]
        texts = [f"text {turn} {number}" for number in range(3000)]
        times = column(Kind.INT64, [turn * 10] * 3000)
        panes.add(operands([times, times, column(Kind.STRING, keys), column(Kind.STRING, texts)]), 3000, 0)
        panes.open(turn, 1, 0)
        panes.take(np.empty(1, np.uint32), np.empty((1, panes.words), np.uint64))
        panes.drop(turn)
        sizes.append(panes.nbytes)
    assert max(sizes[20:]) <= max(sizes[:20])
    assert panes.groups.count < 15000


@pytest.mark.parametrize("keys", [0, 1])
def test_nan_is_the_least_and_the_greatest_of_values_that_have_one(keys):
    program = CellProgram(
        [kernels.FLOAT],
        [Accumulator(cells.LEAST, 0), Accumulator(cells.GREATEST, 0), Accumulator(cells.FLOATS, 0)],
    )
    panes = Panes([(kernels.SIGNED, False)] * keys, program, width=10)
    values = [1.0, math.nan, -math.inf, math.inf]
    parts = [column(Kind.INT64, [0] * 4), *[column(Kind.INT64, [7] * 4)] * keys, column(Kind.FLOAT64, values)]
    panes.add(operands(parts), 4, 0)
    taken = np.empty((1, panes.words), np.uint64)
    panes.open(0, 1, 0)
    panes.take(np.empty(1, np.uint32), taken)
    assert [hex(int(taken[0][program.at[step]])) for step in (0, 1)] == ["0xffffffffffffffff"] * 2
    assert math.isnan(taken[0].view(np.float64)[program.at[2]])


@pytest.mark.parametrize(
    ("values", "middle"),
    [([1.0, math.inf], math.inf), ([-math.inf, 1.0], -math.inf), ([-1.5e308, 1.5e308], 0.0)],
)
def test_a_quantile_between_values_that_are_infinitely_far_apart_lies_between_them(values, middle):
    panes = Panes([], CellProgram([kernels.FLOAT], [Accumulator(cells.VALUES, 0)]))
    panes.add(operands([column(Kind.INT64, [0] * 2), column(Kind.FLOAT64, values)]), 2, 0)
    panes.open(0, 1, 0)
    assert panes.take(np.empty(1, np.uint32), np.empty((1, panes.words), np.uint64)) == 1
    assert quantile(panes, 0, 0.5, 0) == middle
    assert [quantile(panes, 0, q, 0) for q in (0.0, 1.0)] == values


def test_a_sum_is_exact_beyond_64_bits_also_when_only_the_window_passes_them():
    program = CellProgram([kernels.SIGNED], [Accumulator(cells.INTEGERS, 0)])
    panes = Panes([], program, width=10)
    for pane in range(6):
        values = column(Kind.INT64, [2**61, -1])
        panes.add(operands([column(Kind.INT64, [pane * 10] * 2), values]), 2, 0)
    groups, taken = np.empty(1, np.uint32), np.empty((1, panes.words), np.uint64)
    panes.open(0, 6, 0)
    assert panes.take(groups, taken) == 1
    low, high = int(taken[0][program.at[0]]), int(taken[0][program.high[0]])
    assert low + (high << 64) == 6 * (2**61 - 1)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2), seeds)
def test_panes_that_were_put_back_go_on_as_if_nothing_had_happened(keys, seed):
    rng = np.random.default_rng(seed)
    program = CellProgram(HOW, STEPS, orders=1)
    made = [(kernels.SIGNED, False)] * keys
    panes, rows = Panes(made, program, width=7), Rows(rng, program, keys, 7)
    for _ in range(2):
        batch = rows.batch(150, 0, 60, 9, ALL)
        panes.add(batch, 150, 0)
    batch = rows.batch(20, 0, 60, 9, 3)
    panes.add(batch, 20, 0, 3)
    again = copied(panes, Panes(made, program, width=7), keys)
    batch = rows.batch(150, 0, 60, 9, ALL)
    again.add(batch, 150, 0)
    windows_agree(again, rows, 0, 20, 5)
    windows_agree(again, rows, 2, 3, 2)


def test_sums_beyond_64_bits_are_put_back_whole_also_where_their_pane_came_when_cells_were_wide_already():
    program = CellProgram([kernels.UNSIGNED], [Accumulator(cells.INTEGERS, 0)])
    panes = Panes([], program, width=10)
    most = 2**64 - 1
    for time, value in ((5, 1), (15, most), (3, most)):  # pane 0 is put back first, and was small at first
        values = column(Kind.UINT64, [value] * 4)
        panes.add(operands([column(Kind.INT64, [time] * 4), values]), 4, 0)
    again = copied(panes, Panes([], program, width=10), 0)
    taken = np.empty((1, again.words), np.uint64)
    for pane, total in ((0, 4 * most + 4), (1, 4 * most)):
        again.open(pane, 1, 0)
        assert again.take(np.empty(1, np.uint32), taken) == 1
        assert int(taken[0][program.at[0]]) + (int(taken[0][program.high[0]]) << 64) == total


def copied(panes: Panes, fresh: Panes, keys: int) -> Panes:
    """The state of `panes`, read and put into `fresh`."""
    for value, how in enumerate(panes.program.hows):
        if how == kernels.BYTES:
            numbers = np.arange(panes.text_count(value), dtype=np.uint64)
            offsets, data = panes.texts(value, numbers)
            texts = [data.tobytes()[a:b] for a, b in zip(offsets.tolist(), offsets.tolist()[1:])]
            fresh.put_texts(value, operands([column(Kind.BYTES, texts)]), len(texts))
    for at in range(panes.count):
        number, tag, bound, most = panes.select(at)
        groups, taken = np.empty(most, np.uint32), np.empty((most, panes.words), np.uint64)
        count = panes.take(groups, taken)
        groups, taken = groups[:count].copy(), taken[:count].copy()
        own = [
            column(Kind.INT64, panes.groups.words(key, groups).view(np.int64).tolist()) for key in range(keys)
        ]
        moved = fresh.put(number, tag, bound, operands(own), taken)
        places = dict(zip(groups.tolist(), moved.tolist()))
        for step, accumulator in enumerate(panes.program.steps):
            if accumulator.what == cells.DISTINCT:
                pairs, values = panes.beside(step, groups)
                pairs = np.array([places[group] for group in pairs.tolist()], np.uint32)
                fresh.put_beside(number, tag, step, pairs, None, values)
            elif accumulator.what == cells.VALUES:
                fresh.put_beside(number, tag, step, moved, *panes.beside(step, groups))
    return fresh


@pytest.mark.parametrize(
    ("hows", "steps"),
    [
        ([kernels.BYTES], [Accumulator(cells.INTEGERS, 0)]),
        ([kernels.FLOAT], [Accumulator(cells.INTEGERS, 0)]),
        ([kernels.SIGNED], [Accumulator(cells.COUNT, 1)]),
        ([kernels.SIGNED], [Accumulator(99, 0)]),
    ],
)
def test_a_program_that_does_not_fit_its_values_is_refused(hows, steps):
    with pytest.raises(ValueError, match="do not fit"):
        CellProgram(hows, steps)


def test_the_error_of_a_job_names_what_the_function_answered_on_the_thread_that_ran_it():
    functions = [USER_FUNCTION(lambda columns, rows, out, answer=answer: answer) for answer in (3, 7)]
    panes = []
    for function in functions:
        address = ctypes.cast(function, ctypes.c_void_p).value
        user = UserState(8, address, address)
        program = CellProgram([kernels.SIGNED], [Accumulator(cells.USER, 0, arguments=(0,), user=user)])
        panes.append(Panes([], program, width=10))
    given = operands([column(Kind.INT64, [1]), column(Kind.INT64, [5])])
    with pytest.raises(UserFunctionError, match="answered 3"):
        panes[0].add(given, 1, 0)
    thread = threading.Thread(target=KernelPool.run, args=(panes[1].job(given, 1, 0),))
    thread.start()
    thread.join()
    with pytest.raises(UserFunctionError, match="answered 7"):
        panes[1].job_added()


def test_operands_that_cannot_be_read_as_the_program_says_are_refused():
    panes = Panes(
        [(kernels.SIGNED, False)], CellProgram([kernels.SIGNED], [Accumulator(cells.INTEGERS, 0)]), width=10
    )
    texts = column(Kind.STRING, ["a"])
    times = column(Kind.INT64, [1])
    wrong = operands([times, times, texts])
    wrong.fill([(each.column.descriptor, None, kernels.SIGNED) for each in (times, times, texts)])
    with pytest.raises(ValueError, match="cannot be read"):
        panes.add(wrong, 1, 0)
