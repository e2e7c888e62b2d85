"""Sessions and windows of so many rows agree with rows kept one by one, late ones and put-back states included."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actorstream.events.fields import Kind
from actorstream.native import cells, kernels
from actorstream.native.cells import Accumulator, CellProgram
from actorstream.native.sessions import EVERYTHING, Sessions
from tests.native.aggregate_model import KINDS, STEPS, Row, expected, reading, some_value
from tests.native.aggregate_rows import HOWS, Held, column, operands

seeds = st.integers(0, 2**32 - 1)
HOW = [HOWS[kind] for kind in KINDS]


@dataclass
class Session:
    key: tuple
    start: int
    last: int
    rows: list[Row] = field(default_factory=list)


class Model:
    """Sessions by definition; `size` 0: only gaps end them."""

    def __init__(self, gap: int, lateness: int, size: int, timed: bool) -> None:
        self.gap, self.lateness, self.size, self.timed = gap, lateness, size, timed
        self.open: list[Session] = []
        self.full: list[Session] = []
        self.seen: dict[tuple, int] = {}

    def add(self, key: tuple, row: Row, watermark: int) -> bool:
        """Whether the row was late."""
        if self.size:
            self._count(key, row)
            return False
        time = row[0]
        over = watermark - self.lateness
        mine = [
            each
            for each in self.open
            if each.key == key
            and each.start - self.gap <= time <= each.last + self.gap
            and each.last + self.gap >= over
        ]
        if not mine and time + self.gap < over:
            return True
        made = Session(key, time, time, [row])
        for each in mine:
            self.open.remove(each)
            made.start, made.last = min(made.start, each.start), max(made.last, each.last)
            made.rows = each.rows + made.rows
        self.open.append(made)
        return False

    def _count(self, key: tuple, row: Row) -> None:
        time = row[0]
        mine = [each for each in self.open if each.key == key]
        current = mine[-1] if mine else None
        if current is not None and self.gap >= 0 and time > current.last + self.gap:
            self.open.remove(current)
            self.full.append(current)
            current = None
        if not self.timed:
            time = self.seen.get(key, 0)
            self.seen[key] = time + 1
        if current is None:
            current = Session(key, time, time)
            self.open.append(current)
        current.start, current.last = min(current.start, time), max(current.last, time)
        current.rows.append(row)
        if len(current.rows) == self.size:
            self.open.remove(current)
            self.full.append(current)

    def due(self, bound: int) -> list[Session]:
        found, self.full = self.full, []
        if self.gap >= 0:
            found += [each for each in self.open if each.last + self.gap < bound]
        if bound == EVERYTHING:
            found += [each for each in self.open if each not in found]
        self.open = [each for each in self.open if all(each is not one for one in found)]
        return found


class Run:
    """Random rows, given to sessions and to the model."""

    def __init__(
        self, rng: np.random.Generator, program: CellProgram, keys: int, spread: int, model: Model
    ) -> None:
        self.rng, self.program, self.keys, self.spread, self.model = rng, program, keys, spread, model
        self.sessions = self.fresh()

    def fresh(self) -> Sessions:
        model = self.model
        return Sessions(
            [(kernels.SIGNED, False)] * self.keys,
            self.program,
            gap=model.gap,
            lateness=model.lateness,
            size=model.size,
            timed=model.timed,
        )

    def add(self, count: int, low: int, high: int, frontier: int) -> None:
        rng = self.rng
        times = rng.integers(low, high, count).tolist() if count else []
        key = [[int(rng.integers(0, self.spread)) for _ in range(count)] for _ in range(self.keys)]
        null = [bool(rng.random() < 0.5) for _ in KINDS]
        values = [
            [None if may and rng.random() < 0.3 else some_value(rng, kind, large=False) for _ in range(count)]
            for kind, may in zip(KINDS, null)
        ]
        marks = None
        if rng.random() < 0.5:
            marks = frontier + rng.integers(0, 30, count)
        own = marks if marks is not None else np.full(count, frontier)
        order = [column(Kind.INT64, times, rng)] * self.program.columns
        batch = operands(
            [
                column(Kind.INT64, times, rng) if self.model.timed else None,
                *order,
                *(column(Kind.INT32, each, rng) for each in key),
                *(column(kind, each, rng, null=may) for kind, each, may in zip(KINDS, values, null)),
            ]
        )
        late = self.sessions.add(batch, count, frontier, marks)
        for at, time in enumerate(times):
            row = (time if self.model.timed else 0, tuple(each[at] for each in values))
            was = self.model.add(tuple(each[at] for each in key), row, int(own[at]))
            assert was == (late is not None and bool(late[at]))

    def agree(self, bound: int) -> None:
        """What is over is the same, and says what its rows say."""
        sessions, program = self.sessions, self.program
        groups, start, last = sessions.due(bound)
        key_columns = [sessions.groups.words(key, groups).view(np.int64).tolist() for key in range(self.keys)]
        which = np.arange(len(groups), dtype=np.uint32)
        taken = sessions.cells(which)
        due = self.model.due(bound)
        wanted: dict[tuple, list[Session]] = {}
        for each in due:
            wanted.setdefault((each.key, each.start, each.last, len(each.rows)), []).append(each)
        assert len(groups) == len(due)
        for at in range(len(groups)):
            key = tuple(each[at] for each in key_columns)
            mine = wanted[key, int(start[at]), int(last[at]), int(taken[at][0])].pop(0).rows
            one = which[at : at + 1]
            for step in range(len(program.steps)):
                want = expected(program.steps[step], mine)
                if want is None:
                    continue
                says = reading(
                    program,
                    step,
                    taken[at],
                    text=lambda value, word: text_of(sessions, value, word),
                    distinct=lambda step, one=one: int(sessions.distinct(step, one)[0]),
                    values=lambda step, q, one=one: float(sessions.quantile(step, q, one)[0]),
                )
                assert says == want, program.steps[step]
        sessions.release()
        assert sessions.open == len(self.model.open)


def text_of(sessions: Sessions, value: int, word: int) -> str:
    return sessions.texts(value, np.array([word], np.uint64))[1].tobytes().decode()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2),
    st.integers(0, 12),
    st.sampled_from([0, 0, 5]),
    st.sampled_from([0, 0, 1, 3, 50]),
    st.integers(1, 60),
    seeds,
)
@example(1, 7, 0, 0, 7, 4165804208)  # a session grows past one that its row's watermark has passed
def test_sessions_say_what_their_rows_say(keys, gap, lateness, size, spread, seed):
    rng = np.random.default_rng(seed)
    picked = sorted(rng.permutation(len(STEPS))[: int(rng.integers(0, len(STEPS)))].tolist())
    timed = size == 0 or bool(rng.random() < 0.5)
    if size and (not timed or rng.random() < 0.5):
        gap = -1
    # ties of rows in different sessions that join go by neither arrival nor anything else: order them by time and value
    steps = [
        STEPS[number] for number in picked if timed or STEPS[number].what not in (cells.FIRST, cells.LAST)
    ]
    steps = [step for step in steps if step.what not in (cells.FIRST, cells.LAST)]
    run = Run(rng, CellProgram(HOW, steps), keys, spread, Model(gap, lateness, size, timed))
    frontier = 0
    for _ in range(6):
        run.add(int(rng.integers(0, 200)), max(frontier - 20, 0), frontier + 60, frontier)
        frontier += int(rng.integers(0, 50))
        run.agree(frontier - lateness)
        if rng.random() < 0.3:
            run.sessions = copied(run)
    run.agree(EVERYTHING)
    assert run.sessions.open == 0


def times(*values: int) -> Held:
    return operands([column(Kind.INT64, list(values))])


def test_a_row_exactly_one_gap_later_still_belongs_and_one_more_does_not():
    sessions = Sessions([], CellProgram([], []), gap=10)
    sessions.add(times(5, 15, 26), 3, 0)
    assert sessions.open == 2
    assert sessions.due(25)[0].tolist() == []
    _, start, last = sessions.due(26)
    assert (start.tolist(), last.tolist()) == ([5], [15])
    sessions.release()


def test_a_row_between_two_sessions_joins_them():
    sessions = Sessions([], CellProgram([], []), gap=10)
    sessions.add(times(5, 25, 15), 3, 0)
    _, start, last = sessions.due(EVERYTHING)
    assert (start.tolist(), last.tolist(), sessions.cells(np.zeros(1, np.uint32)).tolist()) == (
        [5],
        [25],
        [[3]],
    )


def test_first_and_last_go_by_time_also_where_sessions_join():
    program = CellProgram(
        [kernels.SIGNED], [Accumulator(cells.FIRST, 0), Accumulator(cells.LAST, 0)], orders=1
    )
    sessions = Sessions([], program, gap=10)
    time = column(Kind.INT64, [25, 5, 15, 6])
    sessions.add(operands([time, time, column(Kind.INT64, [1, 2, 3, 4])]), 4, 0)
    sessions.due(EVERYTHING)
    cell = sessions.cells(np.zeros(1, np.uint32))[0]
    assert (cell[program.at[0]], cell[program.at[1]]) == (2, 1)


def test_a_row_joins_no_session_that_is_over_at_its_own_watermark():
    sessions = Sessions([], CellProgram([], []), gap=10)
    sessions.add(times(45), 1, 0)
    late = sessions.add(times(50, 48, 37), 3, 0, np.array([60, 60, 60]))
    assert late is not None
    assert late.tolist() == [False, False, True]
    _, start, last = sessions.due(EVERYTHING)
    assert sorted(zip(start.tolist(), last.tolist())) == [(45, 45), (48, 50)]


def test_distinct_values_of_a_long_session_do_not_stay_as_often_as_they_come():
    program = CellProgram([kernels.SIGNED], [Accumulator(cells.DISTINCT, 0)])
    sessions = Sessions([], program, gap=10)
    rng = np.random.default_rng(1)
    for _ in range(50):
        values = rng.integers(0, 700, 1000).tolist()
        sessions.add(operands([column(Kind.INT64, [1] * 1000), column(Kind.INT64, values)]), 1000, 0)
    assert sessions.nbytes < 100_000
    sessions.due(EVERYTHING)
    assert sessions.distinct(0, np.zeros(1, np.uint32)).tolist() == [700]


def test_distinct_values_are_looked_through_again_once_they_have_doubled_and_not_before():
    sessions = Sessions([], CellProgram([kernels.SIGNED], [Accumulator(cells.DISTINCT, 0)]), gap=10)

    def kept(*values: int) -> int:
        """How many values there are once these have come, too."""
        rows = len(values)
        sessions.add(operands([column(Kind.INT64, [1] * rows), column(Kind.INT64, list(values))]), rows, 0)
        sessions.peek()
        found = len(sessions.lists(0, np.zeros(1, np.uint32))[1])
        sessions.forget()
        return found

    assert kept(*range(1023, 0, -1)) == 1023
    assert kept(7) == 1023  # of 1,024
    assert kept(*[7] * 1024) == 2047
    assert kept(7) == 1023  # of 2,048
    sessions.due(EVERYTHING)
    assert sessions.distinct(0, np.zeros(1, np.uint32)).tolist() == [1023]


@pytest.mark.parametrize("time", [-1, 2**62])
def test_times_that_are_none_change_nothing(time):
    sessions = Sessions([], CellProgram([], []), gap=10)
    with pytest.raises(ValueError, match="cannot be read"):
        sessions.add(times(5, time), 2, 0)
    assert sessions.open == 0


def copied(run: Run) -> Sessions:
    """The state of a run's sessions, read and put into new ones."""
    sessions, fresh, program = run.sessions, run.fresh(), run.program
    for value, how in enumerate(program.hows):
        if how == kernels.BYTES:
            offsets, data = sessions.texts(value, np.arange(sessions.text_count(value), dtype=np.uint64))
            texts = [data.tobytes()[a:b] for a, b in zip(offsets.tolist(), offsets.tolist()[1:])]
            fresh.put_texts(value, operands([column(Kind.BYTES, texts)]), len(texts))
    seen = sessions.seen()
    everybody = np.flatnonzero(seen).astype(np.uint32)
    fresh.put_seen(operands(keys_of(run, everybody)), seen[everybody])
    groups, start, last = sessions.peek()
    which = np.arange(len(groups), dtype=np.uint32)
    numbers = fresh.put(operands(keys_of(run, groups)), start, last, sessions.cells(which))
    for step, accumulator in enumerate(program.steps):
        if accumulator.what in (cells.DISTINCT, cells.VALUES):
            fresh.put_lists(step, numbers, *sessions.lists(step, which))
    sessions.forget()
    return fresh


def keys_of(run: Run, groups: np.ndarray) -> list:
    words = [run.sessions.groups.words(key, groups).view(np.int64).tolist() for key in range(run.keys)]
    return [column(Kind.INT64, each) for each in words]
