"""What threads do in a pooled unit: rows in order, a thread that never waits, promises in their place, and the loop's part."""

from __future__ import annotations

from threading import Barrier, Event
from typing import Any, ClassVar

import pytest

from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.runtime.pool.unit import PooledUnit
from actorstream.runtime.unit import Status
from actorstream.topology.builder import Topology
from actorstream.transports.base import FrameKind
from tests.integration.parts import Collect, Numbers
from tests.integration.pooled import Fails, RunningSum, SumsAtPromises, Times
from tests.unit.runtime.pool.pooled_worker import EVERYTHING, PooledWorker, Thrown, rows


class Held(Times):
    """The batch that begins with 0 is held until it is let go; `inside` says that it has come."""

    inside: ClassVar[Event]
    let_go: ClassVar[Event]

    @classmethod
    def anew(cls) -> type[Held]:
        cls.inside, cls.let_go = Event(), Event()
        return cls

    def on_batch(self, batch: Batch) -> Batch | None:
        if batch["value"][0] == 0:
            self.inside.set()
            assert self.let_go.wait(60)
        return super().on_batch(batch)


def worker_of(
    kind: Any, *, listens: bool = False, keys: dict[str, Any] | None = None, **deploy: Any
) -> PooledWorker:
    """numbers -> it -> out; `out` is told of event time if it `listens`."""
    topology = Topology("one")
    stream = topology.source(Numbers, name="numbers", count=1)
    made = stream.through(kind, name="it", **(keys or {}))
    made.through(SumsAtPromises, name="out").into(Collect, name="end") if listens else made.into(
        Collect, name="out"
    )
    return PooledWorker(topology, **deploy)


KINDS = pytest.mark.parametrize("kind", [Times, RunningSum], ids=["shared", "exclusive"])


@KINDS
def test_a_turn_takes_rows_in_their_order_and_sends_them_on(kind: Any) -> None:
    worker = worker_of(kind)
    for values in ((1, 2), (3,), (4, 5, 6)):
        worker.send(*values)
    assert worker.unit("it").turn(EVERYTHING) == (6, 6)
    assert worker.received("out") == ([1, 2, 3, 4, 5, 6] if kind is Times else [1, 3, 6, 10, 15, 21])
    assert worker.unit("it").turn(EVERYTHING) == (0, 0)


@KINDS
def test_a_turn_ends_when_it_has_taken_as_many_rows_as_it_was_given(kind: Any) -> None:
    worker = worker_of(kind)
    for values in rows(20, 5):
        worker.send(*values)
    unit = worker.unit("it")
    assert [unit.turn(6)[0], unit.turn(1)[0], unit.turn(EVERYTHING)[0]] == [10, 5, 5]


@KINDS
def test_without_credit_nothing_more_is_taken_and_nothing_is_lost(kind: Any) -> None:
    worker = worker_of(kind, edge_bytes=1, batch_size=1)
    unit = worker.unit("it")
    for value in range(30):
        worker.send(value)
        worker.worker.pool.offer(unit)
        unit.turn(EVERYTHING)
    assert sum(lane.channel.waiting() for lane in worker.unit("out").in_lanes) == 1
    expected = list(range(30)) if kind is Times else [sum(range(value + 1)) for value in range(30)]
    assert worker.drained("it", "out") == expected


def test_a_unit_without_credit_is_open_to_nobody_until_it_is_offered_again() -> None:
    worker = worker_of(RunningSum, edge_bytes=1, batch_size=1)
    unit = worker.unit("it")
    for value in range(3):
        worker.send(value)
        unit.news = True
        unit.turn(EVERYTHING)
    assert unit.blocked
    assert not unit.is_available()
    worker.received("out")
    worker.worker.pool.offer(unit)
    assert unit.is_available()


def test_a_later_number_that_is_done_first_waits_for_the_earlier_one() -> None:
    worker = worker_of(Held.anew())
    unit = worker.unit("it")
    worker.send(0, 1)
    first = Thrown(lambda: unit.turn(EVERYTHING))
    assert Held.inside.wait(60)
    worker.send(2, 3)
    assert unit.turn(EVERYTHING) == (2, 2)
    assert worker.received("out") == []
    Held.let_go.set()
    assert first.join() == [(2, 2)]
    assert worker.received("out") == [0, 1, 2, 3]


@pytest.mark.parametrize("deploy", [{"reorder_window": 1}, {"edge_bytes": 1}], ids=str)
def test_with_no_place_left_a_second_thread_goes_without_waiting(deploy: dict[str, int]) -> None:
    worker = worker_of(Held.anew(), **deploy)
    unit = worker.unit("it")
    worker.send(0)
    first = Thrown(lambda: unit.turn(EVERYTHING))
    assert Held.inside.wait(60)
    worker.send(1)
    assert unit.turn(EVERYTHING) == (0, 0)
    assert not unit.is_available()
    Held.let_go.set()
    first.join()
    assert worker.drained("it", "out") == [0, 1]


def test_a_promise_keeps_its_place_behind_rows_that_are_not_ready() -> None:
    worker = worker_of(Held.anew(), listens=True)
    unit = worker.unit("it")
    worker.send(0, 1)
    first = Thrown(lambda: unit.turn(EVERYTHING))
    assert Held.inside.wait(60)
    worker.promise(2)
    assert unit.turn(EVERYTHING) == (0, 0)
    before = worker.frontier("out")
    assert before < 2
    Held.let_go.set()
    first.join()
    unit.turn(EVERYTHING)
    assert worker.frontier("out") == 2
    assert worker.received("out") == [0, 1]


def test_an_exclusive_unit_acts_on_a_promise_when_the_rows_before_it_are_done() -> None:
    worker = worker_of(SumsAtPromises, listens=True)
    unit = worker.unit("it")
    worker.send(0, 1)
    worker.promise(2)
    unit.turn(EVERYTHING)
    assert unit.head.actor.last == 1
    assert worker.frontier("out") == 2


@KINDS
@pytest.mark.parametrize("kind_of_mark", [FrameKind.BARRIER, FrameKind.END])
def test_a_control_mark_is_left_to_the_loop_and_what_is_before_it_is_not(
    kind: Any, kind_of_mark: FrameKind
) -> None:
    worker = worker_of(kind)
    unit = worker.unit("it")
    worker.send(1)
    worker.mark(kind_of_mark, 1)
    assert unit.turn(EVERYTHING) == (1, 1)
    assert unit.on_loop
    assert not unit.is_available()
    assert unit.take() is None
    assert worker.received("out") == [1]


@KINDS
def test_the_loop_passes_a_barrier_on_and_gives_the_unit_back(kind: Any) -> None:
    worker = worker_of(kind)
    unit = worker.unit("it")
    worker.send(1)
    worker.mark(FrameKind.BARRIER, 1)
    worker.send(2)
    unit.turn(EVERYTHING)
    assert unit.step() is Status.IDLE
    assert (unit.barrier, unit.on_loop) == (1, False)
    assert unit.is_available()
    assert unit.turn(EVERYTHING) == (1, 1)


def test_while_it_is_the_loops_no_rows_are_taken_by_it_either() -> None:
    worker = worker_of(Times)
    unit = worker.unit("it")
    unit.on_loop = True
    worker.send(1)
    assert unit.turn(EVERYTHING) == (0, 0)
    assert unit.step() is Status.IDLE
    assert worker.received("out") == []
    assert unit.turn(EVERYTHING) == (1, 1)


def test_an_operators_error_is_raised_on_the_thread_that_met_it() -> None:
    worker = worker_of(Fails)
    worker.send(500)
    with pytest.raises(OperatorError, match="five hundred"):
        worker.unit("it").turn(EVERYTHING)


def test_counters_of_all_threads_come_together() -> None:
    worker = worker_of(Times, keys={"times": 3})
    unit = worker.unit("it")
    for values in rows(12, 2):
        worker.send(*values)
    Thrown(*(lambda: unit.turn(4) for _ in range(3))).join()
    unit.turn(EVERYTHING)
    head = unit.head
    assert (head.events_in, head.events_out, head.jumbo_in) == (12, 36, 6)
    assert len(worker.received("out")) == 36


def test_the_loop_publishes_only_when_nobody_sends() -> None:
    worker = worker_of(Held.anew())
    unit = worker.unit("it")
    worker.send(0)
    first = Thrown(lambda: unit.turn(EVERYTHING))
    assert Held.inside.wait(60)
    unit.publish()  # does not wait for the thread inside
    assert unit.count_waiting() == 0
    Held.let_go.set()
    first.join()


@pytest.mark.parametrize("kind", [Times, RunningSum])
@pytest.mark.parametrize("window", [1, 2, 64])
def test_threads_that_take_turns_at_random_send_the_sequence_of_one(kind: Any, window: int) -> None:
    """As the pool does: never more threads in the unit than it says is possible, but with no scheduler between them."""
    worker = worker_of(kind, reorder_window=window)
    unit = worker.unit("it")
    assert isinstance(unit, PooledUnit)
    count, threads = 400, 1 if kind is RunningSum else 4
    for values in rows(count, 2):
        worker.send(*values)
    start = Barrier(threads)

    def work() -> int:
        start.wait(60)
        done = 0
        while True:
            taken, _ = unit.turn(3)
            done += taken
            if not any(lane.channel.waiting() for lane in unit.in_lanes):
                return done

    assert sum(Thrown(*[work] * threads).join()) == count
    unit.turn(EVERYTHING)
    expected = list(range(count))
    if kind is RunningSum:
        expected = [value * (value + 1) // 2 for value in range(count)]
    assert worker.received("out") == expected
