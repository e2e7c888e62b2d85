"""An edge whose kernels go to a pool: what comes of them goes on in the order of what came, whoever runs them and when."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import numpy as np
import pytest

from actorstream.operators.filter import Filter
from actorstream.operators.map import Map
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers, numbers
from tests.integration.pooled import RunningSum
from tests.unit.runtime.schedule.kernel_worker import KernelWorker, hands

make = pytest.fixture(name="make")(hands)


def chain(**keys: Any) -> Topology:
    """A source, one map that adds 1, and a sink, called directly."""
    topology = Topology("chain")
    keys = keys or {"set": {"value": "value + 1"}}
    topology.source(Numbers, name="numbers", count=1).through(Map, name="it", **keys).into(
        Collect, name="out"
    )
    return topology


def test_what_a_kernel_gives_goes_on_when_it_is_collected_and_in_order(make: Any) -> None:
    hand = make(chain())
    hand.push(1, 2)
    hand.push(3)
    assert (hand.waiting(), hand.out) == (2, [])
    hand.run()
    assert hand.out == []
    assert hand.edge.is_done()
    hand.edge.collect()
    assert hand.out == [2, 3]
    assert not hand.edge.is_done()
    hand.run()
    hand.edge.collect()
    assert hand.out == [2, 3, 4]
    assert not hand.edge.is_under_way()


def test_a_kernel_that_is_done_wakes_the_loop_once(make: Any) -> None:
    hand = make(chain())
    kernels = hand.schedule.kernels
    os.eventfd_write(kernels.eventfd, 1)
    hand.worker.loop.run_until_complete(asyncio.sleep(0))
    with pytest.raises(BlockingIOError):
        os.eventfd_read(kernels.eventfd)


def test_short_kernels_are_called_at_once(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actorstream.runtime.schedule.kernel_edge.PAYS_NS", 1 << 62)
    hand = make(chain())
    hand.push(1, 2)
    assert (hand.waiting(), hand.out) == (0, [2, 3])


def test_a_short_kernel_does_not_overtake_what_is_under_way(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand = make(chain())
    hand.push(1)
    monkeypatch.setattr("actorstream.runtime.schedule.kernel_edge.PAYS_NS", 1 << 62)
    hand.push(2)
    assert (hand.waiting(), hand.out) == (2, [])
    hand.run(2)
    hand.edge.collect()
    hand.push(3)
    assert (hand.waiting(), hand.out) == (0, [2, 3, 4])


def test_a_promise_keeps_its_place_among_the_rows(make: Any) -> None:
    hand = make(chain())
    hand.unit.head.advance(5)
    assert hand.edge.consumer.promises.frontier == 5
    hand.push(7)
    hand.unit.head.advance(8)
    assert hand.edge.consumer.promises.frontier == 5
    hand.run()
    hand.edge.collect()
    assert (hand.out, hand.edge.consumer.promises.frontier) == ([8], 8)


def test_without_a_place_the_unit_is_blocked_until_there_is_one_and_nothing_is_lost(make: Any) -> None:
    hand = make(chain(), reorder_window=1)
    hand.push(1)
    assert hand.unit.blocked == [hand.edge]
    hand.push(2)  # of the same turn
    hand.unit.head.advance(3)
    hand.push(4)
    assert not hand.unit.unblock()
    for value in (2, 3, 5):
        assert hand.waiting() == 1
        hand.run()
        hand.unit.unblock()
        assert hand.out[-1] == value
    assert (hand.unit.blocked, hand.edge.consumer.promises.frontier) == ([], 3)


def test_whoever_makes_room_while_the_worker_goes_to_rest_marks_the_unit(make: Any) -> None:
    hand = make(chain(), reorder_window=1)
    hand.push(1)
    hand.run()
    hand.unit.ready = False
    hand.unit.flush()
    assert hand.out == [2]
    assert hand.unit.ready


def test_settling_sends_on_everything_that_has_come(make: Any) -> None:
    hand = make(chain(), reorder_window=2)
    for value in range(5):
        hand.push(value)
    hand.unit.settle()
    assert hand.out == [1, 2, 3, 4, 5]
    assert (hand.waiting(), hand.unit.blocked) == (0, [])


def test_a_row_that_fails_is_decided_about_in_its_turn(make: Any) -> None:
    topology = Topology("fails")
    stream = topology.source(Numbers, name="numbers", count=1)
    made = stream.through(Map, name="it", set={"value": "12 // value"}, on_error="dead-letter")
    made.into(Collect, name="out")
    hand = make(topology)
    hand.push(1, 2)
    hand.push(3, 0, 4)
    hand.push(6)
    hand.unit.settle()
    assert hand.out == [12, 6, 4, 3, 2]
    assert hand.edge.consumer.failures.dead == 1
    assert hand.edge.consumer.events_in == 6


def test_what_cannot_be_prepared_keeps_its_place(make: Any) -> None:
    hand = make(chain())
    hand.edge._linked = True  # as where nothing can be linked
    prepare = hand.edge.consumer.actor.prepare
    hand.edge.consumer.actor.prepare = lambda batch: None if batch["value"][0] == 2 else prepare(batch)
    for value in (1, 2, 3, 2):
        hand.push(value)
    assert (hand.waiting(), hand.out) == (2, [])
    hand.run(2)
    hand.edge.collect()
    assert hand.out == [2, 3, 4, 3]


def test_outputs_without_credit_keep_what_is_done_where_it_is(make: Any) -> None:
    topology = Topology("credit")
    stream = topology.source(Numbers, name="numbers", count=1)
    stream = stream.through(Filter, name="it", where="value != 3")
    stream.by("value").through(RunningSum, name="sum").into(Collect, name="out")
    hand = make(topology, edge_bytes=1)
    for value in range(1, 5):
        hand.push(value)
        hand.run(hand.waiting())
        hand.edge.collect()
    assert hand.schedule.kernels is not None
    assert hand.unit.blocked
    assert hand.schedule.kernels.pool.ready(0) > 1  # done, and with nowhere to go:
    assert (hand.schedule.kernels.done(), hand.schedule.kernels.park()) == ([], True)  # the loop may sleep
    channel = worker_channel(hand, "sum")
    received: list[int] = []
    while len(received) < 3:
        hand.unit.step() if not hand.unit.blocked else hand.unit.unblock()
        hand.run(hand.waiting())
        hand.edge.collect()
        hand.unit.flush()
        assert channel.waiting() <= 1
        while channel.peek() is not None:
            received += channel.peek().payload["value"].tolist()
            channel.consume()
    assert received == [1, 2, 4]


def worker_channel(hand: KernelWorker, name: str) -> Any:
    unit = next(each for each in hand.worker.units if each.head.name == name)
    return unit.in_lanes[0].channel  # type: ignore[attr-defined]


def test_more_short_kernels_are_under_way_than_long_ones(make: Any) -> None:
    hand = make(chain())
    hand.edge.kernel_ns = 50_000
    hand.edge.plan(2_000_000, 2)
    assert hand.edge._limit == 80
    hand.edge.kernel_ns = 10_000_000
    hand.edge.plan(2_000_000, 2)
    assert hand.edge._limit == 4


def test_the_loop_hears_of_what_is_done_and_of_nothing_else(make: Any) -> None:
    hand = make(chain())
    kernels = hand.schedule.kernels
    assert kernels is not None
    hand.push(1)
    assert (kernels.done(), kernels.park()) == ([], True)
    kernels.pool.unpark()
    hand.run()
    assert (kernels.done(), kernels.park()) == ([hand.unit], False)
    hand.edge.collect()
    assert (kernels.done(), kernels.are_under_way()) == ([], False)
    assert hand.edge.took_ns > 0
    took = hand.edge.took_ns
    assert (kernels.worked(hand.unit), hand.edge.took_ns) == (took, 0)


@pytest.mark.parametrize(("schedule", "first"), [("lp", 1), ("et", 0)])
def test_threads_look_first_where_the_heuristic_would(make: Any, schedule: str, first: int) -> None:
    topology = Topology("two")
    for number in range(2):
        stream = topology.source(Numbers, name=f"numbers{number}", count=1)
        stream = stream.through(Map, name=f"it{number}", set={"value": "value + 1"})
        stream.into(Collect, name=f"out{number}")
    hand = make(topology, schedule=schedule)
    kernels, units = hand.schedule.kernels, hand.worker.units
    assert kernels is not None
    operators = hand.schedule.operators
    for unit in units:
        operators[id(unit)].statistics.add(1, 1, 1)
        unit.head.forward(numbers(np.array([1], np.int64)))
    operators[id(units[0])].worklist, operators[id(units[1])].worklist = 10.0, 1.0  # as ET sees it
    kernels.rank()
    hand.run()
    assert kernels.done() == [units[first]]
