"""A unit with serial input on threads of a pool: the sequence of one worker, whichever replica is worked on first."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from random import Random

import pytest

from actorstream.runtime.pool.serial_unit import PooledSerialUnit
from actorstream.runtime.unit import Status
from actorstream.topology.builder import Topology
from actorstream.transports.base import FrameKind
from tests.integration.parts import Collect, Numbers
from tests.integration.pooled import RunningSum, SumsAtPromises, Times
from tests.unit.runtime.pool.pooled_worker import EVERYTHING, PooledWorker, Thrown, rows

REPLICAS = 3


def worker_of(route: str = "by", *, times: int = 2, listens: bool = False, **deploy: object) -> PooledWorker:
    """numbers -> twice (3 replicas) -> sums, in serial order -> out."""
    topology = Topology("serial")
    stream = topology.source(Numbers, name="numbers", count=1)
    spread = stream.by("value") if route == "by" else stream.shuffle()
    twice = spread.through(Times, name="twice", times=times, replicas=REPLICAS).ordered("serial")
    kind = SumsAtPromises if listens else RunningSum
    twice.through(kind, name="sums").into(Collect, name="out")
    worker = PooledWorker(topology, **deploy)
    assert isinstance(worker.unit("sums"), PooledSerialUnit)
    return worker


def sums(values: range, times: int = 2) -> list[int]:
    return list(accumulate(value for value in values for _ in range(times)))


@pytest.mark.parametrize("route", ["by", "shuffle"])
def test_rows_wait_until_everybody_who_may_have_earlier_ones_has_said_so(route: str) -> None:
    worker = worker_of(route)
    for values in rows(12, 4):
        worker.send(*values)
    seen = list[int]()
    for replica in (2, 1):
        worker.run("twice", replica)
        worker.run("sums")
        seen += worker.received("out")
    assert seen == [], "the first number has a share of replica 0"
    worker.run("twice", 0)
    taken, made = worker.run("sums")
    assert taken == made == 24
    assert worker.received("out") == sums(range(12))


def test_a_replica_that_drops_everything_holds_nobody_up() -> None:
    worker = worker_of(times=0)
    worker.send(0, 1, 2)
    for replica in range(REPLICAS):
        worker.run("twice", replica)
    assert worker.run("sums") == (0, 0)
    waiting = [lane.channel.waiting() for lane in worker.unit("sums").in_lanes]
    assert waiting == [0] * REPLICAS
    assert min(lane.frontier() for lane in worker.unit("sums").in_lanes) > 0


@pytest.mark.parametrize("route", ["by", "shuffle"])
@pytest.mark.parametrize("window", [1, 4, 1024])
@pytest.mark.parametrize("seed", range(3))
def test_turns_in_any_order_give_the_sequence_of_one_worker(route: str, window: int, seed: int) -> None:
    worker = worker_of(route, reorder_window=window)
    dice = Random(seed)
    units = [*(worker.unit("twice", replica) for replica in range(REPLICAS)), worker.unit("sums")]
    left, seen = list(rows(60, 3)), list[int]()
    for _ in range(5000):
        source = worker.unit("numbers")
        if source.unblock() and left and dice.random() < 0.2:
            worker.send(*left.pop(0))
        unit = dice.choice(units)
        worker.worker.pool.offer(unit)
        if unit.is_available():
            unit.turn(dice.choice([1, 5, EVERYTHING]))
        if dice.random() < 0.3:
            seen += worker.received("out")
        if len(seen) == 120:
            break
    assert seen == sums(range(60))


def test_replicas_are_worked_on_side_by_side() -> None:
    worker = worker_of()
    for values in rows(300, 10):
        worker.send(*values)
    answers = Thrown(*(partial(worker.run, "twice", replica) for replica in range(REPLICAS))).join()
    assert sum(taken for taken, _ in answers) == 300
    worker.run("sums")
    assert worker.received("out") == sums(range(300))


@pytest.mark.parametrize("kind", [FrameKind.BARRIER, FrameKind.END])
def test_a_control_mark_is_left_to_the_loop_and_what_is_before_it_is_not(kind: FrameKind) -> None:
    worker = worker_of("shuffle")
    unit = worker.unit("twice")
    worker.send(1, 2)
    worker.mark(kind, 1)
    assert worker.run("twice") == (2, 4)
    assert unit.on_loop
    assert not unit.is_available()
    assert unit.turn(EVERYTHING) == (0, 0)
    if kind is FrameKind.BARRIER:
        while unit.step() is Status.READY:
            """A turn of the loop may end early, by its time."""
        assert (unit.barrier, unit.on_loop) == (1, False)


def test_without_credit_a_number_stays_open_and_goes_on_where_it_stopped() -> None:
    worker = worker_of("shuffle", edge_bytes=1, batch_size=2)
    for values in ((0, 1), (2, 3), (4, 5)):
        worker.send(*values)
    seen = list[int]()
    for _ in range(50):
        worker.unit("numbers").unblock()
        for name, replica in (*(("twice", replica) for replica in range(REPLICAS)), ("sums", 0)):
            worker.run(name, replica)
        seen += worker.received("out")
    assert seen == sums(range(6))


def test_event_time_comes_behind_the_rows_of_its_number() -> None:
    worker = worker_of(listens=True)
    worker.send(0, 1, 2)
    worker.promise(3)
    for replica in range(REPLICAS):
        worker.run("twice", replica)
    unit = worker.unit("sums")
    worker.run("sums")
    assert worker.received("out") == [0, 0, 1, 1, 2, 2]
    assert unit.head.actor.last == 2
