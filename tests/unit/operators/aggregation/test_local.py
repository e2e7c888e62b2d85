"""The first of two steps emits cells that the second merges; aggregates that have no cells take one step."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from actorstream import Batch, Schema
from actorstream.operators.aggregate import Aggregate, MergingAggregate
from actorstream.operators.aggregation import local, repeats
from actorstream.operators.aggregation.local import LocalAggregate

ROW = Schema.from_dict(
    {"ts": "int", "key": "int", "price": "float?", "number": "int", "text": "str"}, event_time="ts"
)
KEYS: dict[str, Any] = {
    "key": ["key"],
    "window": {"type": "sliding", "size": 10, "slide": 5},
    "aggregates": {"n": "count()", "sum": "sum(number)", "mean": "mean(price)", "last": "last(number)"},
}


class Context:
    def __init__(self, schema: Schema) -> None:
        self.inputs = {"rows": schema}
        self.late = 0

    def emit(self, batch: Batch, to: str) -> None:
        assert to == "late"

    def count_late(self, rows: int) -> None:
        self.late += rows


def started(actor: Any, schema: Schema) -> Any:
    actor._bind(Context(schema))
    actor.on_start()
    return actor


def batch(times: list[int]) -> Batch:
    at = np.array(times)
    columns = {"ts": at, "key": at % 3, "price": (at / 2).tolist(), "number": at * 7, "text": ["x"] * len(at)}
    return Batch.of_columns(ROW, columns)


def listed(batches: Any) -> list[Batch]:
    return [batches] if isinstance(batches, Batch) else list(batches or ())


def rows(batches: list[Batch]) -> list[tuple[Any, ...]]:
    return [row for each in batches for row in zip(*(column.tolist() for column in each.columns()))]


@pytest.mark.parametrize(
    "change",
    [
        {"aggregates": {"n": "count_distinct(number)"}},
        {"aggregates": {"n": "quantile(number, 0.5)"}},
        {"aggregates": {"n": "first(text)"}},
        {"window": {"type": "session", "gap": 3}},
        {"window": {"type": "count", "size": 3}},
        {"window": None},
        {"emit": "updates"},
        {"every": 5},
    ],
)
def test_what_cannot_be_merged_from_cells_takes_one_step(change):
    assert Aggregate.local_stage({**KEYS, **change}, ROW) is None


@pytest.mark.parametrize("passed_on", [False, True])
def test_two_steps_give_what_one_gives(passed_on):
    stage = Aggregate.local_stage(KEYS, ROW)
    assert stage is not None
    cls, keys, schema = stage
    assert cls is LocalAggregate
    one = started(Aggregate(**KEYS), ROW)
    firsts = [started(LocalAggregate(**keys), ROW) for _ in range(2)]
    firsts[1].repeats.on = not passed_on
    second_cls, second_keys = Aggregate.second_stage(KEYS, ROW)
    second = started(second_cls(**second_keys), schema)
    assert second_cls is MergingAggregate
    expected, found = [], []
    for turn in range(8):
        for number, first in enumerate(firsts):
            times = [turn * 6 + (at * 5 + number) % 11 for at in range(40)]
            one.on_batch(batch(times))
            for partial in listed(first.on_batch(batch(times))):
                second.on_batch(partial)
        expected += listed(one.on_heartbeat(turn * 6))
        for first in firsts:
            for partial in listed(first.on_heartbeat(turn * 6)):
                assert partial.schema == schema
                second.on_batch(partial)
        found += listed(second.on_heartbeat(turn * 6))
    expected += listed(one.on_end())
    for first in firsts:
        for partial in listed(first.on_end()):
            second.on_batch(partial)
    found += listed(second.on_end())
    assert rows(found) == rows(expected)
    assert len(rows(found)) > 20
    assert (firsts[1].passed_rows > 0) == passed_on


def test_rows_that_are_behind_are_not_passed_on():
    first = started(LocalAggregate(**KEYS), ROW)
    first.repeats.on = False
    assert listed(first.on_batch(batch([3, 4]).with_system(_watermark=[40, 9]))) == []
    assert (first.context.late, first.passed_rows) == (1, 0)


def test_rows_are_passed_on_by_pane():
    first = started(LocalAggregate(**KEYS), ROW)
    first.repeats.on = False
    (found,) = listed(first.on_batch(batch([12, 3, 17, 4, 11])))
    assert found.rows == first.passed_rows == 5
    assert found.event_times().tolist() == [0, 0, 10, 10, 15]


def test_it_stops_when_keys_do_not_repeat(monkeypatch):
    monkeypatch.setattr(repeats, "LOOK_ROWS", 20)
    first = started(LocalAggregate(**{**KEYS, "key": ["ts"]}), ROW)
    first.on_batch(batch(list(range(30))))
    assert len(rows(listed(first.on_heartbeat(30)))) == 30
    assert not first.repeats.on
    assert len(rows(listed(first.on_batch(batch([40, 41]))))) == 2


def test_only_panes_of_windows_that_close_are_sent_and_then_forgotten():
    first = started(LocalAggregate(**KEYS), ROW)
    first.on_batch(batch(list(range(30))))
    assert listed(first.on_heartbeat(4)) == []
    found = [sorted({row[1] for row in rows(listed(first.on_heartbeat(at)))}) for at in (5, 9, 10, 14, 20)]
    assert found == [[0], [], [5], [], [10, 15]]


def test_cells_are_sent_on_before_they_are_too_many(monkeypatch):
    monkeypatch.setattr(local, "LOCAL_BYTES", 1)
    monkeypatch.setattr(local, "LOOK_ROWS", 50)
    first = started(LocalAggregate(**KEYS), ROW)
    assert listed(first.on_batch(batch(list(range(30))))) == []
    assert len(rows(listed(first.on_batch(batch(list(range(30))))))) > 10


def test_a_chain_asks_less_often_while_there_are_few_cells(monkeypatch):
    monkeypatch.setattr(local, "LOOK_ROWS", 50)
    monkeypatch.setattr(local, "MOST_LOOK_ROWS", 200)
    first = started(LocalAggregate(**KEYS), ROW)
    first.on_batch(batch(list(range(30))))
    rooms = []
    for _ in range(4):
        rooms.append(first.admits().room)
        first.took(rooms[-1])
    assert rooms == [20, 100, 200, 200]
    monkeypatch.setattr(local, "FEW_BYTES", first.cells.nbytes - 1)
    first.took(200)
    assert first.admits().room == 50


def test_late_rows_are_found_by_the_first_step():
    first = started(LocalAggregate(**KEYS), ROW)
    first.on_batch(batch([3, 4]).with_system(_watermark=[40, 9]))
    assert first.context.late == 1


@pytest.mark.parametrize("passing", [0, 1, 2])
def test_float_sums_are_exact_however_many_first_steps_pass_rows_on(passing):
    keys = {**KEYS, "window": {"type": "tumbling", "size": 100}, "aggregates": {"sum": "sum(price)"}}
    firsts = [started(LocalAggregate(**keys), ROW) for _ in range(2)]
    stage = Aggregate.local_stage(keys, ROW)
    assert stage is not None
    cls, merging = Aggregate.second_stage(keys, ROW)
    second = started(cls(**merging), stage[2])
    dice = random.Random(passing)
    given: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for turn in range(60):
        prices = [math.ldexp(dice.random() - 0.5, dice.randrange(-900, 900, 300)) for _ in range(3)]
        columns = {"ts": [turn] * 3, "key": [0, 1, 2], "price": prices, "number": [0] * 3, "text": ["x"] * 3}
        first = firsts[turn % 2]
        first.repeats.on = turn % 2 >= passing
        for partial in listed(first.on_batch(Batch.of_columns(ROW, columns))):
            second.on_batch(partial)
        for key, price in enumerate(prices):
            given[key].append(price)
        for partial in [] if turn % 20 else [each for first in firsts for each in listed(first.cells.end())]:
            second.on_batch(partial)
    for partial in [each for first in firsts for each in listed(first.on_end())]:
        second.on_batch(partial)
    assert [first.passed_rows > 0 for first in firsts] == [passing > 0, passing > 1]
    assert rows(listed(second.on_end())) == [(0, 100, key, math.fsum(own)) for key, own in given.items()]


def test_sums_beyond_64_bits_of_cells_are_merged_exactly():
    keys = {
        **KEYS,
        "window": {"type": "tumbling", "size": 10},
        "aggregates": {"mean": "mean(number)"},
        "key": [],
    }
    firsts = [started(LocalAggregate(**keys), ROW) for _ in range(2)]
    cls, merging = Aggregate.second_stage(keys, ROW)
    stage = Aggregate.local_stage(keys, ROW)
    assert stage is not None
    second = started(cls(**merging), stage[2])
    for sign, first in zip((1, -1), firsts):
        numbers = np.full(5, sign * (2**63 - 1)) + (sign < 0) * 20
        columns = {"ts": [1] * 5, "key": [0] * 5, "price": [None] * 5, "number": numbers, "text": ["x"] * 5}
        first.on_batch(Batch.of_columns(ROW, columns))
        for partial in listed(first.on_end()):
            second.on_batch(partial)
    assert rows(listed(second.on_end())) == [(0, 10, 10.0)]
