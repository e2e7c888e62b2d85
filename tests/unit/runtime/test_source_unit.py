"""How fast a paced source sends: the clock is an argument."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.connectors.source import Source
from actorstream.native.alarms import Alarm
from actorstream.runtime import source_unit
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.unit import Status
from actorstream.scheduling import pace as pace_module
from actorstream.scheduling.pace import Pace
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Number, Numbers
from tests.integration.pooled import Times
from tests.unit.runtime.schedule.kernel_worker import worker_of

SECOND, MS = 1_000_000_000, 1_000_000
RATES = st.floats(0.5, 50_000_000)


def test_the_first_row_is_due_at_once() -> None:
    pace = Pace(10.0)
    assert pace.due(5 * SECOND) == 1
    assert pace.due(5 * SECOND) == 1, "asking changes nothing"
    pace.sent += 1
    assert pace.due(5 * SECOND) == 0


def test_rows_become_due_at_the_rate() -> None:
    pace = Pace(1000.0)
    pace.sent = pace.due(SECOND)
    assert [pace.due(SECOND + ms * 1_000_000) for ms in (0, 1, 2, 10)] == [0, 1, 2, 10]


def test_what_could_not_be_sent_in_time_is_due_later() -> None:
    """A source that was held up catches up, so that the rate holds over the whole run."""
    pace = Pace(1000.0)
    pace.due(0 + 1)
    pace.sent = 1
    assert pace.due(3 * SECOND + 1) == 3000


@given(RATES, st.integers(1, 1 << 40))
def test_after_the_wait_something_is_due(rate: float, start: int) -> None:
    pace = Pace(rate)
    pace.sent = pace.due(start)
    assert pace.due(start) <= 0
    seconds = pace.wait(start)
    assert seconds > 0
    assert seconds <= 1 / rate + 0.0011
    assert pace.due(start + int(seconds * SECOND) + 1000) >= 1


@given(RATES, st.lists(st.integers(1, 50_000_000), min_size=1, max_size=50))
def test_never_more_than_the_rate_allows_is_sent(rate: float, steps: list[int]) -> None:
    pace, now, start = Pace(rate), 7, 7
    for step in steps:
        due = pace.due(now)
        if due > 0:
            pace.sent += due
        assert pace.sent <= (now - start) * rate / SECOND + 1.000001
        assert pace.sent >= (now - start) * rate / SECOND - pace.least - 0.000001
        now += step


def test_above_a_thousand_rows_a_second_a_milliseconds_worth_goes_at_a_time() -> None:
    pace = Pace(10_000.0)
    assert pace.due(SECOND) == 1, "the first row does not wait"
    pace.sent = 1
    assert [pace.due(SECOND + us * 1000) for us in (100, 900, 1000, 5000)] == [0, 0, 10, 50]
    assert pace.wait(SECOND + 400_000) == pytest.approx(0.0006)


def test_a_full_batch_goes_before_the_millisecond_is_over() -> None:
    pace = Pace(50_000.0, full=10)
    pace.sent = pace.due(SECOND)
    assert [pace.due(SECOND + us * 1000) for us in (100, 200, 1000)] == [0, 10, 50]
    assert pace.wait(SECOND + 100_000) == pytest.approx(0.0001)


def test_time_that_the_first_rows_took_to_read_is_not_made_up_for() -> None:
    pace = Pace(1000.0)
    assert pace.due(SECOND) == 1
    assert pace.due(3 * SECOND) == 1
    pace.sent = 1
    assert pace.due(3 * SECOND + 5_000_000) == 5


def read_at(pace: Pace, times: list[int]) -> None:
    """Reads at these times (ns) what is due then, and asks once more, as a unit does."""
    for now in times:
        if (due := pace.due(now)) > 0:
            pace.sent += due
            pace.due(now)


def started(rate: float = 100_000.0, full: int = 1 << 30) -> Pace:
    """A pace whose first row was read at 1 s."""
    pace = Pace(rate, full)
    read_at(pace, [SECOND])
    return pace


def test_reads_that_come_late_make_the_interval_longer() -> None:
    pace = started()
    read_at(pace, [SECOND + turn * 5 * MS for turn in range(1, 100)])
    assert pace.interval == 4 * MS, "a turn each 5 ms is in time for that"
    assert pace.least == 400


def test_the_interval_has_an_end() -> None:
    pace = started()
    read_at(pace, [SECOND + turn * SECOND for turn in range(1, 100)])
    assert pace.interval == pace_module.MOST_NS


def test_reads_in_time_make_the_interval_shorter_again() -> None:
    pace = started()
    read_at(pace, [SECOND + turn * 5 * MS for turn in range(1, 100)])
    for _ in range(2 * pace_module.RELAXED + 1):
        read_at(pace, [SECOND + int((pace.sent + pace.least - 1) / pace.rate * SECOND) + 1])
    assert pace.interval == pace_module.PACE_NS


def test_one_delay_does_not_change_the_interval_however_many_batches_make_up_for_it() -> None:
    pace = started(full=100)
    late = SECOND + 50 * MS
    while (due := pace.due(late)) > 0:
        pace.sent += min(due, pace.full)
    read_at(pace, [late + turn * MS for turn in range(1, 100)])
    assert pace.interval == pace_module.PACE_NS


class Slow(Source):
    """Five rows a second, unless the topology says otherwise."""

    outputs: ClassVar = {"default": Number}

    def __init__(self, rate: float = 5.0) -> None:
        super().__init__(rate=rate)


@pytest.mark.parametrize(("keys", "rate"), [({}, 5.0), ({"rate": 3.0}, 3.0)])
def test_a_source_is_paced_by_its_key_or_else_by_what_its_class_has_set(
    keys: dict[str, float], rate: float
) -> None:
    topology = Topology("paced")
    topology.source(Slow, **keys).into(Collect, name="out")
    unit = worker_of(topology).units[0]
    assert isinstance(unit, SourceUnit)
    assert unit.pace is not None
    assert unit.pace.rate == rate


def test_a_turn_ends_after_the_rows_that_the_schedule_has_allotted() -> None:
    topology = Topology("allotted")
    topology.source(Numbers, name="numbers", count=100).through(Times, name="times").into(Collect, name="out")
    worker = worker_of(topology, batch_size=5)
    unit = worker.units[0]
    assert isinstance(unit, SourceUnit)
    unit.most_rows = 12
    assert unit.work() is Status.READY
    assert unit.head.events_out == 15, "whole batches"
    unit.most_rows = 1
    assert unit.work() is Status.READY
    assert unit.head.events_out == 20


def test_what_is_sent_at_once_counts_as_read_only_until_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = Topology("direct")
    topology.source(Numbers, name="numbers", count=3).into(Collect, name="out")
    unit = worker_of(topology, batch_size=1).units[0]
    assert isinstance(unit, SourceUnit)
    clock, read = [SECOND], unit.source.read
    monkeypatch.setattr(source_unit, "monotonic_ns", lambda: clock[0])

    def take(ns: int, value: object) -> object:
        clock[0] += ns
        return value

    unit.source.read = lambda rows: take(3, read(rows))  # type: ignore[method-assign]
    unit.__dict__["_direct"] = lambda found, entered: take(1000, 0 if found is None else found.rows)
    unit.most_rows = 2
    unit.work()
    assert unit.head.events_out == 2
    assert unit.head.execute_ns == 2 * 3


def test_a_source_that_is_asked_for_promises_makes_none_before_rows_that_it_has_read() -> None:
    topology = Topology("asked")
    topology.source(Numbers, name="numbers", count=1).into(Collect, name="out")
    unit = worker_of(topology).units[0]
    assert isinstance(unit, SourceUnit)
    promised: list[int] = []
    unit.promise = lambda: promised.append(1)  # type: ignore[method-assign]
    unit.hurry()
    assert not promised, "it has not had its first turn"
    unit._heartbeat = Alarm(0, 0, unit.drain, ())
    unit.hurry()
    assert promised == [1]
    loop = asyncio.new_event_loop()
    read: asyncio.Future[None] = loop.create_future()
    read.set_result(None)
    unit._reading = read  # type: ignore[assignment]
    unit.hurry()
    assert promised == [1]
    loop.close()
