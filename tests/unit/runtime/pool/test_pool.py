"""What the pool tells its threads to do: units that one more worker may enter, those with most to do first."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream.runtime.build import build_units
from actorstream.runtime.pool.pool import PoolThread
from actorstream.runtime.pool.unit import PooledUnit
from actorstream.runtime.pool.worker import ScheduledWorker
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers, numbers
from tests.integration.pooled import RunningSum, Times
from tests.unit.runtime.pool.test_pooling import job_of


def worker_of(topology: Topology, **deploy: object) -> ScheduledWorker:
    """A worker whose units are the pool's, and whose threads have not been started."""
    worker = ScheduledWorker(job_of(topology, pipelining=False, **deploy), 0, None, None)
    worker.pool._threads.clear()
    worker.units = build_units(worker)
    worker.open_schedule()
    for unit in worker.units:
        if isinstance(unit, PooledUnit):
            unit.on_loop = False
    return worker


def send(worker: ScheduledWorker, rows: int) -> None:
    """Rows of the source."""
    worker.units[0].head.forward(numbers(np.arange(rows)))
    worker.units[0].flush()


def partitions() -> Topology:
    topology = Topology("partitions")
    stream = topology.source(Numbers, name="numbers", count=1)
    stream.ranges("value", [10]).through(RunningSum, name="sums", replicas=2).to_one().into(
        Collect, name="out"
    )
    return topology


def test_partitions_go_in_the_order_in_which_they_got_something_to_do_and_each_takes_one_worker() -> None:
    worker = worker_of(partitions())
    pool = worker.pool
    send(worker, 100)  # 10 rows for the first replica, then 90 for the second
    with pool.lock:
        pool.refresh()
        operator = worker.units[1].operator  # type: ignore[attr-defined]
        assert (operator.worklist, operator.is_open) == (2.0, True)
        turns = [pool.decide(pooled_only=True) for _ in range(3)]
    assert [turn[1].head.replica for turn in turns[:2] if turn is not None and turn[1] is not None] == [0, 1]
    assert turns[2] is None


def test_a_turn_takes_what_waits_and_sends_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actorstream.runtime.pool.pool.PAYS_NS", 0)
    worker = worker_of(partitions())
    pool = worker.pool
    send(worker, 100)
    for _ in range(2):
        with pool.lock:
            pool.refresh()
            turn = pool.decide(pooled_only=True)
        assert turn is not None
        pool.run_turn(*turn)
    (sums, out) = (pool.scheduler.operators[1], worker.units[3])  # type: ignore[union-attr]
    assert (sums.workers, sums.statistics.rows_in, sums.statistics.rows_out) == (0, 100, 100)
    assert sum(lane.channel.waiting() for lane in out.in_lanes) == 2  # type: ignore[attr-defined]


def test_an_operator_without_long_kernels_is_left_to_the_loops_thread() -> None:
    worker = worker_of(partitions())
    pool = worker.pool
    send(worker, 100)
    with pool.lock:
        pool.refresh()
        turn = pool.decide(pooled_only=True)
    assert turn is not None, "nothing is known of it yet"
    pool.run_turn(*turn)
    with pool.lock:
        pool.refresh()
        assert pool.decide(pooled_only=True) is None
        assert pool.decide() is not None


def test_a_unit_that_is_the_loops_is_left_to_it() -> None:
    worker = worker_of(partitions())
    send(worker, 100)
    for unit in worker.units[1:3]:
        unit.on_loop = True  # type: ignore[attr-defined]
    with worker.pool.lock:
        worker.pool.refresh()
        assert worker.pool.decide(pooled_only=True) is None


def test_without_a_free_place_nothing_is_taken_until_one_is_given_back() -> None:
    topology = Topology("places")
    topology.source(Numbers, name="numbers", count=1).through(Times, name="times").into(Collect, name="out")
    worker = worker_of(topology, reorder_window=1)
    pool, unit = worker.pool, worker.units[1]
    assert isinstance(unit, PooledUnit)
    for _ in range(2):
        send(worker, 5)
    first = unit.take()
    assert first is not None
    assert first[0] == 0
    assert unit.take() is None
    assert not unit.is_available()
    unit._send(0, [], first[3])  # type: ignore[attr-defined] # what a worker does that has nothing to send
    assert unit in pool.stale, "it was offered again"
    assert unit.is_available()
    second = unit.take()
    assert second is not None
    assert second[0] == 1


@pytest.mark.parametrize("rests", [True, False])
def test_a_thread_that_was_woken_for_what_is_left_to_the_loop_tells_it(
    rests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    topology = Topology("one")
    stream = topology.source(Numbers, name="numbers", count=1).through(RunningSum, name="sums")
    stream.into(Collect, name="out")
    worker = worker_of(topology)
    pool = worker.pool
    told: list[None] = []
    monkeypatch.setattr(worker, "wake_loop", lambda: told.append(None))
    thread = PoolThread(pool, 0)
    operator = worker.units[1].operator  # type: ignore[attr-defined]
    operator.pays = False
    assert pool.next_turn(thread) is None  # nothing waits
    pool.loop_rests = rests
    send(worker, 100)
    if rests:
        assert pool.idle == []  # the thread was woken, not the loop
    else:
        pool.idle.clear()
    assert pool.next_turn(thread) is None
    assert (told, pool.idle, pool.loop_rests) == ([None] * rests, [thread], False)
