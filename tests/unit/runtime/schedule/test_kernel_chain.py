"""Chains of neighbours as one kernel, and kernels of operators with a state."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.events.batch import Batch
from actorstream.operators.filter import Filter
from actorstream.operators.map import Map
from actorstream.operators.prepared import Prepared, c_job
from actorstream.runtime.build import build_units
from actorstream.runtime.schedule.kernel_chain import KernelChain
from actorstream.runtime.unit import Status
from actorstream.runtime.worker import Worker
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers, numbers
from tests.unit.plan.test_pooling import job_of
from tests.unit.runtime.schedule.kernel_worker import hands

make = pytest.fixture(name="make")(hands)


def two(on_error: str = "fail", **deploy: Any) -> Topology:
    """A source, a filter, a map and a sink, called directly."""
    topology = Topology("two")
    stream = topology.source(Numbers, name="numbers", count=1).through(Filter, name="some", where="value > 1")
    stream.through(Map, name="it", set={"value": "12 // (value - 4)"}, on_error=on_error).into(
        Collect, name="out"
    )
    return topology


def test_neighbours_are_one_job_and_each_is_counted(make: Any) -> None:
    hand = make(two())
    hand.push(1, 2, 3)
    hand.push(0, 1)
    hand.push(5)
    hand.unit.head.advance(9)
    assert (hand.waiting(), hand.out) == (3, [])
    hand.run(3)
    hand.edge.collect()
    assert hand.out == [-6, -12, 12]
    members = {each.name: each for each in hand.unit.members}
    assert [members[name].events_in for name in ("some", "it", "out")] == [6, 3, 3]
    assert [members[name].jumbo_in for name in ("some", "it", "out")] == [3, 2, 2]
    assert [members[name].events_out for name in ("some", "it")] == [3, 3]
    assert members["it"].promises.frontier == 9
    assert members["some"].execute_ns > 0
    assert members["it"].execute_ns > 0


def test_a_chain_of_short_kernels_is_run_at_once(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actorstream.runtime.schedule.kernel_edge.PAYS_NS", 1 << 62)
    hand = make(two())
    hand.push(1, 2, 3)
    assert (hand.waiting(), hand.out) == (0, [-6, -12])


def test_a_batch_that_fails_within_a_chain_is_decided_about_in_its_turn(make: Any) -> None:
    hand = make(two(on_error="dead-letter"))
    hand.push(2)
    hand.push(3, 4, 5)
    hand.push(6)
    hand.run(hand.waiting())
    hand.unit.settle()
    assert hand.out == [-6, -12, 12, 6]
    members = {each.name: each for each in hand.unit.members}
    assert (members["it"].failures.dead, members["it"].events_in) == (1, 5)
    assert [edge.is_under_way() for edge in hand.unit.kernels] == [False, False]


# -- operators with a state

ADD = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


class NativeSum(Actor):
    """Adds up, in a job of its own; a negative sum fails when it is finished."""

    def __init__(self) -> None:
        self.sum = 0
        self.inside = 0

    contract = Contract(pool_limit=1)

    def on_batch(self, batch: Batch) -> Batch:
        return self._added(batch)

    def prepare(self, batch: Batch) -> Prepared:
        assert self.inside == 0, "one batch at a time"
        self.inside = 1

        def run(context: Any) -> int:
            self.sum += int(batch["value"].sum())
            return 0

        function = ADD(run)
        address = ctypes.cast(function, ctypes.c_void_p).value or 0

        def finish() -> Batch:
            self.inside = 0
            assert function is not None
            if self.sum < 0:
                raise ValueError(f"{self.sum} is negative")
            return batch.with_columns(value=np.full(batch.rows, self.sum))

        return Prepared(c_job(address, 0), finish)

    def _added(self, batch: Batch) -> Batch:
        self.sum += int(batch["value"].sum())
        return batch.with_columns(value=np.full(batch.rows, self.sum))


def stateful() -> Topology:
    topology = Topology("stateful")
    stream = topology.source(Numbers, name="numbers", count=1)
    stream.through(NativeSum, name="sum", on_error="skip").into(Collect, name="out")
    return topology


def test_an_operator_with_a_state_has_one_kernel_under_way_and_the_rest_behind_it_in_order(make: Any) -> None:
    hand = make(stateful())
    for value in (1, 2, 3):
        hand.push(value)
        hand.unit.head.advance(value)
    assert (hand.waiting(), hand.out, hand.unit.blocked) == (1, [], [hand.edge])
    for number, wanted in enumerate(([1], [1, 3], [1, 3, 6]), 1):
        assert hand.edge.is_running()
        hand.run()
        assert not hand.edge.is_running()
        hand.unit.unblock()
        assert (hand.out, hand.edge.consumer.promises.frontier) == (wanted, number)
    assert (hand.unit.blocked, hand.edge.is_under_way()) == ([], False)


def test_what_a_kernel_with_a_state_raises_is_decided_about_and_not_run_again(make: Any) -> None:
    hand = make(stateful())
    for value in (1, -3, 4):
        hand.push(value)
    hand.unit.settle()
    assert hand.out == [1, 2]
    assert (hand.edge.consumer.failures.dead, hand.edge.consumer.events_in) == (1, 3)


def test_the_head_of_a_unit_has_its_kernels_run_for_what_comes_by_channels(make: Any) -> None:
    topology = Topology("head")
    stream = topology.source(Numbers, name="numbers", count=1)
    stream = stream.by("value").through(NativeSum, name="sum", on_error="skip")
    stream.into(Collect, name="out")
    hand = make(topology)
    source, unit = hand.worker.units
    assert (unit.head.name, unit.at_head) == ("sum", unit.kernels[0])
    for value in (1, 2, 3):
        source.head.forward(numbers(np.array([value], np.int64)))
        source.flush()  # or rows are joined on the way
    kernels = hand.schedule.kernels
    assert kernels is not None
    collected = unit.members[-1].actor.rows
    for wanted in (1, 2, 3):
        assert unit.step() is Status.BLOCKED
        waits = 3 - wanted
        assert unit.in_lanes[0].channel.waiting() == waits
        unit.at_head.kernel_ns = 1000
        assert kernels.are_behind(500) is (waits > 0)
        hand.run()
        assert not kernels.are_behind(0)  # the loop has heard, and goes on by itself
        assert kernels.done() == [unit]
        unit.unblock()
        assert len(collected) == wanted
    assert unit.step() is Status.IDLE
    assert [row[0] for row in collected] == [1, 3, 6]


# -- chains without threads


def unpooled(topology: Topology, **deploy: Any) -> Worker:
    worker = Worker(job_of(topology, schedule="none", threads=0, **deploy), 0, None, None)
    worker.turn_ns = 1 << 60
    worker.units = build_units(worker)
    return worker


def counted(unit: Any) -> dict[str, tuple[int, int, int]]:
    """Of each member: rows in, batches in, rows out."""
    for close in unit.closers:
        close()
    return {each.name: (each.events_in, each.jumbo_in, each.events_out) for each in unit.members}


def test_without_threads_a_batch_goes_through_all_neighbours_without_their_hooks() -> None:
    (unit,) = unpooled(two()).units
    unit.head.forward(numbers(np.array([1, 2, 3])))
    for each in unit.members[1:3]:
        each.calls.clear()  # a hook that is called now is an error
    for values in ([0, 1], [5], [7, 8, 9]):
        unit.head.forward(numbers(np.array(values)))
    assert [row[0] for row in unit.members[-1].actor.rows] == [-6, -12, 12, 4, 3, 2]
    assert counted(unit) == {
        "numbers": (0, 0, 9),
        "some": (9, 4, 6),
        "it": (6, 3, 6),
        "out": (6, 3, 0),
    }
    assert min(each.execute_ns for each in unit.members[1:3]) > 0


def test_without_threads_a_batch_that_fails_goes_through_the_hooks_in_its_turn() -> None:
    (unit,) = unpooled(two(on_error="dead-letter")).units
    for values in ([2], [3, 4, 5], [6]):
        unit.head.forward(numbers(np.array(values)))
    assert [row[0] for row in unit.members[-1].actor.rows] == [-6, -12, 12, 6]
    assert (unit.members[2].failures.dead, counted(unit)["it"]) == (1, (5, 3, 5))  # with the dead letter


def test_one_operator_alone_is_no_chain() -> None:
    topology = Topology("alone")
    stream = topology.source(Numbers, name="numbers", count=1).through(Filter, name="it", where="value > 1")
    stream.into(Collect, name="out")
    (unit,) = unpooled(topology).units
    unit.head.forward(numbers(np.array([1, 2])))
    assert unit.head.edges["default"][0]._chain is None
    assert [row[0] for row in unit.members[-1].actor.rows] == [2]


@pytest.mark.parametrize("order", ["none", "serial", "timestamp"])
def test_chains_begin_behind_inboxes_and_keep_the_place_of_rows(
    order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[tuple[int, bool]] = []
    run = KernelChain.run
    monkeypatch.setattr(
        KernelChain, "run", lambda *given: runs.append((len(given[0].members), run(*given))) or runs[-1][1]
    )
    topology = Topology("inboxes")
    stream = topology.source(Numbers, name="numbers", count=900)
    stream = stream.through(Filter, name="some", replicas=2, where="value % 3 > 0")
    stream = stream.through(Map, name="it", replicas=2, set={"group": "value % 11"})
    stream = stream.through(Filter, name="more", replicas=2, where="value % 5 > 0").by("group")
    stream = stream.through(Filter, name="keyed", replicas=2, where="group != 4")
    stream = stream.through(Map, name="last", replicas=2, set={"group": "group + value"})
    found = stream.ordered(order).collect()
    topology.run(transport="local", workers=1, batch_size=50)
    rows = [(each, each % 11 + each) for each in range(900) if each % 3 and each % 5 and each % 11 != 4]
    came = [(row.value, row.group) for row in found]
    assert (came if order != "none" else sorted(came)) == rows
    # a stamp of timestamp order looks at all rows that leave its replica
    assert {members for members, _ in runs} == (set() if order == "timestamp" else {2, 3})
    assert all(done for _, done in runs)
