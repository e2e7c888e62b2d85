"""The app's C kernels against plain Python: the same rows, in the same order, for any rows in any batches, also after the
state has been saved and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tpcx_bb import kernel
from apps.tpcx_bb.kernel import State

Rows = list[tuple[int, ...]]
steps = st.integers(0, 3)
few = st.integers(1, 4)
cuts = st.lists(st.integers(0, 40), max_size=4)
HORIZON, GAP, WITHIN, VIEWS, TARGET = 4, 2, 5, 3, 2


def timed(*fields: st.SearchStrategy[int]) -> st.SearchStrategy[Rows]:
    """Rows whose first field is a time that never falls."""

    def with_times(rows: list[tuple[int, ...]]) -> Rows:
        times = np.cumsum([row[0] for row in rows]).tolist()
        return [(time, *row[1:]) for time, row in zip(times, rows)]

    return st.lists(st.tuples(steps, *fields), max_size=40).map(with_times)


def run(
    made: Callable[[], State],
    name: str,
    rows: Rows,
    at: list[int],
    columns: int,
    kinds: tuple[type, ...] = (),
) -> Rows:
    """(row, values) of what comes out of rows that come in batches cut at `at`; each batch goes to a new state that has
    loaded what the last one saved."""
    state, found = made(), Rows()
    bounds = [0, *sorted(min(cut, len(rows)) for cut in at), len(rows)]
    for first, end in pairwise(bounds):
        if first == end:
            continue
        arrays = [np.array(values, np.int64) for values in zip(*rows[first:end])]
        for number, kind in enumerate(kinds):
            arrays[len(arrays) - len(kinds) + number] = arrays[len(arrays) - len(kinds) + number].astype(kind)
        state.call(name, *arrays)
        found += zip(
            (state.rows() + first).tolist(), *(state.column(each).tolist() for each in range(columns))
        )
        saved, state = state.save(), made()
        state.load(saved)
    if hasattr(state.lib, f"bb_{name}_end"):
        state.call(f"{name}_end")
        found += zip([-1] * state.rows_out, *(state.column(each).tolist() for each in range(columns)))
    return found


@given(timed(few, few), cuts, st.booleans())
def test_items_of_a_ticket_are_paired_until_it_is_over(rows: Rows, at: list[int], ends: bool) -> None:
    horizon = HORIZON if ends else -1
    tickets: dict[int, tuple[int, list[int]]] = {}
    expected = Rows()
    for number, (time, ticket, item) in enumerate(rows):
        begun, items = tickets.get(ticket, (time, []))
        if ends and time - begun > horizon:
            begun, items = time, []
        if item not in items:
            expected += [(number, *sorted((item, other))) for other in items]  # type: ignore[misc]
            items = [item, *items]
        tickets[ticket] = begun, items
    assert run(lambda: State(1, 2, horizon), "tickets", rows, at, 2) == expected


@given(st.lists(st.tuples(few, few), max_size=40), cuts, st.integers(0, 2), st.booleans())
def test_rows_are_counted_and_forgotten_when_a_value_is_over(
    rows: Rows, at: list[int], least: int, forgets: bool
) -> None:
    rows = sorted(rows) if forgets else rows
    counts: dict[tuple[int, ...], int] = {}
    expected = []
    for number, row in enumerate(rows):
        counts[row] = counts.get(row, 0) + 1
        if counts[row] > least:
            expected.append((number, counts[row]))
    state = State(2, 1, least, 0 if forgets else -1)
    found = []
    bounds = [0, *sorted(min(cut, len(rows)) for cut in at), len(rows)]
    for first, end in pairwise(bounds):
        columns = np.array(rows[first:end], np.int64).reshape(-1, 2).T
        state.by_key("counts", [*columns])
        found += list(zip((state.rows() + first).tolist(), state.column(0).tolist()))
    assert found == expected


@given(st.lists(st.tuples(few, few, st.integers(0, 99)), min_size=1, max_size=40))
def test_the_last_value_of_a_key_is_kept_until_all_are_cleared(rows: Rows) -> None:
    state = State(2, 1)
    *key, value = np.array(rows).T
    state.by_key("note", key, value)
    last = {(first, second): value for first, second, value in rows}
    rows_out = state.call("read")
    read = zip(*(state.column(number).tolist() for number in range(3)))
    assert [*read] == [(*key, value) for key, value in last.items()]
    assert rows_out == len(last)
    state.clear()
    assert state.call("read") == 0


@given(timed(few, few), cuts)
def test_a_session_is_over_after_a_gap_and_keeps_distinct_items_in_their_order(
    rows: Rows, at: list[int]
) -> None:
    open_sessions: dict[int, tuple[int, list[int]]] = {}
    expected: list[tuple[int, int, list[int]]] = []
    for number, (time, user, item) in enumerate(rows):
        last, items = open_sessions.get(user, (time, []))
        if time - last > GAP:
            expected.append((number, user, items))
            items = []
        open_sessions[user] = time, items if item in items else [*items, item]
    expected += [(-1, user, items) for user, (_, items) in sorted(open_sessions.items())]
    state = State(1, 3, GAP)
    found = []
    bounds = [0, *sorted(min(cut, len(rows)) for cut in at), len(rows)]
    for first, end in [*pairwise(bounds), (-1, -1)]:
        if first < 0:
            state.call("sessions_end")
        elif first < end:
            state.call("sessions", *np.array(rows[first:end]).T)
        else:
            continue
        ends = state.column(1).tolist()
        flat = state.column(2, ends[-1] if ends else 0).tolist()
        items_of = [flat[begin:stop] for begin, stop in zip([0, *ends], ends)]
        origins = [-1] * len(ends) if first < 0 else (state.rows() + first).tolist()
        found += list(zip(origins, state.column(0).tolist(), items_of))
        saved, state = state.save(), State(1, 3, GAP)
        state.load(saved)
    assert found == expected


@given(st.lists(st.lists(st.integers(1, 9), unique=True, max_size=6), max_size=6), st.booleans())
def test_items_of_a_session_are_paired_all_or_with_one(sessions: list[list[int]], with_one: bool) -> None:
    expected = []
    for row, items in enumerate(sessions):
        if with_one:
            expected += [(row, item, TARGET) for item in items if item != TARGET and TARGET in items]
        else:
            expected += [(row, min(pair), max(pair)) for pair in combinations(items, 2)]

    packed = pa.array([np.array(items, np.int64).tobytes() for items in [[7], *sessions]], pa.binary())
    offsets = np.frombuffer(packed.buffers()[1], np.int32)[1 : len(sessions) + 2]
    state = State(1, 0, TARGET if with_one else -1)
    state.session_pairs(offsets, packed.buffers()[2])
    assert [*zip(*(each.tolist() for each in (state.rows(), state.column(0), state.column(1))))] == expected


@given(timed(few, st.integers(0, 1), st.integers(0, 1)), cuts)
def test_a_visit_counts_pages_and_remembers_the_last_of_two_kinds(rows: Rows, at: list[int]) -> None:
    visits: dict[int, list[int]] = {}
    expected = []
    for number, (time, user, dynamic, order) in enumerate(rows):
        visit = visits.get(user)
        if visit is None or time - visit[0] > GAP:
            if visit is not None:
                expected.append((number, user, *visit[1:]))
            visits[user] = visit = [time, 0, 0, 0]
        visit[0] = time
        visit[1] += 1
        visit[2] = visit[1] if dynamic else visit[2]
        visit[3] = visit[1] if order else visit[3]
    expected += [(-1, user, *visit[1:]) for user, visit in sorted(visits.items())]
    kinds = (np.bool_, np.bool_)
    assert run(lambda: State(1, 4, GAP), "visits", rows, at, 4, kinds) == expected


@given(timed(few, few, st.integers(-1, 2)), cuts)
def test_a_purchase_shows_what_was_viewed_last_clicks_of_a_second_by_sale_and_item(
    rows: Rows, at: list[int]
) -> None:
    users: dict[int, Rows] = {}
    expected = []
    second: dict[int, Rows] = {}

    def settle(number: int, user: int) -> None:
        for time, sale, item in sorted(second.pop(user, [])):
            before = users.setdefault(user, [])
            if sale >= 0 and item == TARGET:
                expected.extend((number, viewed) for when, viewed in before[-VIEWS:] if when >= time - WITHIN)
            before.append((time, item))

    for number, (time, user, item, sale) in enumerate(rows):
        if second.get(user, [(time,)])[0][0] != time:
            settle(number, user)
        second.setdefault(user, []).append((time, sale, item))
    for user in sorted(second):
        settle(-1, user)
    made = lambda: State(1, 3 + 2 * VIEWS, TARGET, VIEWS, WITHIN)  # noqa: E731
    assert run(made, "last_viewed", rows, at, 1) == expected


@settings(max_examples=3)
@given(st.integers(3000, 9000))
def test_a_table_grows_past_its_first_slots_and_is_loaded_again(keys: int) -> None:
    column = np.arange(keys) * 1_000_003
    state = State(1, 1, 0, -1)
    assert state.by_key("counts", [column]) == keys
    loaded = State(1, 1, 0, -1)
    loaded.load(state.save())
    assert loaded.by_key("counts", [column[::-1]]) == keys
    assert set(loaded.column(0).tolist()) == {2}


def test_a_state_of_another_kind_is_refused() -> None:
    state = State(1, 1)
    state.by_key("note", [np.arange(3)], np.arange(3))
    saved = state.save()
    with pytest.raises(kernel.KernelError, match="not what such a state saves"):
        State(1, 1).load(saved + bytes(8))


@pytest.fixture(scope="module", autouse=True)
def compiled() -> Iterator[Any]:
    """Before the first example, which would else take too long."""
    yield kernel.kernel()
